//! What was measured of one operator.

use std::time::Duration;

use super::super::usage::Memory;
use super::audit::Tally;
use super::contestant::Contestant;
use super::latency::Percentiles;

/// Something that was done to many Applications at once.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub(super) objects: usize,
    /// Until the last request was answered.
    pub(super) sent: Duration,
    /// From the first request until the last Application was as it should be.
    pub(super) converged: Duration,
    pub(super) processor: Duration,
    pub(super) tally: Tally,
    pub(super) reconciles: f64,
    pub(super) reconcile: Option<Percentiles>,
}

/// A time in which nothing was done to the Applications.
#[derive(Debug, Clone)]
pub(super) struct Idle {
    pub(super) millicores: f64,
    pub(super) memory: Memory,
    pub(super) tally: Tally,
    pub(super) reconciles: f64,
}

/// The deletion of all Applications.
#[derive(Debug, Clone)]
pub(super) struct Deletion {
    /// Until no Application was left.
    pub(super) applications: Duration,
    /// Until nothing was left.
    pub(super) gone: Duration,
    pub(super) left: Vec<String>,
    pub(super) tally: Tally,
    pub(super) processor: Duration,
}

/// Many more Applications.
#[derive(Debug, Clone)]
pub(super) struct Large {
    pub(super) work: Work,
    pub(super) idle: Idle,
}

/// All of it.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    pub(super) contestant: Contestant,
    pub(super) objects: usize,
    pub(super) kubernetes: String,
    /// From the start of the process.
    pub(super) ready: Duration,
    pub(super) first_reconcile: Duration,
    /// From the start of the process, with all Applications there.
    pub(super) restarted: Duration,
    pub(super) empty: Idle,
    pub(super) created: Work,
    pub(super) updated: Work,
    pub(super) idle: Idle,
    pub(super) resynced: Idle,
    pub(super) validate: Percentiles,
    pub(super) mutate: Percentiles,
    pub(super) dry_run: Percentiles,
    pub(super) deleted: Deletion,
    pub(super) large: Option<Large>,
}
