//! Ending what nobody decided, at the very moment.

use std::time::Duration;

use async_trait::async_trait;
use slipway_domain::access::Actor;
use slipway_domain::approval::{ApprovalStatus, expire};
use slipway_domain::id::ApprovalId;

use super::step::Step;
use crate::changes::{Changeset, Work};
use crate::error::Error;
use crate::manager::Manager;
use crate::ports::StoreError;
use crate::ports::store::Claim;
use crate::workers::{Next, Worker};

/// The kind of work; its keys are ids of approvals.
pub const APPROVALS_EXPIRY: &str = "approvals-expiry";

pub(super) fn expiry_of(id: ApprovalId) -> Work {
    Work { kind: APPROVALS_EXPIRY, key: id.to_string() }
}

/// Ends approvals that nobody decided in time. Deciding leaves this work where it is: it ends itself when
/// it is due and finds nothing to do, so that a decision waits for nobody.
#[derive(Clone)]
pub struct ApprovalExpiry {
    manager: Manager,
}

impl ApprovalExpiry {
    /// With the manager's store and clock.
    pub fn new(manager: Manager) -> Self {
        Self { manager }
    }
}

#[async_trait]
impl Worker for ApprovalExpiry {
    fn kind(&self) -> &'static str {
        APPROVALS_EXPIRY
    }

    async fn work(&self, claim: &Claim) -> Result<Next, Error> {
        let manager = &self.manager;
        let store = manager.store();
        let changes = Changeset::new().fenced(claim.fence()).end(claim.work.clone());
        let before = match claim.work.key.parse() {
            Ok(id) => store.approval(id).await?,
            Err(_) => None,
        };
        let Some(before) = before.filter(|approval| approval.status == ApprovalStatus::Pending) else {
            store.commit(changes).await?;
            return Ok(Next::Ended);
        };
        let now = manager.now();
        let Some(after) = expire(&before, now) else {
            // The database's clock is a little ahead of ours.
            let left = before.expires_at.duration_since(now);
            return Ok(Next::After(Duration::try_from(left).unwrap_or_default()));
        };
        let subject = &before.subject;
        let sentence = format!(
            "nobody decided in time: deploy {} {} to {} ({})",
            subject.operator, subject.target_version, subject.environment, before.kind
        );
        let actor = Actor::system("approvals");
        let step =
            Step { actor: &actor, action: "approval.expire", sentence, before: Some(&before), after: &after };
        let changes = manager.take(changes, step).await?;
        match manager.commit_steps(changes).await {
            Ok(()) => Ok(Next::Ended),
            // Somebody decided at the last moment: look again at once.
            Err(StoreError::Stale { .. }) => Ok(Next::After(Duration::ZERO)),
            Err(error) => Err(error.into()),
        }
    }
}
