//! Certificates in registrations that another tool injects: they survive a release.
//!
//! helm 3 sets what the chart says and removes what it no longer says, so the live certificate is written into
//! the manifest. helm 4 leaves what another manager owns alone, if the manifest says nothing of it.

use serde_json::Value;
use slipway_helm::Major;

use super::api::Api;
use super::definition::{HELM, MANAGER};
use super::fault::Fault;
use super::object::ObjectRef;

/// Where a registration is that may hold certificates of others; nothing for every other object.
fn path(object: &ObjectRef) -> Option<String> {
    let plural = match (object.group.as_str(), object.kind.as_str()) {
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => {
            "validatingwebhookconfigurations"
        }
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => "mutatingwebhookconfigurations",
        ("apiregistration.k8s.io", "APIService") => "apiservices",
        _ => return None,
    };
    Some(format!("/apis/{}/v1/{plural}/{}", object.group, object.name))
}

/// Settles the certificates of one object of a chart. Whether it was changed.
pub(crate) async fn settle(api: &Api, helm: Major, object: &mut Value) -> Result<bool, Fault> {
    let Some(path) = ObjectRef::of(object).and_then(|object| path(&object)) else { return Ok(false) };
    let live = api.find(&path).await?;
    Ok(settle_with(helm, object, live.as_ref()))
}

fn settle_with(helm: Major, object: &mut Value, live: Option<&Value>) -> bool {
    let before = object.clone();
    if object.get("kind").and_then(Value::as_str) == Some("APIService") {
        let there = live.and_then(|live| held(live, live.get("spec")?, &["f:spec", "f:caBundle"]));
        if let Some(spec) = object.get_mut("spec") {
            decide(helm, spec, there);
        }
        return *object != before;
    }
    for webhook in object.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten() {
        let name = webhook.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let there = live.and_then(|live| {
            let mut all = live.get("webhooks")?.as_array()?.iter();
            let same = all.find(|other| other.get("name").and_then(Value::as_str) == Some(&name))?;
            let key = format!("k:{{\"name\":\"{name}\"}}");
            held(live, same.get("clientConfig")?, &["f:webhooks", &key, "f:clientConfig", "f:caBundle"])
        });
        if let Some(config) = webhook.get_mut("clientConfig") {
            decide(helm, config, there);
        }
    }
    *object != before
}

/// A live certificate.
struct Held {
    bundle: String,
    /// Whether another tool than helm put it there.
    injected: bool,
}

fn held(live: &Value, config: &Value, path: &[&str]) -> Option<Held> {
    let bundle = config.get("caBundle").and_then(Value::as_str).filter(|text| is_real(text))?.to_owned();
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let injected = entries
        .filter(|entry| {
            let manager = entry.get("manager").and_then(Value::as_str).unwrap_or_default();
            ![HELM, MANAGER].contains(&manager)
        })
        .any(|entry| path.iter().try_fold(&entry["fieldsV1"], |fields, part| fields.get(*part)).is_some());
    Some(Held { bundle, injected })
}

fn decide(helm: Major, config: &mut Value, live: Option<Held>) {
    let Some(fields) = config.as_object_mut() else { return };
    let written = fields.get("caBundle").and_then(Value::as_str).is_some_and(is_real);
    match live {
        Some(Held { bundle, injected: true }) => {
            fields.remove("caBundle");
            if helm == Major::Three {
                fields.insert("caBundle".to_owned(), bundle.into());
            }
        }
        // helm's own: left out, it would go.
        Some(Held { bundle, injected: false }) if !written => {
            fields.insert("caBundle".to_owned(), bundle.into());
        }
        // A placeholder would only be in the way of whoever injects the real one.
        None if !written => {
            fields.remove("caBundle");
        }
        _ => {}
    }
}

/// Charts write a line break, or nothing, where another tool puts the real one.
fn is_real(bundle: &str) -> bool {
    !matches!(bundle, "" | "Cg==" | "Cgo=")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn registration(bundle: Option<&str>, owner: &str) -> Value {
        let mut object = json!({"apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "a", "managedFields": [
                {"manager": owner, "fieldsV1": {"f:webhooks": {"k:{\"name\":\"w\"}":
                    {"f:clientConfig": {"f:caBundle": {}}}}}}]},
            "webhooks": [{"name": "w", "clientConfig": {"url": "u"}}]});
        if let Some(bundle) = bundle {
            object["webhooks"][0]["clientConfig"]["caBundle"] = bundle.into();
        }
        object
    }

    fn settled(helm: Major, chart: Option<&str>, live: Option<(&str, &str)>) -> Option<String> {
        let mut object = registration(chart, "x");
        let live = live.map(|(bundle, owner)| registration(Some(bundle), owner));
        settle_with(helm, &mut object, live.as_ref());
        object.pointer("/webhooks/0/clientConfig/caBundle").and_then(Value::as_str).map(str::to_owned)
    }

    #[test]
    fn an_injected_certificate_survives_and_a_chart_s_own_is_renewed() {
        for chart in [Some("Cg=="), None, Some("mine")] {
            let live = Some(("real", "cainjector"));
            assert_eq!(settled(Major::Three, chart, live).as_deref(), Some("real"), "{chart:?}");
            assert_eq!(settled(Major::Four, chart, live), None, "{chart:?}");
        }
        for helm in [Major::Three, Major::Four] {
            assert_eq!(settled(helm, Some("new"), Some(("old", HELM))).as_deref(), Some("new"));
            assert_eq!(settled(helm, None, Some(("old", HELM))).as_deref(), Some("old"));
            assert_eq!(settled(helm, Some("new"), None).as_deref(), Some("new"));
            assert_eq!(settled(helm, Some("Cg=="), None), None);
        }
    }
}
