//! Things kept in files, and what can be set: policies, approval rules, windows and values.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use slipway_domain::access::Permission;
use utoipa::{IntoParams, ToSchema};

use crate::endpoint::{Endpoint, Method};

/// Makes things as documents want them.
pub const APPLY: Endpoint =
    Endpoint::new(Method::Post, "/apply", "applyDocuments", Permission::ManageSettings, 10)
        .takes::<ApplyRequest>()
        .gives::<ApplyReply>(200)
        .fails(&[400, 409, 413])
        .up_to(8 << 20)
        .says("Make things as documents want them: all of it, or nothing");

/// Gives everything that can be kept in files.
pub const EXPORT: Endpoint =
    Endpoint::new(Method::Get, "/export", "exportDocuments", Permission::ManageSettings, 10)
        .asks::<KindQuery>()
        .gives::<ExportReply>(200)
        .fails(&[400])
        .says("Everything that can be kept in files, as documents; applying them changes nothing");

/// Lists settings.
pub const LIST: Endpoint = Endpoint::new(Method::Get, "/settings", "listSettings", Permission::Read, 60)
    .asks::<KindQuery>()
    .gives::<SettingList>(200)
    .fails(&[400])
    .says("Policies, approval rules, windows and values");

/// Shows a setting.
pub const SHOW: Endpoint =
    Endpoint::new(Method::Get, "/settings/{kind}/{name}", "getSetting", Permission::Read, 60)
        .gives::<SettingReply>(200)
        .fails(&[404])
        .says("A policy, an approval rule, a window or values");

/// Removes a setting.
pub const REMOVE: Endpoint =
    Endpoint::new(Method::Delete, "/settings/{kind}/{name}", "removeSetting", Permission::ManageSettings, 10)
        .gives_nothing(204)
        .fails(&[404, 412])
        .says("Remove a policy, an approval rule, a window or values");

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[APPLY, EXPORT, LIST, SHOW, REMOVE];

/// Documents to apply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApplyRequest {
    /// What is wanted; the order does not matter.
    #[schema(value_type = Vec<Document>)]
    pub documents: Vec<Value>,
    /// Whether only what would change is said.
    #[serde(default)]
    pub dry_run: bool,
}

/// A document: one thing, and what is wanted of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DesiredDocument)]
pub struct Document {
    /// `slipway.dev/v1`.
    pub api_version: String,
    /// `Policy`, `ApprovalRule`, `Window` and others.
    pub kind: String,
    /// How it is called.
    pub metadata: Metadata,
    /// What is wanted; each kind has a JSON Schema.
    #[schema(value_type = Object)]
    pub spec: Value,
}

/// How a thing is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DocumentMetadata)]
pub struct Metadata {
    /// Its name.
    pub name: String,
}

/// What documents come to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplyReply {
    /// Whether nothing was written.
    pub dry_run: bool,
    /// How many things changed, or would.
    pub changed: u64,
    /// Of each document, in the order they were sent.
    pub results: Vec<ApplyResult>,
}

/// What a document comes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplyResult {
    /// What it is about.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Whether it changes.
    pub outcome: ApplyOutcome,
    /// Every field that differs.
    pub differences: Vec<FieldDifference>,
}

/// Whether a thing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ApplyOutcome {
    /// It was not there.
    Created,
    /// It was different.
    Changed,
    /// It is as wanted.
    Unchanged,
}

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FieldDifference {
    /// Where, below `spec`.
    pub path: String,
    /// What is there; null for a field that is new.
    pub before: Option<Value>,
    /// What will be there; null for a field that goes.
    pub after: Option<Value>,
}

/// Which kind is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KindQuery {
    /// Only this kind, such as `Window`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// Everything that can be kept in files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExportReply {
    /// By kind and name.
    pub documents: Vec<Document>,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingReply {
    /// `Policy`, `ApprovalRule`, `Window` or `Values`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What it says.
    #[schema(value_type = Object)]
    pub spec: Value,
    /// Since when it is so.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// Settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SettingList {
    /// By kind and name.
    pub settings: Vec<SettingReply>,
}
