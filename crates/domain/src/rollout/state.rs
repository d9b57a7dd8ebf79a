//! All that is known of a rollout: what its row holds, and what [`decide`](super::decide()) makes a new one of.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::action::Action;
use super::cluster::{ClusterState, Watch};
use super::plan::{Wave, WaveKind};
use super::step::ActKey;
use super::strategy::Settings;
use super::target::Target;
use crate::access::{Environment, words};
use crate::approval::PlanHash;
use crate::id::RolloutId;
use crate::name::Name;
use crate::version::Version;

/// The format of a stored [`State`]; a server claims only what it understands.
pub const FORMAT: u32 = 1;

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
    /// How often people said no after the first change: whoever goes on then asks them anew.
    #[serde(default)]
    pub refusals: u32,
    /// What people agreed to: the changes, by environment.
    pub agreed: BTreeSet<(Environment, String)>,
    /// The waves that somebody promoted, by number.
    pub promoted: BTreeSet<usize>,
    /// The waves that passed.
    pub passed: usize,
    /// What further gates say in this wave.
    pub gates: BTreeMap<String, Watch>,
    /// The wave whose gates somebody went past.
    pub excused: Option<usize>,
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
            refusals: 0,
            agreed: BTreeSet::new(),
            promoted: BTreeSet::new(),
            passed: 0,
            gates: BTreeMap::new(),
            excused: None,
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

    /// The same, of clusters only this one with its target: all that is needed to change it or to look at it.
    #[must_use]
    pub fn about(&self, cluster: &Name) -> Self {
        let spec = &self.spec;
        let target = spec.targets.iter().find(|target| target.cluster == *cluster);
        let spec = Spec {
            rollout: spec.rollout,
            operator: spec.operator.clone(),
            version: spec.version.clone(),
            settings: spec.settings.clone(),
            targets: target.cloned().into_iter().collect(),
            smoke: spec.smoke,
            migrate: spec.migrate,
        };
        let here = self.clusters.get_key_value(cluster);
        Self {
            spec,
            waves: Vec::new(),
            status: self.status,
            phase: self.phase.clone(),
            since: self.since,
            clusters: here.into_iter().map(|(name, state)| (name.clone(), state.clone())).collect(),
            paused: self.paused.clone(),
            plan: self.plan.clone(),
            asks: self.asks,
            refusals: self.refusals,
            agreed: BTreeSet::new(),
            promoted: self.promoted.clone(),
            passed: self.passed,
            gates: self.gates.clone(),
            excused: self.excused,
            commands: self.commands,
            reason: self.reason.clone(),
            completed: self.completed,
            replaced_by: self.replaced_by,
            at: self.at,
        }
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
}

/// A time some while after another; the end of time where there is none.
pub(super) fn after(at: Timestamp, span: SignedDuration) -> Timestamp {
    at.checked_add(span).unwrap_or(Timestamp::MAX)
}
