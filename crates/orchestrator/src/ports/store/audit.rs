//! What was done, for those who ask.

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;
use slipway_domain::audit::AuditResult;

use super::StoreError;
use crate::page::{Page, Window};

/// An entry as it was kept.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRecord {
    /// Its number; they grow.
    pub number: i64,
    /// When.
    pub at: Timestamp,
    /// Who: `user`, `token`, `system` or `anonymous`, and the name.
    pub actor_kind: String,
    /// The name.
    pub actor: String,
    /// From where.
    pub source: Option<String>,
    /// What ties it to logs and spans.
    pub trace_id: Option<String>,
    /// What, such as `cluster.register`.
    pub action: String,
    /// To what, such as `cluster/prod-eu`.
    pub resource: String,
    /// How it ended.
    pub result: AuditResult,
    /// A sentence.
    pub message: String,
    /// What it was.
    pub before: Option<Value>,
    /// What it is.
    pub after: Option<Value>,
}

/// Which entries are wanted; nothing set means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// By this name.
    pub actor: Option<String>,
    /// This action, or all of a thing with `cluster.`.
    pub action: Option<String>,
    /// To this resource.
    pub resource: Option<String>,
    /// With this end.
    pub result: Option<AuditResult>,
    /// Of this trace.
    pub trace_id: Option<String>,
    /// From then on.
    pub since: Option<Timestamp>,
    /// Before then.
    pub until: Option<Timestamp>,
}

/// The audit. It is only ever added to, by [`commit`](super::Store::commit).
#[async_trait]
pub trait AuditRows: Send + Sync {
    /// The newest first.
    async fn audit(&self, filter: &AuditFilter, window: Window) -> Result<Page<AuditRecord>, StoreError>;

    /// The oldest first, after a number, for an export that goes on where it stopped.
    async fn audit_after(
        &self,
        filter: &AuditFilter,
        number: i64,
        most: u32,
    ) -> Result<Vec<AuditRecord>, StoreError>;

    /// Removes what is older; the one thing that takes away. How many there were.
    async fn thin_audit(&self, before: Timestamp) -> Result<u64, StoreError>;
}
