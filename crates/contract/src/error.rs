//! The one shape that errors have.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorReply {
    /// What went wrong.
    pub error: ErrorBody,
}

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// For programs, such as `CLUSTER_NOT_FOUND`.
    pub code: String,
    /// For people: the thing, the reason, the next step.
    pub message: String,
    /// Each problem of the input, or each cluster that failed.
    pub details: Vec<ErrorDetail>,
    /// Finds the request in logs and traces.
    pub trace_id: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: jiff::Timestamp,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetail {
    /// Where in the input.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// On which cluster.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cluster: Option<String>,
    /// What is wrong.
    pub message: String,
}
