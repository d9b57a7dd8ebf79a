//! The twin of the database keeps what the database keeps.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use futures::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use slipway_domain::access::Environment;
use slipway_domain::cluster::Labels;
use slipway_domain::rollout::{ActKey, Direct, Settings, Strategy, Target};

use super::Simulation;
use super::promises::{Keeper, hold};
use super::rows::Rows;
use super::site::{Faults, start};
use crate::changes::Changeset;
use crate::ports::StoreError;
use crate::ports::store::{Claim, Recorded, Rollout, StepRow};

struct Twin(Mutex<(Rows, Timestamp)>);

impl Twin {
    fn new() -> Self {
        let target = Target {
            cluster: "dev".parse().unwrap(),
            environment: Environment::Development,
            labels: Labels::default(),
        };
        let settings = Settings::with(Strategy::Direct(Direct::default()));
        let simulation = Simulation::new(0, 1, settings, vec![target], Faults::default());
        let rollout = simulation.with(|inner| Rollout::clone(&inner.rows.rollout));
        Self(Mutex::new((Rows::begin(rollout), start())))
    }

    fn lock(&self) -> MutexGuard<'_, (Rows, Timestamp)> {
        self.0.lock().unwrap()
    }
}

impl Keeper for Twin {
    async fn time(&self) -> Timestamp {
        self.lock().1
    }

    async fn pass(&self, span: Duration) {
        self.lock().1 += SignedDuration::try_from(span).unwrap();
    }

    async fn commit(&self, changes: Changeset) -> Result<(), StoreError> {
        let (rows, now) = &mut *self.lock();
        rows.commit(changes, *now)
    }

    async fn rollout(&self) -> Rollout {
        Rollout::clone(&self.lock().0.rollout)
    }

    async fn recorded(&self) -> Recorded {
        self.lock().0.recorded()
    }

    async fn step(&self, key: &ActKey) -> Option<StepRow> {
        self.lock().0.steps.get(key).cloned()
    }

    async fn claim(&self, kind: &'static str, lease: Duration) -> Vec<Claim> {
        let (rows, now) = &mut *self.lock();
        rows.claim(kind, 10, lease, *now)
    }

    async fn keep(&self, claim: &Claim, lease: Duration) -> bool {
        let (rows, now) = &mut *self.lock();
        rows.keep(claim, lease, *now)
    }

    async fn release(&self, claim: &Claim, after: Duration) {
        let (rows, now) = &mut *self.lock();
        rows.release(claim, after, *now);
    }
}

#[test]
fn the_twin_in_memory_keeps_what_rows_promise() {
    hold(async || Twin::new()).now_or_never().expect("nothing in memory is waited for");
}
