//! The database's rows, with a time that a test moves.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::id::RolloutId;
use slipway_domain::name::Name;
use slipway_domain::rollout::ActKey;
use slipway_infra::postgres::PostgresStore;
use slipway_orchestrator::changes::WorkChange;
use slipway_orchestrator::ports::store::{
    Excerpt, Recorded, Rollout, RolloutRows as _, RolloutWrite, StepRow,
};
use slipway_orchestrator::ports::{Store as _, StoreError};
use slipway_orchestrator::rollouts::Ledger;
use slipway_orchestrator::{Changeset, Write};

use crate::case::{Case, When};

/// The rows of one case. Its time is the database's and what was jumped over; work is due by the database's.
pub(crate) struct Rows {
    pub(crate) store: PostgresStore,
    pub(crate) case: Arc<Case>,
}

#[async_trait]
impl Ledger for Rows {
    async fn time(&self) -> Result<Timestamp, StoreError> {
        Ok(self.store.time().await? + self.case.offset())
    }

    async fn rollout(&self, id: RolloutId) -> Result<Option<Arc<Rollout>>, StoreError> {
        Ok(self.store.rollout(id).await?.map(Arc::new))
    }

    async fn rollout_about(&self, id: RolloutId, cluster: &Name) -> Result<Option<Excerpt>, StoreError> {
        self.store.rollout_about(id, cluster).await
    }

    async fn recorded(&self, id: RolloutId) -> Result<Recorded, StoreError> {
        self.store.recorded(id).await
    }

    async fn step(&self, id: RolloutId, key: &ActKey) -> Result<Option<StepRow>, StoreError> {
        self.store.step(id, key).await
    }

    async fn commit(&self, mut changes: Changeset) -> Result<(), StoreError> {
        for change in &mut changes.work {
            if let WorkChange::Due(_, at) = change {
                *at -= self.case.offset();
            }
        }
        let (before, after) = places(&changes);
        for (what, when) in before {
            self.case.at(what, when).await;
        }
        self.store.commit(changes).await?;
        for (what, when) in after {
            self.case.at(what, when).await;
        }
        Ok(())
    }
}

type At = Vec<(String, When)>;

/// The places before a commit and after it. A decision is called by what it intends and by the status it comes
/// to: how many decisions there are depends on which reports come in together.
fn places(changes: &Changeset) -> (At, At) {
    let (mut before, mut after) = (At::new(), At::new());
    let mut decided = |what: String| {
        before.push((what.clone(), When::Decided));
        after.push((what, When::Committed));
    };
    for write in &changes.rows {
        let Write::Rollout(write) = write else { continue };
        match write {
            RolloutWrite::Decide { rollout, .. } => decided(format!("status {}", rollout.state.status)),
            RolloutWrite::Intend { key, .. } => decided(format!("intent of {key}")),
            _ => {}
        }
    }
    for write in &changes.rows {
        let Write::Rollout(write) = write else { continue };
        match write {
            RolloutWrite::BeginStep { key, .. } => before.push((key.to_string(), When::Claimed)),
            RolloutWrite::EndStep { key, .. } => after.push((key.to_string(), When::Recorded)),
            _ => {}
        }
    }
    (before, after)
}
