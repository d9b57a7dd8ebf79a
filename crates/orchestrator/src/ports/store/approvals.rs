//! Approvals.

use async_trait::async_trait;
use slipway_domain::access::Environment;
use slipway_domain::approval::{Approval, ApprovalKind, ApprovalStatus};
use slipway_domain::id::{ApprovalId, RolloutId};

use super::StoreError;
use crate::page::{Page, Window};

/// Which approvals are wanted; nothing set means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// In this state.
    pub status: Option<ApprovalStatus>,
    /// Of this kind.
    pub kind: Option<ApprovalKind>,
    /// Of this environment.
    pub environment: Option<Environment>,
    /// Of this operator.
    pub operator: Option<String>,
}

/// Reads.
#[async_trait]
pub trait ApprovalRows: Send + Sync {
    /// One, with everything that was decided.
    async fn approval(&self, id: ApprovalId) -> Result<Option<Approval>, StoreError>;

    /// The newest first.
    async fn approvals(&self, filter: &ApprovalFilter, window: Window) -> Result<Page<Approval>, StoreError>;

    /// All that wait, the oldest first.
    async fn pending_approvals(&self) -> Result<Vec<Approval>, StoreError>;

    /// All of a rollout, the oldest first.
    async fn approvals_of(&self, rollout: RolloutId) -> Result<Vec<Approval>, StoreError>;
}

/// Changes.
#[derive(Debug)]
#[non_exhaustive]
pub enum ApprovalWrite {
    /// A new one. There is one per rollout, kind, environment and plan: the constraint [`APPROVAL_SUBJECT`].
    Ask(Box<Approval>),
    /// An approval as it is from now on, if the row still has the approval's version: so of two people who
    /// decide at once, the second sees what the first said. Decisions are only added.
    Change(Box<Approval>),
}

/// The constraint of rollout, kind, environment and plan.
pub const APPROVAL_SUBJECT: &str = "approvals_subject_key";
