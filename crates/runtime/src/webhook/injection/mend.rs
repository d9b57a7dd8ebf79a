//! The difference between a registration and one that carries the bundle.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, TestOperation};
use kube::api::DynamicObject;
use serde_json::Value;

use super::{Kind, OwnService};

/// The patch that puts the bundle in its places; none when it is there already. It applies to the
/// version that was read and to no other. What is registered for another Service than the own one is left alone.
pub(super) fn patch(
    kind: Kind,
    object: &DynamicObject,
    bundle: &str,
    own: Option<&OwnService>,
) -> Option<Patch> {
    let wanted = BASE64.encode(bundle);
    let places: Vec<PointerBuf> = match kind {
        Kind::Validating | Kind::Mutating => {
            let webhooks = object.data.get("webhooks").and_then(Value::as_array)?;
            webhooks
                .iter()
                .enumerate()
                .filter(|(_, webhook)| differs(webhook.get("clientConfig"), &wanted, own))
                .map(|(index, _)| {
                    PointerBuf::from_tokens(["webhooks", &index.to_string(), "clientConfig", "caBundle"])
                })
                .collect()
        }
        Kind::Definition => {
            let client = object.data.pointer("/spec/conversion/webhook/clientConfig")?;
            if !differs(Some(client), &wanted, own) {
                return None;
            }
            vec![PointerBuf::from_tokens(["spec", "conversion", "webhook", "clientConfig", "caBundle"])]
        }
    };
    if places.is_empty() {
        return None;
    }
    let version = object.metadata.resource_version.clone().unwrap_or_default();
    let unchanged = PatchOperation::Test(TestOperation {
        path: PointerBuf::from_tokens(["metadata", "resourceVersion"]),
        value: version.into(),
    });
    let additions = places
        .into_iter()
        .map(|path| PatchOperation::Add(AddOperation { path, value: wanted.clone().into() }));
    Some(Patch(std::iter::once(unchanged).chain(additions).collect()))
}

fn differs(client: Option<&Value>, wanted: &str, own: Option<&OwnService>) -> bool {
    let service = client.and_then(|client| client.get("service"));
    if let (Some(own), Some(service)) = (own, service) {
        let is = |key: &str, text: &str| service.get(key).and_then(Value::as_str) == Some(text);
        if !is("name", &own.name) || !is("namespace", &own.namespace) {
            return false;
        }
    }
    client.and_then(|client| client.get("caBundle")).and_then(Value::as_str) != Some(wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(data: &Value) -> DynamicObject {
        let mut all = json!({"metadata": {"name": "x", "resourceVersion": "7"}});
        all.as_object_mut().unwrap().extend(data.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn only_what_differs_is_written_and_only_to_the_version_that_was_read() {
        let object = object(&json!({"webhooks": [
            {"clientConfig": {"caBundle": BASE64.encode("new")}},
            {"clientConfig": {"caBundle": BASE64.encode("old")}},
            {"clientConfig": {"service": {}}},
        ]}));
        let patch = serde_json::to_value(patch(Kind::Validating, &object, "new", None).unwrap()).unwrap();
        assert_eq!(
            patch,
            json!([
                {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
                {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": BASE64.encode("new")},
                {"op": "add", "path": "/webhooks/2/clientConfig/caBundle", "value": BASE64.encode("new")},
            ])
        );
    }

    #[test]
    fn what_is_right_is_left_alone() {
        let right = object(&json!({"webhooks": [{"clientConfig": {"caBundle": BASE64.encode("new")}}]}));
        assert_eq!(patch(Kind::Mutating, &right, "new", None), None);
        let unconverted = object(&json!({"spec": {"conversion": {"strategy": "None"}}}));
        assert_eq!(patch(Kind::Definition, &unconverted, "new", None), None);
    }

    #[test]
    fn what_is_registered_for_another_service_is_not_touched() {
        let green = OwnService { namespace: "sea".into(), name: "green".into() };
        let crd = |service: &str| {
            object(&json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {
                "caBundle": BASE64.encode("blue"), "service": {"namespace": "sea", "name": service}}}}}}))
        };
        assert_eq!(patch(Kind::Definition, &crd("blue"), "green", Some(&green)), None);
        assert!(patch(Kind::Definition, &crd("green"), "green", Some(&green)).is_some());
        assert!(patch(Kind::Definition, &crd("blue"), "green", None).is_some());
    }
}
