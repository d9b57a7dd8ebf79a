//! Reading what was done, and forgetting it when its time is over.
//!
//! Reading is not written down, or the audit would be about itself; taking a copy of it away is.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{self, Stream};
use jiff::SignedDuration;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;

use crate::changes::{Changeset, Work};
use crate::error::Error;
use crate::manager::Manager;
use crate::page::{Page, Window};
use crate::ports::store::{AuditFilter, AuditRecord, Claim};
use crate::workers::{Next, Worker};

/// The kind of work that thinning the audit is; there is one piece of it.
pub const AUDIT_RETENTION: &str = "audit-retention";

/// The key of the one piece.
const ALL: &str = "all";

/// How often entries are forgotten whose time is over.
const EVERY: Duration = Duration::from_hours(1);

/// How many entries an export reads at once.
const BATCH: u32 = 500;

impl Manager {
    /// What was done, the newest first.
    pub async fn audit(
        &self,
        actor: &Actor,
        filter: &AuditFilter,
        window: Window,
    ) -> Result<Page<AuditRecord>, Error> {
        self.permit(actor, Permission::ReadAudit, "audit.read", "audit").await?;
        Ok(self.store().audit(filter, window).await?)
    }

    /// Everything after a number, the oldest first, in batches. What is done while it is read comes, too;
    /// an export that broke off goes on after the last number it gave.
    pub async fn export_audit(
        &self,
        actor: &Actor,
        filter: AuditFilter,
        after: i64,
    ) -> Result<impl Stream<Item = Result<Vec<AuditRecord>, Error>> + Send + use<>, Error> {
        self.permit(actor, Permission::ReadAudit, "audit.export", "audit").await?;
        let message = if after > 0 {
            format!("exported the audit after number {after}")
        } else {
            "exported the audit".to_owned()
        };
        let entry = AuditEntry::done(actor, "audit.export", "audit", message);
        self.store().commit(Changeset::new().audit(entry)).await?;
        let store = Arc::clone(&self.parts.store);
        Ok(stream::try_unfold(Some(after), move |after| {
            let (store, filter) = (Arc::clone(&store), filter.clone());
            async move {
                let Some(after) = after else { return Ok(None) };
                let records = store.audit_after(&filter, after, BATCH).await?;
                let Some(last) = records.last().map(|record| record.number) else { return Ok(None) };
                let more = u32::try_from(records.len()).is_ok_and(|count| count == BATCH);
                Ok(Some((records, more.then_some(last))))
            }
        }))
    }

    /// Sees to it that entries are forgotten when their time is over. Called when a server starts.
    pub async fn start_audit_retention(&self) -> Result<(), Error> {
        let work = Work { kind: AUDIT_RETENTION, key: ALL.to_owned() };
        Ok(self.store().commit(Changeset::new().due(work, self.now())).await?)
    }
}

/// Forgets what is older than the setting says.
pub struct AuditRetention {
    manager: Manager,
}

impl AuditRetention {
    /// For a manager.
    pub fn new(manager: Manager) -> Self {
        Self { manager }
    }
}

#[async_trait]
impl Worker for AuditRetention {
    fn kind(&self) -> &'static str {
        AUDIT_RETENTION
    }

    async fn work(&self, _: &Claim) -> Result<Next, Error> {
        let manager = &self.manager;
        let Some(kept) = manager.settings.audit_retention else { return Ok(Next::After(EVERY)) };
        let kept = SignedDuration::try_from(kept).unwrap_or(SignedDuration::MAX);
        // A time before all time means that nothing is old enough.
        if let Ok(before) = manager.now().checked_sub(kept) {
            let removed = manager.store().thin_audit(before).await?;
            if removed > 0 {
                let entry = AuditEntry::done(
                    &Actor::system("audit-retention"),
                    "audit.thin",
                    "audit",
                    format!("forgot {removed} entries from before {before}, as the retention setting says"),
                );
                manager.store().commit(Changeset::new().audit(entry)).await?;
            }
        }
        Ok(Next::After(EVERY))
    }
}
