//! CRDs as they are applied: what the chart says, without what belongs to others, and who owns what is there.

use serde_json::{Map, Value, json};

/// The field manager of everything that Slipway applies itself.
pub(crate) const MANAGER: &str = "slipway";

/// The field manager of helm.
pub(crate) const HELM: &str = "helm";

/// Where CRDs are.
pub(crate) const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// What helm marks its objects with.
const OF_HELM: [(&str, &str); 3] = [
    ("annotations", "meta.helm.sh/release-name"),
    ("annotations", "meta.helm.sh/release-namespace"),
    ("labels", "app.kubernetes.io/managed-by"),
];

const BUNDLE: &str = "/spec/conversion/webhook/clientConfig/caBundle";

/// Of a CRD as somebody wrote it, or as a cluster gives it, what is applied; `live` is what is there now.
///
/// helm must leave it where it is, so it carries `keep`. The certificate of its webhook belongs to whoever
/// injects it: it is left out then, and stays. Where nobody injects one, the chart's own is taken.
pub(crate) fn to_apply(definition: &Value, live: Option<&Value>) -> Value {
    let mut metadata = Map::new();
    for key in ["name", "labels", "annotations"] {
        if let Some(value) = definition.get("metadata").and_then(|metadata| metadata.get(key))
            && !value.is_null()
        {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    let mut object = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": definition.get("spec").cloned().unwrap_or(Value::Null),
    });
    object["metadata"]["annotations"]["helm.sh/resource-policy"] = "keep".into();
    // Whose it was stays to be seen, so that whoever goes back to helm alone can.
    for (part, key) in OF_HELM {
        let there = live.and_then(|live| live.get("metadata")?.get(part)?.get(key)).cloned();
        if let Some(there) = there {
            object["metadata"][part][key] = there;
        }
    }
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    let written = object.pointer(BUNDLE).and_then(Value::as_str).filter(|text| is_real(text));
    let kept = match (written.map(str::to_owned), live.and_then(bundle)) {
        (_, Some((_, Owner::Other))) | (None, None) => None,
        (Some(written), _) => Some(written),
        // Ours alone: left out, it would go.
        (None, Some((there, Owner::Ours))) => Some(there.to_owned()),
    };
    if let Some(client) =
        object.pointer_mut("/spec/conversion/webhook/clientConfig").and_then(Value::as_object_mut)
    {
        client.remove("caBundle");
        if let Some(kept) = kept {
            client.insert("caBundle".to_owned(), kept.into());
        }
    }
    object
}

/// Whether a certificate is one: charts write a line break, or nothing, where another tool puts the real one.
pub(crate) fn is_real(bundle: &str) -> bool {
    !matches!(bundle, "" | "Cg==" | "Cgo=")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Ours,
    Other,
}

fn bundle(live: &Value) -> Option<(&str, Owner)> {
    let there = live.pointer(BUNDLE).and_then(Value::as_str).filter(|text| is_real(text))?;
    let path = ["f:spec", "f:conversion", "f:webhook", "f:clientConfig", "f:caBundle"];
    let others = entries(live).filter(|entry| !is_ours(entry) && owns(entry, &path)).count();
    Some((there, if others > 0 { Owner::Other } else { Owner::Ours }))
}

fn entries(live: &Value) -> impl Iterator<Item = &Value> {
    live.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten()
}

/// The manager of an entry of `managedFields`.
fn manager(entry: &Value) -> &str {
    entry.get("manager").and_then(Value::as_str).unwrap_or_default()
}

fn is_ours(entry: &Value) -> bool {
    matches!(manager(entry), MANAGER | HELM)
}

fn owns(entry: &Value, path: &[&str]) -> bool {
    let mut fields = entry.get("fieldsV1");
    for part in path {
        fields = fields.and_then(|fields| fields.get(part));
    }
    fields.is_some()
}

/// `managedFields` with what helm owns given to Slipway, and what Slipway wrote in passing; nothing where there is
/// no such thing.
pub(crate) fn taken_over(live: &Value) -> Option<Value> {
    let is_main =
        |entry: &Value| entry.get("subresource").and_then(Value::as_str).unwrap_or_default().is_empty();
    let mut fields = Map::new();
    let mut rest = Vec::new();
    let mut found = false;
    let mut version = Value::from("apiextensions.k8s.io/v1");
    for entry in entries(live) {
        let applied = entry.get("operation").and_then(Value::as_str) == Some("Apply");
        if is_ours(entry) && is_main(entry) {
            found |= manager(entry) == HELM || !applied;
            if let Some(Value::Object(owned)) = entry.get("fieldsV1") {
                union(&mut fields, owned);
            }
            if let Some(text) = entry.get("apiVersion") {
                version = text.clone();
            }
        } else {
            rest.push(entry.clone());
        }
    }
    rest.push(json!({"manager": MANAGER, "operation": "Apply", "apiVersion": version,
        "fieldsType": "FieldsV1", "fieldsV1": fields}));
    found.then_some(Value::Array(rest))
}

fn union(into: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (into.get_mut(key), value) {
            (Some(Value::Object(there)), Value::Object(value)) => union(there, value),
            (Some(_), _) => {}
            (None, value) => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The release that an object says it belongs to, as namespace and name.
pub(crate) fn release_of(object: &Value) -> Option<(&str, &str)> {
    let annotation = |key: &str| super::object::annotation(object, key);
    Some((annotation("meta.helm.sh/release-namespace")?, annotation("meta.helm.sh/release-name")?))
}

/// Who holds the fields that an apply was refused for: the managers that a conflict names.
pub(crate) fn conflicting(status: &kube::core::Status) -> Vec<String> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let mut managers: Vec<String> = causes
        .filter(|cause| cause.reason == "FieldManagerConflict")
        .filter_map(|cause| {
            Some(cause.message.split_once("conflict with \"")?.1.split_once('"')?.0.to_owned())
        })
        .collect();
    managers.sort();
    managers.dedup();
    managers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversion(bundle: Option<&str>, owner: &str) -> Value {
        let mut crd = json!({"metadata": {"name": "boats.sea.dev", "uid": "u", "managedFields": [
                {"manager": owner, "operation": "Update", "apiVersion": "apiextensions.k8s.io/v1",
                 "fieldsV1": {"f:spec": {"f:conversion": {"f:webhook": {"f:clientConfig": {"f:caBundle": {}}}}}}}]},
            "spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "u"}}}},
            "status": {"x": 1}});
        if let Some(bundle) = bundle {
            crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = bundle.into();
        }
        crd
    }

    #[test]
    fn what_is_applied_is_kept_and_has_nothing_of_the_server() {
        let applied = to_apply(&conversion(None, "x"), None);
        let expected = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "boats.sea.dev", "annotations": {"helm.sh/resource-policy": "keep"}},
            "spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "u"}}}}});
        assert_eq!(applied, expected);
    }

    #[test]
    fn a_certificate_belongs_to_whoever_injects_it() {
        let bundle = |chart: Option<&str>, live: Option<&str>, owner: &str| {
            let live = conversion(live, owner);
            let applied = to_apply(&conversion(chart, "x"), Some(&live));
            applied.pointer(BUNDLE).and_then(Value::as_str).map(str::to_owned)
        };
        assert_eq!(bundle(Some("Cg=="), Some("real"), "cainjector"), None, "it stays as it is");
        assert_eq!(bundle(Some("mine"), Some("real"), "cainjector"), None);
        assert_eq!(bundle(Some("mine"), None, "x").as_deref(), Some("mine"));
        assert_eq!(bundle(Some("mine"), Some("old"), HELM).as_deref(), Some("mine"));
        assert_eq!(bundle(None, Some("old"), HELM).as_deref(), Some("old"), "left out, it would go");
        assert_eq!(bundle(Some("Cg=="), None, "x"), None);
    }

    #[test]
    fn what_helm_owned_becomes_ours_and_what_others_own_stays_theirs() {
        let entry = |manager: &str, operation: &str, subresource: &str, field: &str| {
            json!({"manager": manager, "operation": operation, "subresource": subresource,
                "apiVersion": "apiextensions.k8s.io/v1", "fieldsV1": {"f:spec": {field: {}}}})
        };
        let live = json!({"metadata": {"managedFields": [
            entry("helm", "Update", "", "f:a"), entry("helm", "Apply", "", "f:b"),
            entry("slipway", "Apply", "", "f:c"), entry("cainjector", "Update", "", "f:d"),
            entry("slipway", "Update", "", "f:f"), entry("kube-apiserver", "Update", "status", "f:e")]}});
        let fields = taken_over(&live).unwrap();
        let ours = fields.as_array().unwrap().iter().find(|entry| manager(entry) == MANAGER).unwrap();
        assert_eq!(ours["fieldsV1"], json!({"f:spec": {"f:a": {}, "f:b": {}, "f:c": {}, "f:f": {}}}));
        assert_eq!(ours["operation"], "Apply");
        assert_eq!(fields.as_array().unwrap().len(), 3);
        assert!(
            taken_over(&json!({"metadata": {"managedFields": [entry("x", "Apply", "", "f:a")]}})).is_none()
        );
    }
}
