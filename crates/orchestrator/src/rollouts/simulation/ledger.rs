//! The engine's rows, over a way to the database that takes its time and sometimes loses an answer.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::id::RolloutId;
use slipway_domain::name::Name;
use slipway_domain::rollout::ActKey;

use super::site::{Defect, Event, Inner, Site};
use crate::changes::{Changeset, WorkChange, Write};
use crate::ports::StoreError;
use crate::ports::store::{Excerpt, Recorded, Rollout, RolloutWrite, StepRow};
use crate::rollouts::{Ledger, ROLLOUT};

impl Site {
    /// One way to the database, or back.
    pub(super) async fn travel(&self) -> Result<(), StoreError> {
        let (slow, pace) = {
            let mut inner = self.lock();
            let (often, task) = (inner.faults.stalls, inner.current);
            if inner.chance.per_mille(often) {
                inner.after(jiff::SignedDuration::ZERO, Event::Stall(task));
            }
            (inner.chance.per_mille(5), inner.pace)
        };
        self.latency(1, if slow { 2_000 } else { pace }).await;
        let mut inner = self.lock();
        let often = inner.faults.database;
        let away = inner.database_is_away();
        if away || inner.chance.per_mille(often) {
            inner.disturbed = inner.now;
            return Err(StoreError::Unavailable("the connection was lost".into()));
        }
        Ok(())
    }
}

impl Inner {
    /// What an engine with a defect would have written.
    fn spoil(defect: Defect, changes: &mut Changeset) {
        let begins = |write: &Write| matches!(write, Write::Rollout(RolloutWrite::BeginStep { .. }));
        let intends = |write: &Write| matches!(write, Write::Rollout(RolloutWrite::Intend { .. }));
        let ends = |write: &Write| matches!(write, Write::Rollout(RolloutWrite::EndStep { .. }));
        match defect {
            Defect::Unfenced => changes.fence = None,
            Defect::Unbegun => changes.rows.retain(|write| !begins(write)),
            Defect::Unintended => changes.rows.retain(|write| !intends(write)),
            Defect::Untold if changes.rows.iter().any(ends) => {
                let wakes =
                    |change: &WorkChange| matches!(change, WorkChange::Due(work, _) if work.kind == ROLLOUT);
                changes.work.retain(|change| !wakes(change));
            }
            Defect::NotResumed | Defect::NotMoved | Defect::Untold | Defect::Hasty => {}
        }
    }
}

#[async_trait]
impl Ledger for Site {
    async fn time(&self) -> Result<Timestamp, StoreError> {
        self.travel().await?;
        let now = self.lock().database_time();
        self.travel().await?;
        Ok(now)
    }

    async fn rollout(&self, id: RolloutId) -> Result<Option<Arc<Rollout>>, StoreError> {
        self.travel().await?;
        let inner = self.lock();
        Ok(Some(Arc::clone(&inner.rows.rollout)).filter(|rollout| rollout.id == id))
    }

    async fn rollout_about(&self, id: RolloutId, cluster: &Name) -> Result<Option<Excerpt>, StoreError> {
        self.travel().await?;
        let inner = self.lock();
        Ok(Excerpt::of(&inner.rows.rollout, cluster).filter(|rollout| rollout.id == id))
    }

    async fn recorded(&self, _id: RolloutId) -> Result<Recorded, StoreError> {
        self.travel().await?;
        let mut inner = self.lock();
        inner.heard_of();
        Ok(inner.rows.recorded())
    }

    async fn step(&self, _id: RolloutId, key: &ActKey) -> Result<Option<StepRow>, StoreError> {
        self.travel().await?;
        Ok(self.lock().rows.steps.get(key).cloned())
    }

    async fn commit(&self, changes: Changeset) -> Result<(), StoreError> {
        self.travel().await?;
        {
            let mut inner = self.lock();
            let mut changes = changes;
            if let Some(defect) = inner.defect {
                Inner::spoil(defect, &mut changes);
            }
            let mut decides = false;
            let mut tells = false;
            let mut intents = Vec::new();
            for write in &changes.rows {
                match write {
                    Write::Rollout(RolloutWrite::Decide { .. }) => decides = true,
                    Write::Rollout(
                        RolloutWrite::EndStep { .. }
                        | RolloutWrite::Observe { .. }
                        | RolloutWrite::Measure { .. }
                        | RolloutWrite::Command { .. },
                    ) => tells = true,
                    Write::Rollout(RolloutWrite::Intend { key, deadline, .. }) => {
                        intents.push((key.clone(), *deadline));
                    }
                    _ => {}
                }
            }
            let due = |change: &WorkChange| match change {
                WorkChange::Due(work, _) => Some(work.kind),
                _ => None,
            };
            let kinds: Vec<&'static str> = changes.work.iter().filter_map(due).collect();
            let now = inner.database_time();
            let claim = inner.holders.get(&inner.current);
            let lost = claim.is_some_and(|claim| !inner.rows.holds(&claim.fence()));
            inner.rows.commit(changes, now)?;
            assert!(!lost, "a server that had lost its claim wrote something");
            if tells {
                let now = inner.now;
                inner.watch.told.get_or_insert(now);
            }
            inner.heard.extend(kinds);
            if decides {
                inner.check_decision(&intents);
            }
        }
        self.travel().await
    }
}
