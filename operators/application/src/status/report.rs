//! What is read of a Deployment.

use k8s_openapi::api::apps::v1::Deployment;
use serde::Deserialize;

/// The little of a Deployment that its Application's status depends on.
///
/// A Deployment says much more, and says it anew with every pod; only what is here is a reason to look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Report {
    pub(super) metadata: Metadata,
    pub(super) spec: Wanted,
    #[serde(default)]
    pub(super) status: Reported,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) generation: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    pub(super) replicas: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Reported {
    pub(super) observed_generation: i64,
    pub(super) replicas: i32,
    pub(super) updated_replicas: i32,
    pub(super) ready_replicas: i32,
    pub(super) conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) type_: String,
    pub(super) status: String,
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
}

impl From<&Deployment> for Report {
    fn from(deployment: &Deployment) -> Self {
        let status = deployment.status.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default().into_iter().map(|condition| Condition {
            type_: condition.type_.unwrap_or_default(),
            status: condition.status.unwrap_or_default(),
            reason: condition.reason,
            message: condition.message,
        });
        Self {
            metadata: Metadata { generation: deployment.metadata.generation.unwrap_or_default() },
            spec: Wanted { replicas: deployment.spec.replicas },
            status: Reported {
                observed_generation: status.observed_generation.unwrap_or_default(),
                replicas: status.replicas.unwrap_or_default(),
                updated_replicas: status.updated_replicas.unwrap_or_default(),
                ready_replicas: status.ready_replicas.unwrap_or_default(),
                conditions: conditions.collect(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deployment_reads_the_same_as_a_whole_and_in_part() {
        let whole = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "generation": 3},
            "spec": {"replicas": 2, "selector": {}, "template": {}},
            "status": {
                "observedGeneration": 2, "replicas": 3, "updatedReplicas": 1, "readyReplicas": 2,
                "unavailableReplicas": 1,
                "conditions": [{
                    "type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated", "message": "on its way",
                    "lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z",
                }],
            },
        });
        let deployment: Deployment = serde_json::from_value(whole.clone()).unwrap();
        let report: Report = serde_json::from_value(whole).unwrap();
        assert_eq!(Report::from(&deployment), report);
        assert_eq!(report.status.conditions[0].reason.as_deref(), Some("ReplicaSetUpdated"));
        let bare: Report = serde_json::from_value(json!({"metadata": {}, "spec": {}})).unwrap();
        assert_eq!(bare, Report::default());
    }
}
