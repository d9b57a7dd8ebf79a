//! What is sent about deployments.
//!
//! The server reads a deployment from the JSON itself, so that it can name every problem at once with its
//! place; these types describe what it takes, and write it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{DeploymentEnvironment, DeploymentStrategy};

/// A version to roll out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartDeployment {
    /// The operator.
    #[schema(example = "cert-manager")]
    pub operator_name: String,
    /// The version it gets.
    #[schema(example = "v1.14.0")]
    pub target_version: String,
    /// How it goes out; by the most precious environment among the clusters where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<DeploymentStrategy>)]
    pub strategy: Option<DeploymentStrategy>,
    /// The settings of the strategy: one block, here or at the top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy_config: Option<StrategyConfig>,
    /// The settings of a direct deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct_config: Option<DirectConfig>,
    /// The settings of a canary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_config: Option<CanaryConfig>,
    /// The settings of a rolling deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolling_config: Option<RollingConfig>,
    /// The settings of a blue-green deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blue_green_config: Option<BlueGreenConfig>,
    /// The clusters, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1)]
    pub target_clusters: Option<Vec<String>>,
    /// The same in a shorter word; one of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1)]
    pub clusters: Option<Vec<String>>,
    /// Values for the chart, over those of the operator, the environment and the cluster.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub helm_values: Map<String, Value>,
    /// Whether it is taken back by itself where it hurts; it is where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_rollback_enabled: Option<bool>,
    /// For how long after completion, such as `PT1H`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_rollback_window: Option<String>,
    /// What is taken back; by the strategy where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_scope: Option<RollbackScope>,
    /// So many clusters of a wave are changed at once: a number, or a part such as `10%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<Amount>,
    /// So many clusters may fail: a number, or a part such as `10%`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_budget: Option<Amount>,
    /// How long a cluster that cannot be reached is waited for, such as `PT1H`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine_timeout: Option<String>,
    /// Environments that are entered only when somebody promotes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pause_before: Vec<DeploymentEnvironment>,
    /// Further checks between waves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// Goes past approvals; admins only, and everybody who answers for the environment is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emergency: Option<Emergency>,
    /// The objects that may be deleted, such as `PersistentVolumeClaim shop/data`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_delete: Vec<String>,
    /// Whether stored objects are migrated once nothing is taken back by itself any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrate: Option<bool>,
    /// Whether it takes the place of a deployment that only waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersede: Option<bool>,
}

/// The settings of a strategy: one block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StrategyConfig {
    /// Of a direct deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct_config: Option<DirectConfig>,
    /// Of a canary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_config: Option<CanaryConfig>,
    /// Of a rolling deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolling_config: Option<RollingConfig>,
    /// Of a blue-green deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blue_green_config: Option<BlueGreenConfig>,
}

/// All clusters in parallel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DirectConfig {
    /// So many at once; 10.
    #[schema(minimum = 1)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_clusters: Option<u32>,
    /// Whether a cluster is done as soon as the revision is seen; it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_health_checks: Option<bool>,
    /// How long one cluster may take; `PT5M`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<String>,
}

/// Growing parts of the fleet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CanaryConfig {
    /// How much of the fleet comes first, in percent; 10.
    #[schema(minimum = 1, maximum = 100)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_percentage: Option<u8>,
    /// How much follows before all the rest, in percent; 20.
    #[schema(minimum = 1, maximum = 100)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub increment_percentage: Option<u8>,
    /// Or: how much has the version after each stage, growing and ending with 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<u32>>)]
    pub stages: Option<Vec<u8>>,
    /// How long each stage is watched; `PT5M`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation_period: Option<String>,
    /// How many of the clusters touched so far have to be healthy then; 0.95.
    #[schema(exclusive_minimum = 0, maximum = 1)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_threshold: Option<f64>,
    /// Whether it is taken back by itself; must not contradict the same word outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_rollback_enabled: Option<bool>,
    /// How often health is looked at; `PT30S`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_check_interval: Option<String>,
    /// Over what the stages are counted; by the number of production clusters where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<CanaryLadder>,
    /// The order; environment, then name, where nothing is said. It has to name every target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_order: Option<Vec<String>>,
    /// Waves by labels, in place of stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waves: Option<Vec<CanaryWave>>,
}

/// Over what the stages of a canary are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum CanaryLadder {
    /// Over all clusters together.
    Whole,
    /// Inside each environment anew.
    PerEnvironment,
}

/// A wave by labels: all that are left where nothing is said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CanaryWave {
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Labels that a cluster has to have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Environments, one of which it has to stand in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environments: Vec<DeploymentEnvironment>,
}

/// One cluster after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollingConfig {
    /// The order; environment, then name, where nothing is said. It has to name every target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_order: Option<Vec<String>>,
    /// How long each cluster is watched; `PT5M`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_period: Option<String>,
    /// How long nothing happens after each cluster; `PT2M`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_between_clusters: Option<String>,
    /// Whether a failure ends it; it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_on_failure: Option<bool>,
}

/// Two installations and a switch between them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlueGreenConfig {
    /// Where the first one lives; `operators-blue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blue_namespace: Option<String>,
    /// Where the second one lives; `operators-green`. May be the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub green_namespace: Option<String>,
    /// How long the new one is watched before the switch; `PT10M`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_period: Option<String>,
    /// Whether the switch comes by itself; it does. Otherwise it waits for a promotion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_switch: Option<bool>,
    /// How long the old one is kept after the switch; `PT24H`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_period: Option<String>,
    /// How long the new one is watched after the switch; `PT5M`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_monitoring_period: Option<String>,
}

/// What is taken back by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum RollbackScope {
    /// Every cluster that was touched.
    All,
    /// Those that failed.
    Failed,
}

/// So many clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Amount {
    /// A number.
    Count(u32),
    /// A part, such as `10%`.
    Part(String),
}

impl Amount {
    /// As somebody writes it: a number is one, everything else is a part.
    pub fn written(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Part(text.to_owned()), Self::Count)
    }
}

/// A check that has to pass while a wave is watched: either of both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gate {
    /// What people call it.
    pub name: String,
    /// A query whose value has to fulfil a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<PrometheusGate>,
    /// A request that has to be answered with a status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpGate>,
}

/// A query whose value has to fulfil a condition.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PrometheusGate {
    /// The address of the server.
    pub url: String,
    /// The query.
    pub query: String,
    /// What its value has to be, such as `< 0.05`.
    pub condition: String,
}

/// A request that has to be answered with a status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpGate {
    /// The address.
    pub url: String,
    /// The status; 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 100, maximum = 599)]
    pub status: Option<u16>,
}

/// Why it cannot wait for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Emergency {
    /// The reason.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
}

/// Why it is taken back, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollbackRequest {
    /// Why.
    #[schema(min_length = 1, max_length = 2000)]
    pub reason: String,
    /// Only on these clusters; on all that were changed where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_clusters: Option<Vec<String>>,
    /// Whether stored objects may be rewritten to an older version where going back needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_migrate: Option<bool>,
}

/// Why it holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRequest {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub reason: Option<String>,
}

/// Why it ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelRequest {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub reason: Option<String>,
}

/// What is tried again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryRequest {
    /// These clusters; all that failed where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<Vec<String>>,
}

/// What is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SkipRequest {
    /// The cluster.
    pub cluster: String,
}

/// How much longer a wave is watched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendRequest {
    /// By so much, such as `PT10M`.
    #[schema(example = "PT10M")]
    pub by: String,
}

/// How an operator is taken off a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UninstallRequest {
    /// Whether its CRDs go too, and every custom resource with them.
    #[serde(default)]
    pub with_crds: bool,
}
