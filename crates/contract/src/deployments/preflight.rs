//! What is found before anything is changed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::DeploymentStrategy;
use super::reply::DeploymentWave;

/// What a deployment would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DryRunReply {
    /// The operator.
    pub operator_name: String,
    /// The version it would get.
    pub target_version: String,
    /// How.
    pub strategy: DeploymentStrategy,
    /// All settings, with the defaults filled in.
    #[schema(value_type = Object)]
    pub settings: Value,
    /// The waves.
    pub waves: Vec<DeploymentWave>,
    /// Whether nothing stands in the way anywhere.
    pub fits: bool,
    /// Each cluster.
    pub clusters: Vec<DryRunCluster>,
}

/// What a deployment would do on one cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DryRunCluster {
    /// Which.
    pub cluster_name: String,
    /// Whether nothing stands in the way.
    pub fits: bool,
    /// Why it could not be looked at.
    pub error: Option<String>,
    /// What was found.
    pub preflight: Option<PreflightReply>,
}

/// What was found on each cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreflightsReply {
    /// Of which deployment.
    pub deployment_id: Uuid,
    /// By cluster.
    pub clusters: Vec<PreflightCluster>,
}

/// What was found on one cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreflightCluster {
    /// Which.
    pub cluster_name: String,
    /// What was found.
    #[serde(flatten)]
    pub preflight: PreflightReply,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreflightReply {
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub checked_at: Timestamp,
    /// The version that is there; nothing where the operator is not installed.
    pub from_version: Option<String>,
    /// The version that would be.
    pub to_version: String,
    /// Whether nothing stands in the way.
    pub fits: bool,
    /// Each thing that was looked at.
    pub findings: Vec<PreflightFinding>,
    /// What would be made, changed and deleted.
    pub changes: Vec<PreflightChange>,
    /// What CRDs would become.
    pub crds: Vec<PreflightCrd>,
    /// Whether it can be taken back.
    pub going_back: PreflightReturn,
    /// The values and where each comes from; secret ones are not shown.
    pub values: Vec<PreflightValue>,
    /// Of everything that would change: another one is another plan.
    pub digest: String,
}

/// What a finding means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum PreflightLevel {
    /// It is as it has to be.
    Passed,
    /// It could not be known.
    Unknown,
    /// It can go on, and somebody should read this.
    Warning,
    /// It must not go on.
    Refused,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreflightFinding {
    /// What, such as `CRDs` or `webhooks`.
    pub check: String,
    /// What it means.
    pub level: PreflightLevel,
    /// In a sentence.
    pub text: String,
    /// The objects it is about, such as `Certificate shop/web`.
    pub objects: Vec<String>,
}

/// What becomes of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum PreflightFate {
    /// It is made.
    Created,
    /// It is changed.
    Changed,
    /// It is deleted.
    Deleted,
}

/// A difference between what is there and what would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreflightChange {
    /// What becomes of it.
    pub fate: PreflightFate,
    /// Which object, such as `Deployment shop/web`.
    pub object: String,
    /// The fields that differ, each as `path: old → new`; secrets only by path.
    pub fields: Vec<String>,
}

/// What a CRD would become.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreflightCrd {
    /// Its name.
    pub name: String,
    /// What becomes of it; nothing where it stays.
    pub fate: Option<PreflightFate>,
    /// What breaks, with the objects that would be refused or cut.
    pub breaking: Vec<String>,
    /// What is risky.
    pub risky: Vec<String>,
}

/// Whether it can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum PreflightReturn {
    /// It can.
    Reversible,
    /// After stored objects were rewritten.
    AfterMigration,
    /// It cannot.
    OneWay,
}

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PreflightValue {
    /// Its path, such as `image.tag`.
    pub path: String,
    /// What it is; `***` where it is secret.
    pub value: Value,
    /// Who says so: `operator`, `release`, `environment`, `cluster`, `deployment` or `colour`.
    pub source: String,
    /// The name of the document of kind `Values` that says so, for an environment and a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}
