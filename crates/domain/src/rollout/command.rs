//! What people can do to a rollout while it goes on, and after.
//!
//! A use case checks with [`Command::check`] and writes the command as a row with the next number; the next
//! decision follows it. Doing the same twice is doing it once: a number counts once, and what is so already
//! is no error.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::cluster::Stage;
use super::plan::WaveKind;
use super::state::{Part, Phase, State, Status};
use crate::id::RolloutId;
use crate::name::Name;

/// Something that somebody wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "command")]
pub enum Command {
    /// Nothing new begins; what runs finishes, and what hurts is still taken back.
    Pause {
        /// Why.
        reason: String,
    },
    /// It goes on; what went wrong so far is accepted.
    Resume,
    /// Running clusters finish, the others are left out, nothing else is taken back.
    Cancel {
        /// Why.
        reason: String,
    },
    /// Clusters that failed, were left out or could not be taken back are tried again.
    Retry {
        /// Which; all of them where nothing is said.
        clusters: Option<BTreeSet<Name>>,
    },
    /// A cluster is left out, or its failure accepted.
    Skip {
        /// Which.
        cluster: Name,
    },
    /// It goes on without waiting: into an environment or a switch that waits for this, past a soak or a rest.
    Promote,
    /// It is watched for longer.
    ExtendSoak {
        /// By so much.
        by: SignedDuration,
    },
    /// It is taken back.
    RollBack {
        /// Why.
        reason: String,
        /// Which clusters; all that were touched where nothing is said.
        clusters: Option<BTreeSet<Name>>,
        /// Whether stored objects may be rewritten to an older version where return needs it.
        down_migrate: bool,
    },
    /// A newer one takes its place.
    Supersede {
        /// Which.
        by: RolloutId,
    },
}

/// A command as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Numbered {
    /// Counted from 1, without gaps, by rollout.
    pub number: u64,
    /// Who.
    pub by: String,
    /// What.
    pub command: Command,
}

/// Why something cannot be done to a rollout now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is over.
    #[error("it is {0} already")]
    Over(Status),
    /// It is being taken back.
    #[error("it is being taken back")]
    GoingBack,
    /// No cluster was changed.
    #[error("no cluster was changed yet, so there is nothing to take back; cancel it instead")]
    Untouched,
    /// A newer one took its place.
    #[error("deployment {0} took its place; take that one back")]
    Replaced(RolloutId),
    /// There is nothing that waits for it.
    #[error("nothing waits for that now: {0}")]
    Nothing(&'static str),
    /// Some clusters do not fit.
    #[error("{clusters}: {why}")]
    Clusters {
        /// Which.
        clusters: String,
        /// Why.
        why: &'static str,
    },
}

impl Command {
    /// The word for news and audit.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pause { .. } => "pause",
            Self::Resume => "resume",
            Self::Cancel { .. } => "cancel",
            Self::Retry { .. } => "retry",
            Self::Skip { .. } => "skip",
            Self::Promote => "promote",
            Self::ExtendSoak { .. } => "extend",
            Self::RollBack { .. } => "rollback",
            Self::Supersede { .. } => "supersede",
        }
    }

    /// Whether it can be done now.
    pub fn check(&self, state: &State) -> Result<(), Refusal> {
        let going = || if state.status.is_end() { Err(Refusal::Over(state.status)) } else { Ok(()) };
        match self {
            Self::Resume if state.paused.is_none() => Ok(()),
            Self::Pause { .. } | Self::Resume => going(),
            Self::Cancel { .. } => match state.phase {
                _ if state.status == Status::Cancelled => Ok(()),
                Phase::Back(_) => Err(Refusal::GoingBack),
                _ => going(),
            },
            Self::Retry { clusters } => retry(state, clusters.as_ref()),
            Self::Skip { cluster } => skip(state, cluster),
            Self::Promote => match &state.phase {
                Phase::Wave { part: Part::Opening | Part::Soaking { .. } | Part::Resting { .. }, .. } => {
                    Ok(())
                }
                _ => going().and(Err(Refusal::Nothing("no wave waits for time or for somebody"))),
            },
            Self::ExtendSoak { .. } => match &state.phase {
                Phase::Wave { part: Part::Soaking { .. }, .. } => Ok(()),
                _ => going().and(Err(Refusal::Nothing("no wave is being watched"))),
            },
            Self::RollBack { clusters, .. } => roll_back(state, clusters.as_ref()),
            Self::Supersede { .. } => match state.status {
                _ if state.status.is_end() => Ok(()),
                _ if state.touched() => Err(Refusal::Nothing("clusters are being changed; cancel it first")),
                _ => Ok(()),
            },
        }
    }
}

/// Whether a cluster can be tried again: forward while its wave goes on or when all ended half-way, back where
/// taking it back failed.
pub(super) fn again(state: &State, name: &Name) -> bool {
    let Some(cluster) = state.clusters.get(name) else { return false };
    let in_turn = match &state.phase {
        Phase::Wave { index, .. } => state
            .waves
            .get(*index)
            .is_some_and(|wave| wave.kind != WaveKind::Switch && wave.clusters.contains(name)),
        Phase::Over | Phase::CatchUp => true,
        _ => false,
    };
    match cluster.stage {
        Stage::Failed => in_turn,
        Stage::RollbackFailed => true,
        Stage::GivenUp | Stage::Skipped | Stage::RolledBack => state.status == Status::Failed,
        Stage::Done => state.status == Status::Failed && cluster.failed(),
        _ => false,
    }
}

fn retry(state: &State, wanted: Option<&BTreeSet<Name>>) -> Result<(), Refusal> {
    match (state.status, &state.phase) {
        (Status::Completed | Status::RolledBack | Status::Cancelled, _) => {
            return Err(Refusal::Over(state.status));
        }
        (_, Phase::Back(_)) => return Err(Refusal::GoingBack),
        (_, Phase::Cancelling { .. }) => return Err(Refusal::Nothing("it is being cancelled")),
        _ => {}
    }
    if let Some(wanted) = wanted {
        let unfit = wanted.iter().filter(|name| !again(state, name));
        return named(unfit, "cannot be tried again now: it did not fail, or its wave is over");
    }
    if state.clusters.keys().any(|name| again(state, name)) {
        Ok(())
    } else {
        Err(Refusal::Nothing("no cluster failed"))
    }
}

fn skip(state: &State, name: &Name) -> Result<(), Refusal> {
    if state.status.is_end() {
        return Err(Refusal::Over(state.status));
    }
    let fits = state.clusters.get(name).is_some_and(|cluster| {
        matches!(cluster.stage, Stage::Waiting | Stage::Quarantined | Stage::Skipped | Stage::GivenUp)
            || cluster.failed()
    });
    if fits { Ok(()) } else { named([name].into_iter(), "is no target, or is being changed already") }
}

fn roll_back(state: &State, wanted: Option<&BTreeSet<Name>>) -> Result<(), Refusal> {
    if let Some(newer) = state.replaced_by {
        return Err(Refusal::Replaced(newer));
    }
    if state.status == Status::RolledBack && wanted.is_none() {
        return Ok(());
    }
    if !state.touched() {
        return Err(if state.status.is_end() { Refusal::Over(state.status) } else { Refusal::Untouched });
    }
    let Some(wanted) = wanted else { return Ok(()) };
    let untouched = |name: &&Name| state.clusters.get(*name).is_none_or(|cluster| cluster.touched.is_none());
    named(wanted.iter().filter(untouched), "was not changed by this deployment")
}

fn named<'a>(unfit: impl Iterator<Item = &'a Name>, why: &'static str) -> Result<(), Refusal> {
    let clusters: Vec<&str> = unfit.map(Name::as_str).collect();
    if clusters.is_empty() { Ok(()) } else { Err(Refusal::Clusters { clusters: clusters.join(", "), why }) }
}
