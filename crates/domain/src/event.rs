//! News for those who watch: pages, `--watch`, and streams.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the news are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Topic {
    /// A rollout.
    Deployment,
    /// A cluster.
    Cluster,
    /// An operator.
    Operator,
    /// Something to decide.
    Approval,
}

/// Something that changed. It holds no secret, and whoever may read may see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// What it is about.
    pub topic: Topic,
    /// Which one: its name or id.
    pub subject: String,
    /// What happened, such as `registered` or `healthChanged`.
    pub kind: String,
    /// The facts.
    pub data: Value,
}
