//! Two releases of an operator beside each other.

use serde_json::Value;
use slipway_domain::profile::Handover;
use slipway_orchestrator::ports::fleet::Subject;

/// What a workload will have once it takes over.
pub(crate) const REPLICAS: &str = "slipway.dev/replicas";

/// Makes an object of a second release one that does nothing yet: a cold one runs no pods before its switch.
/// Whether it was changed.
pub(crate) fn prepare(subject: &Subject, object: &mut Value) -> bool {
    if subject.placement.beside.is_none() || subject.profile.handover != Handover::Cold {
        return false;
    }
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    if !matches!(kind, "Deployment" | "StatefulSet") {
        return false;
    }
    let wanted = object.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
    object["metadata"]["annotations"][REPLICAS] = wanted.to_string().into();
    object["spec"]["replicas"] = 0.into();
    true
}
