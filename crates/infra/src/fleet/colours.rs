//! Two releases of an operator beside each other: what the second one is made of before it takes over.
//!
//! It must not get in the way of the first: its webhooks are not registered, and a cold one runs no pods. What it
//! will have is written down in annotations, so that the switch needs nothing but the cluster.

use serde_json::Value;
use slipway_domain::profile::Handover;
use slipway_orchestrator::ports::fleet::Subject;

/// How many pods a workload will want once it takes over.
pub(crate) const REPLICAS: &str = "slipway.dev/replicas";
/// The webhooks that a registration will have once it takes over.
pub(crate) const WEBHOOKS: &str = "slipway.dev/webhooks";

/// Makes an object of a second release one that does nothing yet. Whether it was changed.
pub(crate) fn prepare(subject: &Subject, object: &mut Value) -> bool {
    if subject.placement.beside.is_none() {
        return false;
    }
    match object.get("kind").and_then(Value::as_str).unwrap_or_default() {
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            let webhooks = object.get("webhooks").cloned().unwrap_or_else(|| Value::Array(Vec::new()));
            object["metadata"]["annotations"][WEBHOOKS] = webhooks.to_string().into();
            object["webhooks"] = Value::Array(Vec::new());
            true
        }
        "Deployment" | "StatefulSet" if subject.profile.handover == Handover::Cold => {
            let wanted = object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
            object["metadata"]["annotations"][REPLICAS] = wanted.to_string().into();
            object["spec"]["replicas"] = 0.into();
            true
        }
        _ => false,
    }
}

/// An object of a release that took over, as its chart meant it. Whether it was changed.
pub(crate) fn awaken(object: &mut Value) -> bool {
    let note = |object: &Value, key: &str| super::object::annotation(object, key).map(str::to_owned);
    let mut changed = false;
    if let Some(webhooks) = note(object, WEBHOOKS).and_then(|text| serde_json::from_str(&text).ok()) {
        object["webhooks"] = webhooks;
        changed = true;
    }
    if let Some(replicas) = note(object, REPLICAS).and_then(|text| text.parse::<i64>().ok()) {
        object["spec"]["replicas"] = replicas.into();
        changed = true;
    }
    if changed
        && let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    {
        annotations.remove(WEBHOOKS);
        annotations.remove(REPLICAS);
    }
    changed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_put_to_rest_is_as_its_chart_meant_it_again() {
        let mut object = json!({"kind": "Deployment", "metadata": {"annotations": {REPLICAS: "3", "a": "b"}},
            "spec": {"replicas": 0}});
        assert!(awaken(&mut object) && !awaken(&mut object));
        assert_eq!(
            object,
            json!({"kind": "Deployment", "metadata": {"annotations": {"a": "b"}},
            "spec": {"replicas": 3}})
        );
        let mut object =
            json!({"metadata": {"annotations": {WEBHOOKS: "[{\"name\":\"a\"}]"}}, "webhooks": []});
        assert!(awaken(&mut object));
        assert_eq!(object["webhooks"], json!([{"name": "a"}]));
    }
}
