//! Deployments as servers describe them, for tests of what is printed.

use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_contract::deployments::DeploymentDetailReply;

/// A time of the day on which they happen.
pub(in crate::cli::deployment) fn at(time: &str) -> Timestamp {
    format!("2026-11-15T{time}Z").parse().unwrap()
}

const CLUSTERS: [(&str, &str, u32); 10] = [
    ("dev-1", "Development", 1),
    ("stage-1", "Staging", 2),
    ("stage-2", "Staging", 2),
    ("eu-1", "Production", 3),
    ("eu-2", "Production", 3),
    ("eu-3", "Production", 3),
    ("us-1", "Production", 3),
    ("us-2", "Production", 3),
    ("us-3", "Production", 3),
    ("edge-3", "Production", 3),
];

/// A deployment that is under way: changes are laid over it.
struct Sample(Value);

impl Sample {
    fn new() -> Self {
        let names: Vec<&str> = CLUSTERS.iter().map(|(name, ..)| *name).collect();
        let clusters = CLUSTERS.map(|(name, environment, wave)| {
            json!({"clusterName": name, "environment": environment, "wave": wave, "status": "Pending",
                "stage": "waiting", "since": at("12:20:00"), "notes": []})
        });
        let wave = |number: u32, clusters: &[&str]| {
            json!({"number": number, "title": format!("stage {number}"), "kind": "change", "state": "waiting",
                "clusters": clusters, "atOnce": 1, "soak": "PT5M"})
        };
        let id = "7f3a91c2-0000-4000-8000-000000000001";
        Self(json!({
            "deploymentId": id, "operatorName": "cert-manager", "targetVersion": "v1.14.0",
            "previousVersion": "v1.13.2", "strategy": "Canary", "status": "Planning", "targetClusters": names,
            "initiatedBy": "ada", "approvalStatus": "Pending", "startedAt": at("12:20:00"),
            "successfulClusters": 0, "failedClusters": 0, "successRate": 0.0, "progress": 0,
            "strategyConfig": {}, "settings": {}, "autoRollbackEnabled": true,
            "phase": {"name": "preflight", "since": at("12:20:00")},
            "waves": [wave(1, &names[..1]), wave(2, &names[1..3]), wave(3, &names[3..])],
            "clusterStatuses": clusters, "gates": [], "approvals": [],
            "why": {"deploymentId": id, "status": "Planning", "clusters": []},
        }))
    }

    fn set(mut self, pointer: &str, value: Value) -> Self {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        self.0.pointer_mut(parent).unwrap()[key] = value;
        self
    }

    fn wave(self, number: usize, state: &str, until: Option<Timestamp>) -> Self {
        let place = format!("/waves/{}", number - 1);
        self.set(&format!("{place}/state"), json!(state)).set(&format!("{place}/until"), json!(until))
    }

    fn cluster(mut self, name: &str, fields: &Value) -> Self {
        let clusters = self.0["clusterStatuses"].as_array_mut().unwrap();
        let cluster = clusters.iter_mut().find(|one| one["clusterName"] == name).unwrap();
        for (key, value) in fields.as_object().unwrap() {
            cluster[key] = value.clone();
        }
        self
    }

    /// All clusters were looked at, one could not be reached.
    fn looked_at(mut self) -> Self {
        for (name, ..) in CLUSTERS.iter().filter(|(name, ..)| *name != "edge-3") {
            self = self.cluster(name, &json!({"preflightAt": at("12:20:04")}));
        }
        self.cluster(
            "edge-3",
            &json!({"status": "Quarantined", "stage": "quarantined",
            "errorMessage": "connection timed out"}),
        )
    }

    fn done(self, name: &str) -> Self {
        let health = json!({"status": "Healthy", "checkedAt": at("12:29:00"), "consecutiveFailures": 0,
            "message": "3/3 pods"});
        self.cluster(
            name,
            &json!({"status": "Completed", "stage": "done", "startedAt": at("12:21:00"), "healthCheck": health}),
        )
    }

    fn read(self) -> DeploymentDetailReply {
        serde_json::from_value(self.0).unwrap()
    }
}

/// Clusters are looked at.
pub(in crate::cli::deployment) fn planning() -> DeploymentDetailReply {
    let sample = Sample::new().cluster("dev-1", &json!({"preflightAt": at("12:20:02")}));
    sample.cluster("stage-1", &json!({"preflightAt": at("12:20:02")})).read()
}

/// An owner of production has to decide.
pub(in crate::cli::deployment) fn approval_wait() -> DeploymentDetailReply {
    Sample::new()
        .looked_at()
        .set("/phase", json!({"name": "consent", "since": at("12:20:05")}))
        .set(
            "/approvals",
            json!([{"approvalId": "51c2aa00-0000-4000-8000-000000000002", "type": "ProductionDeployment",
                "environment": "Production", "status": "Pending", "waitsFor": "an owner of Production",
                "createdAt": at("12:20:05"), "expiresAt": "2026-11-16T12:20:05Z"}]),
        )
        .set(
            "/why/waitsFor",
            json!({"what": "the plan needs the approval of an owner of Production", "since": at("12:20:05"),
                "until": "2026-11-16T12:20:05Z", "unblock": "approve it, or reject it"}),
        )
        .read()
}

/// The second wave is watched, and one of its clusters misses a pod.
pub(in crate::cli::deployment) fn soak() -> DeploymentDetailReply {
    let lacking = json!({"status": "Validating", "stage": "settling", "startedAt": at("12:27:00"),
        "healthCheck": {"status": "Unknown", "checkedAt": at("12:28:30"), "consecutiveFailures": 0,
            "message": "2/3 pods"}});
    Sample::new()
        .looked_at()
        .set("/status", json!("Validating"))
        .set("/phase", json!({"name": "wave", "wave": 2, "since": at("12:26:53"), "until": at("12:31:53")}))
        .wave(1, "passed", None)
        .wave(2, "soaking", Some(at("12:31:53")))
        .done("dev-1")
        .done("stage-1")
        .cluster("stage-2", &lacking)
        .set("/progress", json!(20))
        .set("/estimatedCompletionAt", json!(at("12:46:00")))
        .set(
            "/why/waitsFor",
            json!({"what": "wave 2, stage 2, is being watched", "since": at("12:26:53"),
                "until": at("12:31:53"), "unblock": "promote ends it early, extend makes it longer"}),
        )
        .set(
            "/why/clusters",
            json!([
                {"clusterName": "stage-2", "what": "it has to become healthy: 2/3 pods",
                    "since": at("12:27:00"), "until": at("12:32:00")},
                {"clusterName": "eu-1", "what": "its turn has not come", "since": at("12:20:00")},
                {"clusterName": "eu-2", "what": "its turn has not come", "since": at("12:20:00")},
            ]),
        )
        .read()
}

/// It is taken back.
pub(in crate::cli::deployment) fn rollback() -> DeploymentDetailReply {
    let reason =
        "cluster stage-1: webhook \"validate.cert-manager.io\" refuses connections (3 checks in 90 s)";
    let failed = json!({"status": "RollingBack", "stage": "restore", "startedAt": at("12:27:00"),
        "errorMessage": "webhook refuses connections", "step": {"kind": "restore",
            "text": "restoring the last known good version", "attempt": 2, "since": at("12:28:00"),
            "deadline": at("12:33:00")}});
    Sample::new()
        .looked_at()
        .set("/status", json!("RollingBack"))
        .set("/phase", json!({"name": "back", "since": at("12:28:00")}))
        .wave(1, "passed", None)
        .wave(2, "ended", None)
        .done("dev-1")
        .cluster("stage-1", &failed)
        .cluster(
            "stage-2",
            &json!({"status": "RolledBack", "stage": "rolledBack", "startedAt": at("12:27:00")}),
        )
        .set("/rollbackReason", json!(reason))
        .set("/progress", json!(30))
        .read()
}

/// Every cluster has it.
pub(in crate::cli::deployment) fn done() -> DeploymentDetailReply {
    let mut sample = Sample::new()
        .set("/status", json!("Completed"))
        .set("/phase", json!({"name": "watching", "since": at("12:43:10"), "until": at("13:43:10")}))
        .set("/completedAt", json!(at("12:43:10")))
        .set("/successfulClusters", json!(10))
        .set("/progress", json!(100));
    for number in 1..=3 {
        sample = sample.wave(number, "passed", None);
    }
    for (name, ..) in CLUSTERS {
        sample = sample.done(name);
    }
    sample.read()
}

/// Two are missing at the end: one failed within the budget, one was never reached.
pub(in crate::cli::deployment) fn quarantined() -> DeploymentDetailReply {
    let mut sample = Sample::new()
        .looked_at()
        .set("/status", json!("Failed"))
        .set("/phase", json!({"name": "over", "since": at("13:43:10")}))
        .set("/completedAt", json!(at("13:43:10")))
        .set("/successfulClusters", json!(8))
        .set("/progress", json!(100))
        .set(
            "/errorMessage",
            json!("2 of 10 clusters did not get the version: us-3 failed, edge-3 was given up"),
        );
    for number in 1..=2 {
        sample = sample.wave(number, "passed", None);
    }
    sample = sample.wave(3, "ended", None);
    for (name, ..) in CLUSTERS.iter().take(8) {
        sample = sample.done(name);
    }
    sample
        .cluster(
            "us-3",
            &json!({"status": "Failed", "stage": "failed", "startedAt": at("12:33:00"),
            "errorMessage": "helm: timed out waiting for the condition"}),
        )
        .cluster(
            "edge-3",
            &json!({"status": "GivenUp", "stage": "givenUp",
            "errorMessage": "connection timed out for 1 hour"}),
        )
        .read()
}
