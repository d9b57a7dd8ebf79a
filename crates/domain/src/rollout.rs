//! Rollouts; on the wire, deployments: how a version goes out over a fleet, and comes back where it hurts.
//!
//! [`read`](read()) makes settings, targets and waves of a request. [`decide`](decide()) is the heart: it takes
//! the [`State`] of a rollout, the [`Facts`] that were recorded and the time, and gives a new state with what
//! is to be done. [`why`](why()) says what a rollout waits for. Nothing here waits, acts or looks.
//!
//! # How the engine drives it
//!
//! 1. It claims the rollout's row when it is due, and reads state and facts: outcomes of steps, the latest
//!    look at each cluster, answers of gates, approvals, windows, commands.
//! 2. It decides, and commits the new state in one fenced transaction with everything that follows from it:
//!    for each [`Action::Act`] a step row and its *intent* (key, epoch, deadline), for [`Action::Ask`] the
//!    approvals, the [`News`] as events, messages and audit, and the time it is due again. Where the epoch is
//!    no more its own, nothing is written and nothing is done.
//! 3. Only then it acts. A step is a row of its own, which any server may claim; its [`ActKey`] is the
//!    idempotency key that is stamped on the release. A server that takes over drives [`State::open`] on under
//!    the same keys, looks first, and acts only once the earlier attempt is provably over. Going on with
//!    another attempt is decided here, and only after an outcome of the last one was recorded.
//! 4. Outcomes are recorded as [`Report`]s. One that comes twice, late, or of another attempt changes nothing.
//!
//! [`Action::Look`] and [`Action::Measure`] only read: they need no intent, and one that is lost is asked for
//! again. A cold green runs no pods before its switch; whoever looks reports it as passed when it is as it has
//! to be then. Reservations are taken with the row and freed when [`Status::is_end`]; a retry after the end
//! takes them again first.

mod action;
mod amount;
mod cluster;
mod command;
mod decide;
mod facts;
mod gate;
mod hash;
mod plan;
mod progress;
mod read;
#[cfg(test)]
mod simulation;
mod state;
mod step;
mod strategy;
mod target;
#[cfg(test)]
mod tests;
mod why;

pub use action::{Action, Decision, News};
pub use amount::{Amount, Percent, Share};
pub use cluster::{ClusterState, FAILURES, Fit, Runs, Stage, Watch};
pub use command::{Command, Numbered, Refusal};
pub use decide::decide;
pub use facts::{Consent, Facts, Measurement, Observation, Seen};
pub use gate::{Condition, Gate, Probe};
pub use plan::{Selector, Wave, WaveKind, plan};
pub use progress::RollbackProgress;
pub use read::{Wanted, read};
pub use state::{Back, FORMAT, Part, Pause, Phase, Spec, State, Status};
pub use step::{ActKey, Before, Found, Outcome, Report, Revision, Step, StepKind};
pub use strategy::{
    BlueGreen, Canary, Direct, Ladder, RollbackScope, Rolling, Settings, Strategy, StrategyKind,
};
pub use target::Target;
pub use why::{Wait, Why, why};
