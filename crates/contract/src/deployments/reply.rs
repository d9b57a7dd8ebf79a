//! What comes back about deployments.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{DeploymentApprovalStatus, DeploymentEnvironment, DeploymentStatus, DeploymentStrategy};
use crate::approvals::{ApprovalStatus, ApprovalType};
use crate::page::PageInfo;

/// A part of the deployments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DeploymentList {
    /// The newest first.
    pub deployments: Vec<DeploymentReply>,
    /// Which part.
    #[serde(flatten)]
    pub page: PageInfo,
}

/// A deployment in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentReply {
    /// Which; where one is asked for, a beginning of four digits or more is enough if it fits one only.
    pub deployment_id: Uuid,
    /// The operator.
    pub operator_name: String,
    /// The version it gets.
    pub target_version: String,
    /// What most of the clusters ran before.
    pub previous_version: Option<String>,
    /// How it goes out.
    pub strategy: DeploymentStrategy,
    /// How far it is.
    pub status: DeploymentStatus,
    /// Why nothing new begins, where somebody or something holds it.
    pub paused: Option<DeploymentPause>,
    /// The clusters.
    pub target_clusters: Vec<String>,
    /// Who started it.
    pub initiated_by: String,
    /// What people say.
    pub approval_status: DeploymentApprovalStatus,
    /// When it was started.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// When the first cluster was touched.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub first_changed_at: Option<Timestamp>,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub completed_at: Option<Timestamp>,
    /// When it will be complete if nothing goes wrong and nobody has to be waited for.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub estimated_completion_at: Option<Timestamp>,
    /// How many clusters have the version and are well.
    pub successful_clusters: u64,
    /// How many clusters failed.
    pub failed_clusters: u64,
    /// The share of the clusters that have the version and are well, from 0 to 1.
    pub success_rate: f64,
    /// How much of the way is behind it, from 0 to 100.
    pub progress: u8,
}

/// Why nothing new begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentPause {
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Why.
    pub reason: String,
    /// Whether it paused by itself; resuming then accepts what went wrong.
    pub automatic: bool,
}

/// A deployment with everything about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentDetailReply {
    /// In short.
    #[serde(flatten)]
    pub deployment: DeploymentReply,
    /// The settings of the strategy, with the defaults filled in, as they can be sent.
    #[schema(value_type = Object)]
    pub strategy_config: Value,
    /// All other settings, the same way.
    #[schema(value_type = Object)]
    pub settings: Value,
    /// Whether it is taken back by itself where it hurts.
    pub auto_rollback_enabled: bool,
    /// What happens now.
    pub phase: DeploymentPhase,
    /// The waves; those that catch up or are tried again come last.
    pub waves: Vec<DeploymentWave>,
    /// The clusters, in the order in which they come.
    pub cluster_statuses: Vec<ClusterRollout>,
    /// What further checks between waves say in the present one.
    pub gates: Vec<DeploymentGate>,
    /// The decisions that it needs or needed.
    pub approvals: Vec<DeploymentApproval>,
    /// Who approved it, where somebody did.
    pub approved_by: Option<String>,
    /// When.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub approved_at: Option<Timestamp>,
    /// Why an admin went past approvals.
    pub emergency: Option<String>,
    /// The hash of the plan that people are or were asked about.
    pub plan_hash: Option<String>,
    /// What it waits for.
    pub why: DeploymentWhy,
    /// Why it ended as it did.
    pub error_message: Option<String>,
    /// Why it is or was taken back.
    pub rollback_reason: Option<String>,
    /// When it was taken back.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub rolled_back_at: Option<Timestamp>,
    /// The deployment that took its place.
    pub replaced_by: Option<Uuid>,
}

/// What happens now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentPhase {
    /// In a word.
    pub name: PhaseName,
    /// The wave, counted from 1, while it is one.
    pub wave: Option<u32>,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Until when, where only time has to pass.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
}

/// What happens, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum PhaseName {
    /// Every cluster is looked at.
    Preflight,
    /// People are asked.
    Consent,
    /// A wave goes on.
    Wave,
    /// Clusters that could not be reached are waited for.
    CatchUp,
    /// It is being taken back.
    Back,
    /// Running clusters finish, and no other begins.
    Cancelling,
    /// Completed, and still taken back by itself.
    Watching,
    /// Completed; what is old is tidied up.
    Aftercare,
    /// Nothing.
    Over,
}

/// Clusters that are changed, watched and judged together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentWave {
    /// Counted from 1.
    pub number: u32,
    /// What people call it, such as `10 % of Production`.
    pub title: String,
    /// What is done.
    pub kind: WaveKind,
    /// How far it is.
    pub state: WaveState,
    /// The clusters, in order.
    pub clusters: Vec<String>,
    /// So many are changed at once.
    pub at_once: u32,
    /// For how long it is watched, such as `PT5M`.
    pub soak: String,
    /// Until when it is watched or rests.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
}

/// What is done to the clusters of a wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum WaveKind {
    /// They get the version in place of the old one.
    Change,
    /// They get the version beside the old one.
    Prepare,
    /// They are switched to it.
    Switch,
}

/// How far a wave is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum WaveState {
    /// Its turn has not come.
    Waiting,
    /// Windows, approvals and a fresh look come before the first change.
    Opening,
    /// Clusters are changed.
    Changing,
    /// It is watched.
    Soaking,
    /// It passed, and the next one waits.
    Resting,
    /// It passed.
    Passed,
    /// It ended without passing.
    Ended,
}

/// How one cluster is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRollout {
    /// Which.
    pub cluster_name: String,
    /// Where it stands.
    pub environment: DeploymentEnvironment,
    /// Its wave, counted from 1; the last one where it is in several.
    pub wave: Option<u32>,
    /// How far it is.
    pub status: ClusterRolloutStatus,
    /// How far exactly, such as `release` or `settling`.
    pub stage: String,
    /// Since when it is there.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// When it was first changed.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When nothing more was to be done.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub completed_at: Option<Timestamp>,
    /// When it was last looked at and nothing stood in the way.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub preflight_at: Option<Timestamp>,
    /// What is being done.
    pub step: Option<RunningStep>,
    /// What it ran before it was changed; nothing where the operator was not installed.
    pub previous_version: Option<String>,
    /// The revision that belongs to this deployment, or that was restored.
    pub revision: Option<String>,
    /// What checks say.
    pub health_check: Option<ClusterRolloutHealth>,
    /// Why it failed, or cannot be reached.
    pub error_message: Option<String>,
    /// What somebody should read.
    pub notes: Vec<String>,
}

/// How far one cluster is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum ClusterRolloutStatus {
    /// It is not its turn.
    Pending,
    /// It could not be reached before it was touched.
    Quarantined,
    /// It is being changed.
    Deploying,
    /// It has to become healthy.
    Validating,
    /// Green is there and well; the switch comes later.
    Prepared,
    /// It has the version.
    Completed,
    /// It failed.
    Failed,
    /// It was left out, or not reached before the end.
    Skipped,
    /// It could not be reached for too long.
    GivenUp,
    /// It is being taken back.
    RollingBack,
    /// It is as it was before.
    RolledBack,
    /// It could not be taken back.
    RollbackFailed,
}

/// A step under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningStep {
    /// Which, such as `release`.
    pub kind: String,
    /// What is going on, such as `running helm`.
    pub text: String,
    /// Counted from 1.
    pub attempt: u32,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// When the attempt is over whatever happens.
    #[schema(value_type = String, format = DateTime)]
    pub deadline: Timestamp,
}

/// What checks say of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRolloutHealth {
    /// In a word.
    pub status: HealthWord,
    /// When it was last looked at.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub checked_at: Option<Timestamp>,
    /// How often it failed in a row; three make it unhealthy.
    pub consecutive_failures: u32,
    /// Since when it cannot be reached.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub unreachable_since: Option<Timestamp>,
    /// What the last check said.
    pub message: Option<String>,
}

/// Health in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum HealthWord {
    /// It passed.
    Healthy,
    /// Three checks in a row failed.
    Unhealthy,
    /// There is nothing to say yet.
    Unknown,
    /// Nobody looks.
    NotChecked,
}

/// A further check between waves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentGate {
    /// What people call it.
    pub name: String,
    /// Whether it passed in this wave.
    pub passed: bool,
    /// How often it failed in a row.
    pub consecutive_failures: u32,
    /// What it last said.
    pub message: Option<String>,
}

/// A decision that a deployment needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentApproval {
    /// Which.
    pub approval_id: Uuid,
    /// What is asked.
    #[serde(rename = "type")]
    pub kind: ApprovalType,
    /// For which environment.
    pub environment: DeploymentEnvironment,
    /// How far it is.
    pub status: ApprovalStatus,
    /// Who decides next, in words.
    pub waits_for: Option<String>,
    /// Since when it waits.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Until when it can be decided.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

/// What a deployment waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentWhy {
    /// Which.
    pub deployment_id: Uuid,
    /// How far it is.
    pub status: DeploymentStatus,
    /// What all of it waits for; nothing once it is over.
    pub waits_for: Option<DeploymentWait>,
    /// Why it ended as it did.
    pub ended: Option<String>,
    /// Each cluster that something happens to, or that waits.
    pub clusters: Vec<DeploymentWait>,
}

/// Something that is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentWait {
    /// By which cluster, where it is one.
    pub cluster_name: Option<String>,
    /// What, in a sentence.
    pub what: String,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Until when at the latest, where that is known.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
    /// What would unblock it, where somebody can do something.
    pub unblock: Option<String>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewsReply {
    /// In which deployment.
    pub deployment_id: Uuid,
    /// How far it is now.
    pub status: DeploymentStatus,
    /// The oldest first.
    pub news: Vec<DeploymentNews>,
    /// Whether more follows: ask again after the last number.
    pub has_more: bool,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentNews {
    /// Counted from 1, without gaps.
    pub number: i64,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// In a word, such as `waveStarted`.
    pub kind: String,
    /// On which cluster.
    pub cluster_name: Option<String>,
    /// In a sentence.
    pub text: String,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepsReply {
    /// In which deployment.
    pub deployment_id: Uuid,
    /// In the order in which they were intended.
    pub steps: Vec<DeploymentStep>,
}

/// A step of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentStep {
    /// On which cluster.
    pub cluster_name: String,
    /// Which, such as `release`.
    pub kind: String,
    /// Counted from 1, by cluster and kind.
    pub attempt: u32,
    /// When it was intended.
    #[schema(value_type = String, format = DateTime)]
    pub intended_at: Timestamp,
    /// When it was begun.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub begun_at: Option<Timestamp>,
    /// When the attempt is over whatever happens.
    #[schema(value_type = String, format = DateTime)]
    pub deadline: Timestamp,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    /// What came of it; nothing while it goes on.
    pub result: Option<StepResult>,
    /// In a sentence.
    pub message: Option<String>,
}

/// What came of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum StepResult {
    /// It was done.
    Done,
    /// It looked, and says that this must not be done.
    Refused,
    /// The cluster could not be reached.
    Unreachable,
    /// It failed in a way that may pass, and is tried again.
    Hiccup,
    /// The server that was at it was lost; it is tried again, and the cluster is not blamed.
    Lost,
    /// It failed.
    Failed,
}

/// What became of the wish to take a deployment back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackReply {
    /// Which.
    pub deployment_id: Uuid,
    /// `RollingBack`, or `RolledBack` where it was already.
    pub status: DeploymentStatus,
    /// Why.
    pub rollback_reason: String,
    /// The clusters that are taken back.
    pub target_clusters: Vec<String>,
    /// When it was taken back; nothing while it goes on.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub rolled_back_at: Option<Timestamp>,
}

/// How far taking a deployment back is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackStatusReply {
    /// Which.
    pub deployment_id: Uuid,
    /// How far it is.
    pub status: DeploymentStatus,
    /// Why.
    pub rollback_reason: Option<String>,
    /// Clusters that are as they were before.
    pub rolled_back: Vec<String>,
    /// Clusters that are being taken back.
    pub rolling_back: Vec<String>,
    /// Clusters whose turn has not come.
    pub waiting: Vec<String>,
    /// Clusters that could not be taken back.
    pub failed: Vec<FailedRollback>,
}

/// A cluster that could not be taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailedRollback {
    /// Which.
    pub cluster_name: String,
    /// Why.
    pub message: String,
}

/// What became of the wish to end a deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelReply {
    /// Which.
    pub deployment_id: Uuid,
    /// The status that it ends with: `Cancelled`.
    pub status: DeploymentStatus,
    /// The clusters that are being changed, which finish first.
    pub finishing: Vec<String>,
}

/// What became of an operator that was taken off a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UninstallReply {
    /// The operator.
    pub operator_name: String,
    /// The cluster.
    pub cluster_name: String,
    /// What was left there, in words.
    pub left: Vec<String>,
}
