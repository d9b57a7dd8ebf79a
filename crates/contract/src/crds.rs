//! Schemas of CRDs.

mod reply;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use slipway_domain::access::Permission;
use utoipa::{IntoParams, ToSchema};

use crate::endpoint::{Endpoint, Method};

pub use reply::{
    ClusterCrd, CrdChangeReply, CrdFinding, CrdHistory, CrdList, CrdReply, CrdRollback, CrdStatusReply,
    CrdSummary, CrdWaived, CrdWitness, ValidateReply, ValidatedChange,
};

/// The most bytes of a request with a definition: it may come as text inside JSON, with everything escaped.
const LARGEST: usize = 8 << 20;

/// Stores a schema.
pub const CREATE: Endpoint = Endpoint::new(Method::Post, "/crds", "createCrd", Permission::ManageCrds, 10)
    .takes::<CreateCrd>()
    .gives::<CrdReply>(201)
    .fails(&[400, 409, 413])
    .up_to(LARGEST)
    .says("Store the schema that a version of an operator brings");

/// Lists CRDs.
pub const LIST: Endpoint = Endpoint::new(Method::Get, "/crds", "listCrds", Permission::Read, 60)
    .asks::<CrdsQuery>()
    .gives::<CrdList>(200)
    .fails(&[400])
    .says("The CRDs that are stored: of each the schema of the newest release");

/// Shows a CRD.
pub const SHOW: Endpoint = Endpoint::new(Method::Get, "/crds/{name}", "getCrd", Permission::Read, 60)
    .asks::<CrdQuery>()
    .gives::<CrdReply>(200)
    .fails(&[400, 404])
    .says("A CRD with its schema and the newest of its history");

/// The history of a CRD.
pub const HISTORY: Endpoint =
    Endpoint::new(Method::Get, "/crds/{name}/history", "getCrdHistory", Permission::Read, 60)
        .asks::<CrdHistoryQuery>()
        .gives::<CrdHistory>(200)
        .fails(&[400, 404])
        .says("What changed in a CRD with each version of its operator, the newest first");

/// A CRD on every cluster.
pub const STATUS: Endpoint =
    Endpoint::new(Method::Get, "/crds/{name}/status", "getCrdStatus", Permission::Read, 60)
        .asks::<CrdStatusQuery>()
        .gives::<CrdStatusReply>(200)
        .fails(&[400, 404])
        .says("Which cluster runs which schema, and how it differs from the chart's");

/// Judges a schema.
pub const VALIDATE: Endpoint =
    Endpoint::new(Method::Post, "/crds/{name}/validate", "validateCrd", Permission::ManageCrds, 30)
        .takes::<ValidateCrd>()
        .gives::<ValidateReply>(200)
        .fails(&[400, 404, 413])
        .up_to(LARGEST)
        .says("Judge a schema against the one that is stored");

/// Agrees to a schema.
pub const APPROVE: Endpoint =
    Endpoint::new(Method::Post, "/crds/{name}/approve", "approveCrd", Permission::DecideCrds, 10)
        .takes::<ApproveCrd>()
        .gives::<CrdReply>(200)
        .fails(&[400, 404, 409, 412])
        .says("Agree to a schema that breaks something");

/// Leaves a CRD.
pub const DEPRECATE: Endpoint =
    Endpoint::new(Method::Post, "/crds/{name}/deprecate", "deprecateCrd", Permission::DecideCrds, 10)
        .takes::<DeprecateCrd>()
        .gives::<CrdReply>(200)
        .fails(&[400, 404, 412])
        .says("Say that a CRD is to be left, and how");

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[CREATE, LIST, SHOW, HISTORY, STATUS, VALIDATE, APPROVE, DEPRECATE];

/// A schema to store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateCrd {
    /// The operator that brings it.
    pub operator_name: String,
    /// The version of the operator that brings it.
    pub operator_version: String,
    /// The `CustomResourceDefinition`: JSON as text, or as an object.
    pub schema_definition: Value,
}

/// Which CRDs are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CrdsQuery {
    /// Only of this operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_name: Option<String>,
    /// Only with this status: `Active`, `Deprecated` or `Removed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// How many, 1 to 100; 20 where nothing is said.
    #[param(minimum = 1, maximum = 100)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// After how many.
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

/// Which schema of a CRD is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CrdQuery {
    /// Of this operator, where several bring the CRD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_name: Option<String>,
    /// Of this version; of the newest release where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_version: Option<String>,
}

/// Which history is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CrdHistoryQuery {
    /// Of this operator, where several bring the CRD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_name: Option<String>,
    /// How many, 1 to 100; 20 where nothing is said.
    #[param(minimum = 1, maximum = 100)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// After how many.
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

/// Of which operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CrdStatusQuery {
    /// Of this operator, where several bring the CRD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_name: Option<String>,
}

/// A schema to judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidateCrd {
    /// The `CustomResourceDefinition`, or its OpenAPI schema alone: JSON as text, or as an object.
    pub new_schema_definition: Value,
    /// The version of the operator that will bring it.
    pub new_operator_version: String,
    /// Of this operator, where several bring the CRD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_name: Option<String>,
    /// The release of the cluster it is for, such as `1.33`; the newest where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes_version: Option<String>,
}

/// That somebody agrees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApproveCrd {
    /// What they say about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Of this operator, where several bring the CRD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_name: Option<String>,
    /// To the schema of this version and those before it; of the newest release where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_version: Option<String>,
}

/// That a CRD is to be left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeprecateCrd {
    /// Why.
    pub reason: String,
    /// What its users do instead: a text, or where it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration_guide: Option<String>,
    /// Of this operator, where several bring the CRD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_name: Option<String>,
}
