//! Which operators are checked where: those that are installed.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::check::is_there;
use super::work;
use crate::changes::{Changeset, Work};
use crate::error::Error;
use crate::manager::Manager;
use crate::ports::store::{Claim, HealthWrite, Place};
use crate::workers::{Next, Worker};

/// The kind of work that deciding what is checked is, and thinning what was; there is one.
pub const HEALTH_PLAN: &str = "operator-health-plan";

/// Samples are all kept for so long; then one an hour.
const FULL: SignedDuration = SignedDuration::from_hours(24);

/// How often the history is thinned.
const THIN_EVERY: SignedDuration = SignedDuration::from_hours(1);

/// So many changes are written at once.
const AT_ONCE: usize = 100;

/// Decides which operators are checked where.
pub struct HealthPlanWorker {
    manager: Manager,
    /// When this server last thinned the history; twice as often by two servers does no harm.
    thinned: Mutex<Option<Timestamp>>,
}

impl HealthPlanWorker {
    /// For a manager.
    pub fn new(manager: Manager) -> Self {
        Self { manager, thinned: Mutex::new(None) }
    }

    async fn plan(&self, claim: &Claim) -> Result<(), Error> {
        let manager = &self.manager;
        let installed = manager.store().installations(None, None).await?;
        let wanted: BTreeSet<Place> = installed
            .iter()
            .filter(|installation| is_there(installation))
            .filter_map(|installation| {
                Some(Place { cluster: installation.cluster_id, operator: installation.operator_id? })
            })
            .collect();
        let known: BTreeSet<Place> = manager.store().health_places().await?.into_iter().collect();
        let new: Vec<Place> = wanted.difference(&known).copied().collect();
        for places in new.chunks(AT_ONCE) {
            let mut changes = Changeset::new().fenced(claim.fence());
            for place in places {
                let at = manager.now().checked_add(spread(manager.settings.operator_health_every));
                changes = changes
                    .write(HealthWrite::Watch(*place))
                    .due(work(*place), at.unwrap_or_else(|_| manager.now()));
            }
            manager.store().commit(changes).await?;
        }
        let gone: Vec<Place> = known.difference(&wanted).copied().collect();
        for places in gone.chunks(AT_ONCE) {
            let mut changes = Changeset::new().fenced(claim.fence());
            for place in places {
                changes = changes.write(HealthWrite::Forget(*place)).end(work(*place));
            }
            manager.store().commit(changes).await?;
        }
        Ok(())
    }
}

impl HealthPlanWorker {
    async fn thin(&self) -> Result<(), Error> {
        let now = self.manager.now();
        let due = {
            let mut thinned = self.thinned.lock().unwrap_or_else(PoisonError::into_inner);
            let due = thinned.is_none_or(|last| now.duration_since(last) >= THIN_EVERY);
            if due {
                *thinned = Some(now);
            }
            due
        };
        if due {
            let before = now.checked_sub(FULL).unwrap_or(now);
            let gone = self.manager.store().thin_health(before).await?;
            tracing::debug!(samples = gone, "thinned the history of health");
        }
        Ok(())
    }
}

/// A part of the time between two checks: what is found at once is not checked at once.
fn spread(every: Duration) -> Duration {
    every.mul_f64(f64::from(Uuid::new_v4().as_bytes()[0]) / 255.0)
}

#[async_trait]
impl Worker for HealthPlanWorker {
    fn kind(&self) -> &'static str {
        HEALTH_PLAN
    }

    async fn work(&self, claim: &Claim) -> Result<Next, Error> {
        self.plan(claim).await?;
        self.thin().await?;
        Ok(Next::After(self.manager.settings.operator_health_every))
    }
}

impl Manager {
    /// Has the health of operators looked after. Each server calls it when it starts; one does the work.
    pub async fn start_operator_health(&self) -> Result<(), Error> {
        let plan = Work { kind: HEALTH_PLAN, key: "all".to_owned() };
        Ok(self.store().commit(Changeset::new().due(plan, self.now())).await?)
    }
}
