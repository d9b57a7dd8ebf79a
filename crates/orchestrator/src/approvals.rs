//! Decisions: asking for them, making them.

mod answer;
mod ask;
mod expiry;
mod step;

use slipway_domain::access::{Actor, Permission};
use slipway_domain::approval::Approval;
use slipway_domain::id::{ApprovalId, RolloutId};

use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::page::{Page, Window};
use crate::ports::store::ApprovalFilter;

pub use answer::{Approve, BreakGlass, Reject};
pub use ask::{Ask, Emergency};
pub use expiry::{APPROVALS_EXPIRY, ApprovalExpiry};

/// Which approvals somebody wants to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// By what they are.
    pub filter: ApprovalFilter,
    /// Only those that whoever asks can decide now.
    pub mine: bool,
}

impl Manager {
    /// A part of the approvals, the newest first; those that somebody can decide, the oldest first, for
    /// they wait longest.
    pub async fn approvals(
        &self,
        actor: &Actor,
        wanted: &Wanted,
        window: Window,
    ) -> Result<Page<Approval>, Error> {
        self.permit(actor, Permission::ReadApprovals, "approval.list", "approval").await?;
        if !wanted.mine {
            return Ok(self.store().approvals(&wanted.filter, window).await?);
        }
        // Whether somebody can decide is the domain's rule, not a condition for the database; what waits is
        // never much.
        let now = self.now();
        let fits = |approval: &Approval| {
            let ApprovalFilter { status, kind, environment, operator } = &wanted.filter;
            status.is_none_or(|status| status == approval.status)
                && kind.is_none_or(|kind| kind == approval.kind)
                && environment.is_none_or(|environment| environment == approval.subject.environment)
                && operator.as_ref().is_none_or(|name| *name == approval.subject.operator.as_str())
                && approval.open_to(actor, now).is_ok()
        };
        let mut mine = self.store().pending_approvals().await?;
        mine.retain(fits);
        let total = mine.len() as u64;
        let skipped = usize::try_from(window.offset).unwrap_or(usize::MAX);
        let items = mine.into_iter().skip(skipped).take(window.limit as usize).collect();
        Ok(Page { items, total, window })
    }

    /// One approval with everything that was decided.
    pub async fn approval(&self, actor: &Actor, id: ApprovalId) -> Result<Approval, Error> {
        self.permit(actor, Permission::ReadApprovals, "approval.read", &resource(id)).await?;
        self.known_approval(id).await
    }

    /// All approvals of a rollout, the oldest first; for the use cases of rollouts.
    pub async fn approvals_of(&self, rollout: RolloutId) -> Result<Vec<Approval>, Error> {
        Ok(self.store().approvals_of(rollout).await?)
    }

    /// Whether somebody's yes would count now.
    pub fn can_decide(&self, actor: &Actor, approval: &Approval) -> bool {
        approval.open_to(actor, self.now()).is_ok()
    }

    async fn known_approval(&self, id: ApprovalId) -> Result<Approval, Error> {
        let found = self.store().approval(id).await?;
        found.ok_or_else(|| Error::not_found(Code::NotFound, "approval", id))
    }
}

/// Reads an id; text that is none names nothing.
pub fn approval_id(text: &str) -> Result<ApprovalId, Error> {
    text.parse().map_err(|_| Error::not_found(Code::NotFound, "approval", text))
}

fn resource(id: ApprovalId) -> String {
    format!("approval/{id}")
}
