//! One cluster of a rollout: how far it is, what it runs, what checks say of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::facts::Seen;
use super::state::after;
use super::step::{Before, Revision, Step, StepKind};
use crate::version::Version;

/// So many failed checks in a row make a cluster unhealthy.
pub const FAILURES: u32 = 3;

/// How far one cluster is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// It is not its turn.
    Waiting,
    /// It could not be reached before it was touched.
    Quarantined,
    /// A snapshot is taken.
    Snapshot,
    /// CRDs are applied.
    Crds,
    /// helm runs.
    Release,
    /// This revision has to be seen, and to be healthy.
    Settling,
    /// The smoke test runs.
    Smoke,
    /// Green is there and well; the switch comes later.
    Prepared,
    /// The switch is made.
    Switch,
    /// It has the version, and is watched.
    Done,
    /// It failed.
    Failed,
    /// It was left out, or not reached before the end.
    Skipped,
    /// It could not be reached for too long.
    GivenUp,
    /// The last known good version is restored.
    Restore,
    /// The switch is reversed.
    SwitchBack,
    /// What was restored has to be seen, and to be healthy.
    Recovering,
    /// Green is removed.
    RemoveGreen,
    /// CRDs go back, and custom resources are compared.
    ReturnCrds,
    /// It is as it was before.
    RolledBack,
    /// It could not be taken back.
    RollbackFailed,
}

impl Stage {
    /// The step that is done in it.
    pub fn step(self) -> Option<StepKind> {
        Some(match self {
            Self::Snapshot => StepKind::Snapshot,
            Self::Crds => StepKind::Crds,
            Self::Release => StepKind::Release,
            Self::Smoke => StepKind::Smoke,
            Self::Switch => StepKind::Switch,
            Self::Restore => StepKind::Restore,
            Self::SwitchBack => StepKind::SwitchBack,
            Self::RemoveGreen => StepKind::RemoveGreen,
            Self::ReturnCrds => StepKind::ReturnCrds,
            _ => return None,
        })
    }

    /// Whether the cluster is on its way forward.
    pub fn is_forward(self) -> bool {
        matches!(
            self,
            Self::Snapshot | Self::Crds | Self::Release | Self::Settling | Self::Smoke | Self::Switch
        )
    }

    /// Whether the cluster is on its way back.
    pub fn is_back(self) -> bool {
        matches!(
            self,
            Self::Restore | Self::SwitchBack | Self::Recovering | Self::RemoveGreen | Self::ReturnCrds
        )
    }

    /// Whether the cluster is being changed, in either direction.
    pub fn is_moving(self) -> bool {
        self.is_forward() || self.is_back()
    }
}

/// What a cluster runs, as far as is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Runs {
    /// What it ran before.
    #[default]
    Before,
    /// The version of this rollout.
    Target,
    /// A change was begun and not finished: either, or something in between.
    Between,
}

/// What checks say, of a cluster or of a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Watch {
    /// When it was last asked for.
    pub asked: Option<Timestamp>,
    /// When the last answer was made.
    pub seen: Option<Timestamp>,
    /// When it last passed.
    pub passed: Option<Timestamp>,
    /// How often it failed in a row.
    pub failures: u32,
    /// When the last failure that counts was seen.
    pub failed: Option<Timestamp>,
    /// Since when it cannot be reached.
    pub unreachable: Option<Timestamp>,
    /// What the last answer said.
    pub text: Option<String>,
}

impl Watch {
    /// Whether it failed often enough to count.
    pub fn is_bad(&self) -> bool {
        self.failures >= FAILURES
    }

    /// Takes an answer, once, in the order of their times. Failures closer together than half the interval
    /// are one, however often somebody looks.
    pub(super) fn take(&mut self, at: Timestamp, health: Seen, text: &str, interval: SignedDuration) -> bool {
        if self.seen.is_some_and(|seen| at <= seen) {
            return false;
        }
        self.seen = Some(at);
        self.text = Some(text.to_owned());
        match health {
            Seen::Passed => {
                self.passed = Some(at);
                self.failures = 0;
                self.failed = None;
            }
            Seen::Failed if self.failed.is_none_or(|failed| at >= after(failed, interval / 2)) => {
                self.failures = self.failures.saturating_add(1);
                self.failed = Some(at);
            }
            Seen::Failed | Seen::Undecided | Seen::Unreachable => {}
        }
        if health == Seen::Unreachable {
            self.unreachable.get_or_insert(at);
        } else {
            self.unreachable = None;
        }
        true
    }
}

/// What the last preflight said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fit {
    /// When.
    pub at: Timestamp,
    /// Of the change on this cluster.
    pub digest: String,
    /// The version that makes return impossible.
    pub one_way: Option<Version>,
}

/// One cluster of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterState {
    /// How far it is.
    pub stage: Stage,
    /// Since when.
    pub since: Timestamp,
    /// What is being done.
    pub step: Option<Step>,
    /// How often each step was tried.
    pub attempts: BTreeMap<StepKind, u32>,
    /// How often the present step failed in a row in a way that may pass.
    pub hiccups: u32,
    /// How often whoever was at the present step was lost, in a row.
    #[serde(default)]
    pub lost: u32,
    /// Not to be tried again before.
    pub retry_at: Option<Timestamp>,
    /// The last preflight that found nothing in the way.
    pub fit: Option<Fit>,
    /// When the first step that writes was begun.
    pub touched: Option<Timestamp>,
    /// What it ran before.
    pub before: Option<Before>,
    /// The revision that belongs to this rollout, or that was restored.
    pub revision: Option<Revision>,
    /// What it runs.
    pub runs: Runs,
    /// What checks say.
    pub watch: Watch,
    /// Whether it was done without looking at its health.
    pub unchecked: bool,
    /// Why it failed.
    pub problem: Option<String>,
    /// Whether somebody accepted that it failed.
    pub accepted: bool,
    /// Whether it is to be taken back.
    pub back: bool,
    /// Since when it cannot be reached.
    pub unreachable: Option<Timestamp>,
    /// What was done after completion.
    pub finished: BTreeSet<StepKind>,
    /// Things worth reading, oldest first.
    pub notes: Vec<String>,
}

impl ClusterState {
    /// Not touched yet.
    pub fn new(now: Timestamp) -> Self {
        Self {
            stage: Stage::Waiting,
            since: now,
            step: None,
            attempts: BTreeMap::new(),
            hiccups: 0,
            lost: 0,
            retry_at: None,
            fit: None,
            touched: None,
            before: None,
            revision: None,
            runs: Runs::Before,
            watch: Watch::default(),
            unchecked: false,
            problem: None,
            accepted: false,
            back: false,
            unreachable: None,
            finished: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    /// Whether it counts as failed now.
    pub fn failed(&self) -> bool {
        match self.stage {
            Stage::Failed => true,
            Stage::Done | Stage::Prepared => !self.unchecked && self.watch.is_bad(),
            _ => false,
        }
    }

    /// Whether a step was ever begun.
    pub fn tried(&self, kind: StepKind) -> bool {
        self.attempts.contains_key(&kind)
    }
}
