//! The audit.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use slipway_domain::access::Permission;
use utoipa::{IntoParams, ToSchema};

use crate::endpoint::{Content, Endpoint, Method};
use crate::page::PageInfo;

/// Lists what was done.
pub const LIST: Endpoint = Endpoint::new(Method::Get, "/audit", "listAudit", Permission::ReadAudit, 60)
    .asks::<AuditQuery>()
    .gives::<AuditList>(200)
    .fails(&[400])
    .says("What was done, tried and refused, the newest first");

/// Takes a copy of what was done.
pub const EXPORT: Endpoint =
    Endpoint::new(Method::Get, "/audit/export", "exportAudit", Permission::ReadAudit, 10)
        .asks::<AuditExportQuery>()
        .streams::<AuditEntry>(Content::Lines)
        .fails(&[400])
        .says("Everything that was done, the oldest first, a line of JSON each; goes on after a number");

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[LIST, EXPORT];

/// Which entries are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditQuery {
    /// Only by this one: their name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Only this action, such as `cluster.register`; with a dot at its end, all that begin so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Only to this resource, such as `cluster/prod-eu`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Only with this end: `success`, `failure` or `denied`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Only of this trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Only from this time on.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// How many, 1 to 100; 20 where nothing is said.
    #[param(minimum = 1, maximum = 100)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// After how many.
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

/// Which entries are exported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditExportQuery {
    /// Only after this number: the last that an export before gave.
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    /// Only by this one: their name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Only this action, such as `cluster.register`; with a dot at its end, all that begin so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Only to this resource, such as `cluster/prod-eu`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Only with this end: `success`, `failure` or `denied`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Only of this trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Only from this time on.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Something that was done, tried or refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// Its number; they grow without a gap.
    pub number: i64,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Timestamp,
    /// `user`, `token`, `system` or `anonymous`.
    pub actor_kind: String,
    /// Who.
    pub actor: String,
    /// From where.
    pub source: Option<String>,
    /// What ties it to logs and traces.
    pub trace_id: Option<String>,
    /// What, such as `cluster.register`.
    pub action: String,
    /// To what, such as `cluster/prod-eu`.
    pub resource: String,
    /// `success`, `failure` or `denied`.
    pub result: String,
    /// A sentence.
    pub message: String,
    /// What it was before, without secrets.
    pub before: Option<Value>,
    /// What it is now, without secrets.
    pub after: Option<Value>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditList {
    /// The newest first.
    pub entries: Vec<AuditEntry>,
    /// Which part of the list it is.
    #[serde(flatten)]
    pub page: PageInfo,
}
