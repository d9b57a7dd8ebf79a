//! What comes back about CRDs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::PageInfo;

/// A CRD with its schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdReply {
    /// What lists have of it.
    #[serde(flatten)]
    pub summary: CrdSummary,
    /// The definition, as JSON text.
    pub schema_definition: String,
    /// The newest of its history, the newest first; `/history` has all.
    pub schema_history: Vec<CrdChangeReply>,
}

/// A CRD without its schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdSummary {
    /// The id of this schema.
    pub crd_id: Uuid,
    /// Plural and group.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The versions it has.
    pub versions: Vec<String>,
    /// `Namespaced` or `Cluster`.
    pub scope: String,
    /// The operator that brings it.
    pub operator_name: String,
    /// The version of the operator that brings this schema.
    pub operator_version: String,
    /// The number of the schema: the first part grows with each breaking change, the second with each other.
    pub schema_version: String,
    /// The SHA-256 of what the definition says.
    pub content_hash: String,
    /// `Active`, `Deprecated` or `Removed`.
    pub status: String,
    /// `NotRequired`, `Pending` or `Approved`.
    pub approval_status: String,
    /// Who agreed.
    pub approved_by: Option<String>,
    /// When.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub approved_at: Option<Timestamp>,
    /// Since when it is to be left.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deprecated_at: Option<Timestamp>,
    /// Why.
    pub deprecation_reason: Option<String>,
    /// What its users do instead.
    pub migration_guide: Option<String>,
    /// The version of the operator from which on it is no longer there.
    pub removed_in: Option<String>,
    /// Since when the schema is stored.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// CRDs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CrdList {
    /// By name.
    pub crds: Vec<CrdSummary>,
    /// Which part of the list it is.
    #[serde(flatten)]
    pub page: PageInfo,
}

/// A line of a CRD's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdChangeReply {
    /// `Added`, `Modified` or `Removed`.
    pub change_type: String,
    /// Where; empty for the definition as a whole.
    pub field_path: String,
    /// The type that was there.
    pub previous_type: Option<String>,
    /// The type that is there.
    pub new_type: Option<String>,
    /// Whether something that worked stops working.
    pub is_breaking: bool,
    /// What happened and what follows.
    pub description: String,
    /// The finding behind it; `slipway crd explain` knows it.
    pub finding: String,
    /// `breaking`, `risky` or `safe`.
    pub severity: String,
    /// The version of the operator that brought it.
    pub operator_version: String,
    /// When that version was stored.
    #[schema(value_type = String, format = DateTime)]
    pub changed_at: Timestamp,
}

/// The history of a CRD.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdHistory {
    /// The newest first.
    pub schema_history: Vec<CrdChangeReply>,
    /// Which part of the list it is.
    #[serde(flatten)]
    pub page: PageInfo,
}

/// What was found about a schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidateReply {
    /// Whether nothing breaks.
    pub is_compatible: bool,
    /// What breaks something.
    pub breaking_changes: Vec<ValidatedChange>,
    /// What breaks nothing.
    pub non_breaking_changes: Vec<ValidatedChange>,
    /// Whether somebody has to agree before it goes to production.
    pub requires_approval: bool,
    /// When it was judged.
    #[schema(value_type = String, format = DateTime)]
    pub validated_at: Timestamp,
    /// The version of the operator whose schema it was compared with.
    pub compared_with: String,
    /// Everything that was found, with proofs and remedies.
    pub findings: Vec<CrdFinding>,
    /// Whether one can go back.
    pub rollback: CrdRollback,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidatedChange {
    /// `Added`, `Modified` or `Removed`.
    pub change_type: String,
    /// Where.
    pub field_path: String,
    /// What happened and what follows.
    pub description: String,
    /// `breaking`, `risky` or `safe`.
    pub severity: String,
}

/// One difference, judged; as in the report of `slipway crd diff`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdFinding {
    /// The stable name; `slipway crd explain` knows it.
    pub id: String,
    /// `breaking`, `risky` or `safe`.
    pub severity: String,
    /// The version of the CRD it concerns.
    pub version: Option<String>,
    /// Where: in the object (`.spec.size`) or in the definition (`crd.spec.scope`).
    pub path: String,
    /// What was written there.
    pub old: Option<Value>,
    /// What is written there now.
    pub new: Option<Value>,
    /// What changed and what follows.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
    /// Whom it hits.
    pub hits: Vec<String>,
    /// An object that the old definition accepts and the new one does not.
    pub witness: Option<CrdWitness>,
    /// Why there is no such object.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub witness_missing_reason: Option<String>,
    /// The waiver that covers it.
    pub waived_by: Option<CrdWaived>,
}

/// A proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdWitness {
    /// The object.
    #[schema(value_type = Object)]
    pub object: Value,
    /// How it is written: `create` or `status`.
    pub write: String,
    /// What becomes of it: `refused` or `pruned`.
    pub outcome: String,
    /// The version it is written in under the new definition, where that differs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub written_as: Option<String>,
    /// What the API server says, or what is lost.
    pub reasons: Vec<String>,
}

/// Somebody's decision to live with a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdWaived {
    /// Who takes the responsibility.
    pub who: String,
    /// Why.
    pub reason: String,
    /// Until when.
    #[schema(value_type = String, format = DateTime)]
    pub expires: Timestamp,
}

/// Whether one can go back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CrdRollback {
    /// `reversible`, `after-migration` or `one-way`.
    pub verdict: String,
    /// Why.
    pub reasons: Vec<String>,
}

/// A CRD on every cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrdStatusReply {
    /// Its name.
    pub name: String,
    /// The operator that brings it.
    pub operator_name: String,
    /// The version whose schema counts where the operator is not installed.
    pub operator_version: String,
    /// By name.
    pub clusters: Vec<ClusterCrd>,
}

/// A CRD on one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCrd {
    /// The cluster.
    pub cluster_name: String,
    /// `Same`, `Differs`, `Absent` or `Unknown`.
    pub state: String,
    /// The version of the operator whose schema is expected there.
    pub expected_version: String,
    /// Whether the operator is installed there, so that the schema is really expected.
    pub installed: bool,
    /// The versions of the operator that bring the schema the cluster runs; none if none does.
    pub runs: Vec<String>,
    /// What bringing it to the expected schema does: `breaking`, `risky` or `safe`.
    pub severity: Option<String>,
    /// The worst of the differences, in sentences.
    pub differences: Vec<String>,
    /// The versions in which objects may lie in etcd.
    pub stored_versions: Vec<String>,
    /// The SHA-256 of what the cluster runs.
    pub content_hash: Option<String>,
    /// Since when it is seen to run that.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
    /// When somebody looked last.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub checked_at: Option<Timestamp>,
    /// Why nothing can be said.
    pub message: Option<String>,
}
