//! What the operator reports about an Application.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use slipway_runtime::conditions::Condition;

/// What the operator reports about an Application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationStatus {
    /// The generation of the spec that the rest of the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Pods that exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Pods that are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Where it stands, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Where it stands, in detail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions_schema")]
    pub conditions: Vec<Condition>,
    /// The pods, as a label selector; autoscalers find them by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<String>,
}

/// Where an Application stands, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Not all pods are ready yet.
    Pending,
    /// Every pod that should be there is ready.
    Running,
    /// It cannot get there by itself.
    Failed,
    /// It ended well.
    Succeeded,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Phase; 4] = [Phase::Pending, Phase::Running, Phase::Failed, Phase::Succeeded];

    /// The word used in status and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Phase::Pending => "Pending",
            Phase::Running => "Running",
            Phase::Failed => "Failed",
            Phase::Succeeded => "Succeeded",
        }
    }
}

/// Only `type` and `status` are required, as in the definition that Applications were first written for.
fn conditions_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status"],
            "properties": {
                "type": {"type": "string", "description": "What it is about."},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"], "description": "Whether it holds."},
                "reason": {"type": "string", "description": "Why, in a word for machines."},
                "message": {"type": "string", "description": "Why, in a sentence for people."},
                "lastTransitionTime": {"type": "string", "format": "date-time", "description": "When the status last changed."},
                "observedGeneration": {"type": "integer", "format": "int64", "description": "The generation it was judged by."},
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_condition_needs_no_more_than_type_and_status() {
        let status: ApplicationStatus = serde_json::from_value(json!({
            "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
        }))
        .unwrap();
        assert_eq!(status.conditions[0].type_, "Ready");
        assert_eq!(status.conditions[0].last_transition_time, None);
    }

    #[test]
    fn phases_are_written_as_they_are_called() {
        for phase in Phase::ALL {
            assert_eq!(serde_json::to_value(phase).unwrap(), json!(phase.as_str()));
        }
    }
}
