//! All that is known of a rollout: what its row holds, and what [`decide`](super::decide()) makes a new one of.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::action::Action;
use super::facts::Seen;
use super::plan::{Wave, WaveKind};
use super::step::{ActKey, Before, Revision, Step, StepKind};
use super::strategy::Settings;
use super::target::Target;
use crate::access::{Environment, words};
use crate::approval::PlanHash;
use crate::id::RolloutId;
use crate::name::Name;
use crate::version::Version;

/// The format of a stored [`State`]; a server claims only what it understands.
pub const FORMAT: u32 = 1;

/// So many failed checks in a row make a cluster unhealthy.
pub const FAILURES: u32 = 3;

/// What a rollout is about; it never changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// Which.
    pub rollout: RolloutId,
    /// The operator.
    pub operator: Name,
    /// The version it gets.
    pub version: Version,
    /// How.
    pub settings: Settings,
    /// Where.
    pub targets: Vec<Target>,
    /// Whether the profile names a smoke test.
    pub smoke: bool,
    /// Whether stored objects are migrated once nothing is taken back by itself any more.
    pub migrate: bool,
}

/// How far a rollout is, as everybody sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Status {
    /// Preflight and approvals; nothing is touched.
    Planning,
    /// Clusters are being changed.
    Deploying,
    /// What was changed is watched.
    Validating,
    /// Every target is on the version.
    Completed,
    /// It is being taken back.
    RollingBack,
    /// It was taken back.
    RolledBack,
    /// It ended otherwise.
    Failed,
    /// Somebody ended it.
    Cancelled,
}

words!(Status: Planning, Deploying, Validating, Completed, RollingBack, RolledBack, Failed, Cancelled);

impl Status {
    /// Whether it is over, unless somebody takes it up again.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::RolledBack | Self::Failed | Self::Cancelled)
    }
}

/// What happens now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "phase")]
pub enum Phase {
    /// Every target is looked at.
    Preflight,
    /// People are asked.
    Consent,
    /// A wave, by its number from 0.
    Wave {
        /// Which.
        index: usize,
        /// How far it is.
        part: Part,
    },
    /// Clusters that could not be reached are waited for.
    CatchUp,
    /// It is being taken back.
    Back(Back),
    /// Running clusters finish, and no other begins.
    Cancelling {
        /// Who, and why.
        reason: String,
    },
    /// Completed, and still taken back by itself until then.
    Watching {
        /// Until when.
        until: Timestamp,
    },
    /// Completed; what is left is migration and the removal of blue.
    Aftercare {
        /// When blue is removed.
        retire_at: Option<Timestamp>,
    },
    /// Nothing.
    Over,
}

/// How far a wave is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "part")]
pub enum Part {
    /// Windows, approvals and a fresh preflight come before the first change.
    Opening,
    /// Clusters are changed, batch by batch.
    Walking,
    /// It is watched.
    Soaking {
        /// Until when.
        until: Timestamp,
    },
    /// It passed, and the next one waits.
    Resting {
        /// Until when.
        until: Timestamp,
    },
}

/// A rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Back {
    /// Why.
    pub reason: String,
    /// Whether it began by itself.
    pub automatic: bool,
    /// Whether stored objects may be rewritten to an older version where return needs it.
    pub down_migrate: bool,
}

/// Why nothing new begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// Since when.
    pub since: Timestamp,
    /// Why, in words.
    pub reason: String,
    /// Whether it paused by itself; resuming then accepts what went wrong.
    pub automatic: bool,
}

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

/// All that is known of a rollout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// What it is about.
    pub spec: Spec,
    /// The waves; those that catch up or are tried again are added at the end.
    pub waves: Vec<Wave>,
    /// How far it is, as everybody sees it.
    pub status: Status,
    /// What happens now.
    pub phase: Phase,
    /// Since when.
    pub since: Timestamp,
    /// The clusters.
    pub clusters: BTreeMap<Name, ClusterState>,
    /// Why nothing new begins.
    pub paused: Option<Pause>,
    /// The plan that people are or were asked about.
    pub plan: Option<PlanHash>,
    /// How often people were asked: tells an answer from one to an earlier question.
    pub asks: u32,
    /// What people agreed to: the changes, by environment.
    pub agreed: BTreeSet<(Environment, String)>,
    /// The waves that somebody promoted, by number.
    pub promoted: BTreeSet<usize>,
    /// The waves that passed.
    pub passed: usize,
    /// What further gates say in this wave.
    pub gates: BTreeMap<String, Watch>,
    /// The number of the last command that was followed.
    pub commands: u64,
    /// Why it ended as it did.
    pub reason: Option<String>,
    /// When it was completed.
    pub completed: Option<Timestamp>,
    /// What took its place.
    pub replaced_by: Option<RolloutId>,
    /// The time of the last decision; time never goes back.
    pub at: Timestamp,
}

impl State {
    /// A rollout that begins.
    pub fn new(spec: Spec, waves: Vec<Wave>, now: Timestamp) -> Self {
        let clusters =
            spec.targets.iter().map(|target| (target.cluster.clone(), ClusterState::new(now))).collect();
        Self {
            spec,
            waves,
            status: Status::Planning,
            phase: Phase::Preflight,
            since: now,
            clusters,
            paused: None,
            plan: None,
            asks: 0,
            agreed: BTreeSet::new(),
            promoted: BTreeSet::new(),
            passed: 0,
            gates: BTreeMap::new(),
            commands: 0,
            reason: None,
            completed: None,
            replaced_by: None,
            at: now,
        }
    }

    /// The acts whose intent is written and whose outcome is not: what a server that takes over drives on.
    pub fn open(&self) -> Vec<Action> {
        let act = |(cluster, state): (&Name, &ClusterState)| {
            let step = state.step.as_ref()?;
            let key = ActKey { cluster: cluster.clone(), kind: step.kind, attempt: step.attempt };
            Some(Action::Act { key, deadline: step.deadline })
        };
        self.clusters.iter().filter_map(act).collect()
    }

    /// The environment of a target.
    pub fn environment(&self, cluster: &Name) -> Environment {
        let target = self.spec.targets.iter().find(|target| target.cluster == *cluster);
        target.map_or(Environment::Production, |target| target.environment)
    }

    /// Whether any cluster was changed.
    pub fn touched(&self) -> bool {
        self.clusters.values().any(|cluster| cluster.touched.is_some())
    }

    /// How many clusters may be changed at once where this one is: the smallest limit of its waves.
    pub fn at_once(&self, cluster: &Name) -> usize {
        let waves = self.waves.iter().filter(|wave| wave.kind != WaveKind::Prepare);
        let limits = waves.filter(|wave| wave.clusters.contains(cluster)).map(|wave| wave.at_once);
        limits.min().unwrap_or(1).max(1)
    }

    /// How much of the way is behind it, from 0 to 100: for a bar.
    pub fn progress(&self) -> u8 {
        let settled = |cluster: &&ClusterState| {
            !cluster.stage.is_moving() && !matches!(cluster.stage, Stage::Waiting | Stage::Prepared)
        };
        let done = self.clusters.values().filter(settled).count();
        let share = done * 100 / self.clusters.len().max(1);
        // The last bit of the bar belongs to the soak of the last wave.
        if self.status.is_end() { 100 } else { u8::try_from(share.min(99)).unwrap_or(99) }
    }
}

/// A time some while after another; the end of time where there is none.
pub(super) fn after(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.checked_add(span).unwrap_or(Timestamp::MAX)
}
