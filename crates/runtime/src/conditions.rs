//! Conditions as Kubernetes means them: a transition time moves only with the status.
//!
//! Authors say what holds now. The runtime compares that with what the object says already, and keeps the
//! time of the last transition where nothing turned.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The condition that says whether an object is what it should be.
pub const READY: &str = "Ready";
/// The condition that says whether an object is on its way to something new.
pub const PROGRESSING: &str = "Progressing";

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    /// It does.
    True,
    /// It does not.
    False,
    /// Nobody can say.
    Unknown,
}

/// One thing that is to be known about an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it is about, in CamelCase.
    #[serde(rename = "type")]
    pub type_: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in one word of CamelCase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Since when its status is what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// The generation of the object that it was judged on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// A condition as it is now. Its transition time is the runtime's business.
    pub fn new(type_: &str, status: ConditionStatus, reason: &str, message: impl Into<String>) -> Self {
        Self {
            type_: type_.to_owned(),
            status,
            reason: Some(reason.to_owned()),
            message: Some(message.into()),
            last_transition_time: None,
            observed_generation: None,
        }
    }

    /// A condition that holds.
    pub fn holds(type_: &str, reason: &str, message: impl Into<String>) -> Self {
        Self::new(type_, ConditionStatus::True, reason, message)
    }

    /// A condition that does not hold.
    pub fn fails(type_: &str, reason: &str, message: impl Into<String>) -> Self {
        Self::new(type_, ConditionStatus::False, reason, message)
    }
}

/// Gives the conditions of a new status their transition times: the old one where the status is the same,
/// now where it turned.
pub(crate) fn date(old: Option<&Value>, new: &mut Value, now: jiff::Timestamp) {
    let Some(conditions) = new.get_mut("conditions").and_then(Value::as_array_mut) else { return };
    for condition in conditions {
        let known = old
            .and_then(|old| old["conditions"].as_array())
            .and_then(|old| old.iter().find(|known| known["type"] == condition["type"]))
            .filter(|known| known["status"] == condition["status"])
            .map(|known| &known["lastTransitionTime"])
            .filter(|time| time.is_string());
        // Kubernetes writes times to the second.
        condition["lastTransitionTime"] =
            known.cloned().unwrap_or_else(|| Value::from(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()));
    }
}

/// The conditions of a status with one of them set.
pub(crate) fn with(status: &Value, condition: &Condition) -> Value {
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let new = serde_json::to_value(condition).unwrap_or_default();
    match conditions.iter_mut().find(|known| known["type"] == new["type"]) {
        Some(known) => *known = new,
        None => conditions.push(new),
    }
    Value::from(conditions)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_transition_time_moves_only_with_the_status() {
        let now: jiff::Timestamp = "2026-01-02T03:04:05.678Z".parse().unwrap();
        let old = json!({"conditions": [
            {"type": "Ready", "status": "True", "reason": "A", "lastTransitionTime": "2020-01-01T00:00:00Z"},
            {"type": "Progressing", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"},
        ]});
        let mut new = json!({"conditions": [
            Condition::holds("Ready", "B", "other words"),
            Condition::fails("Progressing", "Done", "it is there"),
            Condition::holds("New", "C", "first seen"),
        ]});
        date(Some(&old), &mut new, now);
        let times: Vec<_> =
            new["conditions"].as_array().unwrap().iter().map(|c| &c["lastTransitionTime"]).collect();
        assert_eq!(times, ["2020-01-01T00:00:00Z", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"]);
    }

    #[test]
    fn setting_one_condition_keeps_the_others() {
        let status =
            json!({"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "True"}]});
        let conditions = with(&status, &Condition::fails("Ready", "Broken", "it broke"));
        assert_eq!(conditions[0]["status"], "False");
        assert_eq!(conditions[1]["type"], "Other");
    }
}
