//! What people are told about a rollout.

use serde_json::json;
use slipway_domain::id::RolloutId;
use slipway_domain::rollout::Status;

use super::Notice;
use super::letter::Letter;

/// Something about a rollout that people should know at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutNotice {
    /// Which.
    pub rollout: RolloutId,
    /// Of which operator.
    pub operator: String,
    /// To which version.
    pub version: String,
    /// How far it is.
    pub status: Status,
    /// What happened, in a word.
    pub kind: &'static str,
    /// On which cluster.
    pub cluster: Option<String>,
    /// In a sentence.
    pub text: String,
    /// Tells it from everything else that happened to this rollout.
    pub number: String,
}

impl RolloutNotice {
    /// What is said.
    pub fn notice(&self, public_url: &str) -> Notice {
        let Self { rollout, operator, version, .. } = self;
        let link = format!("{}/deployments/{rollout}", public_url.trim_end_matches('/'));
        let letter = Letter::new(format!("{operator} {version}: {}.", self.text.trim_end_matches('.')))
            .fact("Operator", operator.as_str())
            .fact("Version", version.as_str())
            .fact_if("Cluster", self.cluster.clone())
            .fact("Status", self.status.to_string())
            .next("Look at it:", [link.clone()])
            .next("On the command line:", [format!("slipway deployment why {rollout}")]);
        let place = self.cluster.as_ref().map_or_else(String::new, |cluster| format!(" on {cluster}"));
        Notice {
            kind: "deployment.attention",
            key: format!("deployment/{rollout}/{}", self.number),
            subject: format!("{}: {operator} {version}{place}", self.status),
            text: letter.text(),
            facts: json!({
                "deploymentId": rollout,
                "operatorName": operator,
                "targetVersion": version,
                "status": self.status,
                "event": self.kind,
                "clusterName": self.cluster,
                "text": self.text,
                "link": link,
            }),
        }
    }
}
