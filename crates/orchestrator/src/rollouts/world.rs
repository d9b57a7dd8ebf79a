//! What the engine needs beside its rows: people, time windows, clusters.

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::name::Name;
use slipway_domain::rollout::{Consent, Decision, Gate, Measurement, Observation, Revision};
use slipway_domain::settings::Window;

use crate::changes::Changeset;
use crate::error::Error;
use crate::ports::fleet::Acted;
use crate::ports::store::{Rollout, StepRow};

/// What the engine needs beside its rows. Everything here may be asked twice. Whoever acts on a cluster or looks at
/// it gets of the rollout only what is about that cluster.
#[async_trait]
pub trait World: Send + Sync {
    /// The time windows there are, each with its name.
    async fn windows(&self) -> Result<Vec<(String, Window)>, Error>;

    /// What people say about the plan of a rollout; asks them where that was not done yet.
    async fn consent(&self, rollout: &Rollout) -> Result<Consent, Error>;

    /// What a decision brings with it for those who watch and read: events, messages, audit.
    async fn tell(
        &self,
        before: &Rollout,
        decision: &Decision,
        changes: Changeset,
    ) -> Result<Changeset, Error>;

    /// What has to happen once a decision is written with which a rollout has ended, and may happen again.
    async fn follow_up(&self, _before: &Rollout, _after: &Rollout) -> Result<(), Error> {
        Ok(())
    }

    /// Does a step. `resumed` says that an earlier server may still be at it.
    async fn act(
        &self,
        rollout: &Rollout,
        step: &StepRow,
        now: Timestamp,
        resumed: bool,
    ) -> Result<Acted, Error>;

    /// What else is written with the outcome of a step.
    async fn acted(
        &self,
        rollout: &Rollout,
        step: &StepRow,
        acted: &Acted,
        changes: Changeset,
    ) -> Result<Changeset, Error>;

    /// Looks at a cluster.
    async fn look(
        &self,
        rollout: &Rollout,
        cluster: &Name,
        revision: Option<&Revision>,
        now: Timestamp,
    ) -> Result<Observation, Error>;

    /// Asks a gate.
    async fn measure(&self, gate: &Gate, now: Timestamp) -> Result<Measurement, Error>;
}
