//! The health of operators.
//!
//! Replies carry the specification's own fields (`health`, `controllerPods`, `webhookStatus`,
//! `crdReconciliation`, `lastChecked`) beside those of its domain model.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slipway_domain::access::Permission;
use utoipa::{IntoParams, ToSchema};

use crate::endpoint::{Endpoint, Method};
use crate::page::{PageInfo, PageQuery};

/// How an operator is on all clusters.
pub const OPERATOR_HEALTH: Endpoint =
    Endpoint::new(Method::Get, "/operators/{name}/health", "getOperatorHealth", Permission::Read, 60)
        .asks::<HealthQuery>()
        .gives::<OperatorHealthReply>(200)
        .fails(&[400, 404])
        .says("How an operator is on all clusters it is installed on");

/// How an operator is on one cluster.
pub const CLUSTER_OPERATOR_HEALTH: Endpoint = Endpoint::new(
    Method::Get,
    "/clusters/{cluster}/operators/{operator}/health",
    "getClusterOperatorHealth",
    Permission::Read,
    60,
)
.asks::<HealthQuery>()
.gives::<ClusterOperatorHealth>(200)
.fails(&[400, 404])
.says("How an operator is on one cluster");

/// How an operator was on one cluster.
pub const HEALTH_HISTORY: Endpoint = Endpoint::new(
    Method::Get,
    "/clusters/{cluster}/operators/{operator}/health/history",
    "listOperatorHealthHistory",
    Permission::Read,
    60,
)
.asks::<HistoryQuery>()
.gives::<HealthHistory>(200)
.fails(&[400, 404])
.says("How an operator was on one cluster, the newest first");

/// Takes what is broken now as given.
pub const TAKE_BASELINE: Endpoint = Endpoint::new(
    Method::Post,
    "/clusters/{cluster}/operators/{operator}/health/baseline",
    "takeOperatorHealthBaseline",
    Permission::Deploy,
    10,
)
.gives::<BaselineReply>(200)
.fails(&[404])
.says("Take what is broken now as given: from now on only what gets worse counts");

/// All operators in a word each.
pub const FLEET_HEALTH: Endpoint =
    Endpoint::new(Method::Get, "/health/operators", "listOperatorHealth", Permission::Read, 60)
        .asks::<PageQuery>()
        .gives::<FleetHealthReply>(200)
        .fails(&[400])
        .says("All operators with the clusters on which they are well and not well, the worst first");

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] =
    &[OPERATOR_HEALTH, CLUSTER_OPERATOR_HEALTH, HEALTH_HISTORY, TAKE_BASELINE, FLEET_HEALTH];

/// How health is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct HealthQuery {
    /// Whether to look now instead of showing the last record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<bool>,
}

/// Which part of the history is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(rename_all = "camelCase")]
pub struct HistoryQuery {
    /// Whether only changes of the verdict are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<bool>,
    /// How many, 1 to 100; 20 where nothing is said.
    #[param(minimum = 1, maximum = 100)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// After how many.
    #[param(minimum = 0)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

/// What is said of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum Health {
    /// There is nothing to say, or nothing could be seen.
    Unknown,
    /// All that was seen is as it has to be.
    Healthy,
    /// It runs, and does not do all of its work.
    Degraded,
    /// It does not run, or refuses those who need it.
    Unhealthy,
}

/// How the webhooks are, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum WebhookStatus {
    /// All that were asked answered.
    Available,
    /// One cannot be called, is too slow, or its certificate ends.
    Unavailable,
    /// There is none.
    None,
    /// None could be asked.
    Unknown,
}

/// How custom resources are, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum ReconciliationStatus {
    /// They are looked after.
    Active,
    /// Some are not.
    Stale,
    /// There is none.
    Idle,
    /// They say nothing, or could not be read.
    Unknown,
}

/// How an operator is on all clusters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorHealthReply {
    /// The operator.
    pub operator_name: String,
    /// The worst of all clusters.
    pub overall_health: Health,
    /// On so many clusters it is well.
    pub healthy_clusters: u64,
    /// On so many it does not do all of its work.
    pub degraded_clusters: u64,
    /// On so many it does not work.
    pub unhealthy_clusters: u64,
    /// Of so many nothing can be said.
    pub unknown_clusters: u64,
    /// Cluster by cluster, by name.
    pub clusters: Vec<ClusterOperatorHealth>,
}

/// How an operator is on one cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterOperatorHealth {
    /// The cluster.
    pub cluster_name: String,
    /// The operator.
    pub operator_name: String,
    /// The version that is installed.
    pub version: Option<String>,
    /// In a word.
    pub health: Health,
    /// Since when that is so.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
    /// Why, the heaviest first.
    pub reasons: Vec<HealthReason>,
    /// How many controller pods are ready.
    pub controller_pods: u32,
    /// The webhooks in a word.
    pub webhook_status: WebhookStatus,
    /// The custom resources in a word.
    pub crd_reconciliation: ReconciliationStatus,
    /// When it was last looked at.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_checked: Option<Timestamp>,
    /// The controller pods.
    pub controller_pod_health: ControllerPodHealth,
    /// The webhooks together; nothing if there is none.
    pub webhook_health: Option<WebhookHealth>,
    /// The custom resources together.
    pub crd_reconciliation_health: CrdReconciliationHealth,
    /// The same as `lastChecked`, as the domain model calls it.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_checked_at: Option<Timestamp>,
    /// The sentence that matters most.
    pub error_message: Option<String>,
    /// How many checks failed in a row.
    pub consecutive_failures: u32,
    /// Each webhook.
    pub webhooks: Vec<WebhookReply>,
    /// Each read at another version than the stored one.
    pub conversions: Vec<ConversionReply>,
    /// The custom resources, kind by kind.
    pub kinds: Vec<KindReply>,
    /// The last smoke test, where the profile has one.
    pub smoke_test: Option<SmokeTestReply>,
    /// The last error lines of the controllers, without what looks like a secret.
    pub logs: Vec<LogLineReply>,
    /// Whether it was looked at for this reply.
    pub fresh: bool,
    /// How long looking took.
    pub took_ms: Option<u64>,
}

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthReason {
    /// `pods`, `webhooks`, `reconciliation`, `smoke` or `rule`.
    pub part: String,
    /// `note`, `unseen`, `settling`, `degrading` or `failing`.
    pub weight: String,
    /// Whether it was so at the baseline already.
    pub known: bool,
    /// The sentence.
    pub text: String,
}

/// The controller pods.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControllerPodHealth {
    /// How many are ready.
    pub ready_pods: u32,
    /// How many have to be.
    pub expected_pods: u32,
    /// How many crash again and again.
    pub crash_loop_pods: u32,
    /// How often they were started again, on average.
    pub average_restarts: f64,
    /// The highest share of its processor limit that a container uses.
    pub cpu_usage_percent: Option<f64>,
    /// The highest share of its memory limit that a container uses.
    pub memory_usage_percent: Option<f64>,
}

/// The webhooks together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookHealth {
    /// Where the first of them is.
    pub endpoint_url: Option<String>,
    /// Whether all that were asked answered; nothing if none was.
    pub is_reachable: Option<bool>,
    /// The longest that one took.
    pub latency_ms: Option<u64>,
    /// When the first certificate ends.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub certificate_expires_at: Option<Timestamp>,
    /// When they were asked.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_call_at: Option<Timestamp>,
}

/// The custom resources together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdReconciliationHealth {
    /// How many there are.
    pub objects: u64,
    /// How many are on their way.
    pub active_reconciliations: u64,
    /// How many ail for too long, those of the baseline aside.
    pub stale_reconciliations: u64,
    /// Their share of all.
    pub error_rate: f64,
    /// How long reconciling takes; nothing, since objects do not tell.
    pub average_reconciliation_ms: Option<f64>,
    /// When a controller last wrote to one.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_reconciliation_at: Option<Timestamp>,
}

/// One webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookReply {
    /// The configuration it is registered in.
    pub configuration: String,
    /// Its name.
    pub name: String,
    /// `validating` or `mutating`.
    pub kind: String,
    /// Where it is.
    pub endpoint_url: String,
    /// Whether requests are refused when it does not answer.
    pub fails_closed: bool,
    /// `answered`, `failed` or `notAsked`.
    pub answer: String,
    /// What went wrong, or why it was not asked.
    pub message: Option<String>,
    /// How long it took.
    pub latency_ms: Option<u64>,
    /// When its certificate ends.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub certificate_expires_at: Option<Timestamp>,
}

/// One read at another version than the stored one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversionReply {
    /// The CRD.
    pub crd: String,
    /// The version.
    pub version: String,
    /// `answered`, `failed` or `notAsked`.
    pub answer: String,
    /// What went wrong, or why it was not asked.
    pub message: Option<String>,
}

/// The custom resources of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KindReply {
    /// The CRD.
    pub crd: String,
    /// The kind.
    pub kind: String,
    /// How many there are.
    pub objects: u64,
    /// How many ail for too long, those of the baseline aside.
    pub stale: u64,
    /// How many ailed at the baseline already.
    pub known: u64,
    /// Some that ail, each with what ails it.
    pub examples: Vec<String>,
}

/// A smoke test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SmokeTestReply {
    /// When it ran.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// With which object.
    pub object: String,
    /// Whether it passed.
    pub passed: bool,
    /// Why not.
    pub message: Option<String>,
    /// How long it took.
    pub took_ms: u64,
}

/// A line that a controller wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogLineReply {
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
    /// When.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub at: Option<Timestamp>,
    /// The line.
    pub line: String,
}

/// The history of an operator on a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthHistory {
    /// The checks, the newest first.
    pub samples: Vec<HealthSample>,
    /// Which part this is.
    #[serde(flatten)]
    pub page: PageInfo,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthSample {
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// What it found.
    pub health: Health,
    /// Whether the verdict before was another.
    pub changed: bool,
    /// Why.
    pub reasons: Vec<HealthReason>,
    /// How many pods were ready.
    pub ready_pods: u32,
    /// How many had to be.
    pub expected_pods: u32,
    /// The share of custom resources that ailed.
    pub error_rate: f64,
}

/// What was broken when a baseline was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BaselineReply {
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub taken_at: Timestamp,
    /// How many custom resources were stale.
    pub stale_objects: u64,
    /// Webhooks and conversions that did not work.
    pub webhooks: Vec<String>,
    /// Workloads that were short of pods.
    pub workloads: Vec<String>,
}

/// All operators.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetHealthReply {
    /// The operators, the worst first.
    pub operators: Vec<FleetOperator>,
    /// Which part this is.
    #[serde(flatten)]
    pub page: PageInfo,
}

/// An operator in the overview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetOperator {
    /// The operator.
    pub operator_name: String,
    /// The worst of all its clusters.
    pub overall_health: Health,
    /// On so many clusters it is well.
    pub healthy_clusters: u64,
    /// On so many it does not do all of its work.
    pub degraded_clusters: u64,
    /// On so many it does not work.
    pub unhealthy_clusters: u64,
    /// Of so many nothing can be said.
    pub unknown_clusters: u64,
}
