//! The rows that the engine stands on.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::id::RolloutId;
use slipway_domain::name::Name;
use slipway_domain::rollout::ActKey;

use crate::changes::Changeset;
use crate::ports::store::{Excerpt, Recorded, Rollout, StepRow};
use crate::ports::{Store, StoreError};

/// The rows that the engine stands on: a small part of the store, so that a simulation can have its own.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// The time that everything is compared with.
    async fn time(&self) -> Result<Timestamp, StoreError>;

    /// One rollout.
    async fn rollout(&self, id: RolloutId) -> Result<Option<Arc<Rollout>>, StoreError>;

    /// The same, as far as a cluster is concerned.
    async fn rollout_about(&self, id: RolloutId, cluster: &Name) -> Result<Option<Excerpt>, StoreError>;

    /// What was recorded beside its state.
    async fn recorded(&self, id: RolloutId) -> Result<Recorded, StoreError>;

    /// One step.
    async fn step(&self, id: RolloutId, key: &ActKey) -> Result<Option<StepRow>, StoreError>;

    /// Writes everything, or nothing.
    async fn commit(&self, changes: Changeset) -> Result<(), StoreError>;
}

/// The database's.
#[derive(Clone)]
pub struct StoreLedger(pub Arc<dyn Store>);

#[async_trait]
impl Ledger for StoreLedger {
    async fn time(&self) -> Result<Timestamp, StoreError> {
        self.0.time().await
    }

    async fn rollout(&self, id: RolloutId) -> Result<Option<Arc<Rollout>>, StoreError> {
        Ok(self.0.rollout(id).await?.map(Arc::new))
    }

    async fn rollout_about(&self, id: RolloutId, cluster: &Name) -> Result<Option<Excerpt>, StoreError> {
        self.0.rollout_about(id, cluster).await
    }

    async fn recorded(&self, id: RolloutId) -> Result<Recorded, StoreError> {
        self.0.recorded(id).await
    }

    async fn step(&self, id: RolloutId, key: &ActKey) -> Result<Option<StepRow>, StoreError> {
        self.0.step(id, key).await
    }

    async fn commit(&self, changes: Changeset) -> Result<(), StoreError> {
        self.0.commit(changes).await
    }
}
