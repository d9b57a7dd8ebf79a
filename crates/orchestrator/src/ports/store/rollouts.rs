//! Rollouts.

use std::collections::BTreeMap;
use std::ops::Deref;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Map, Value};
use slipway_domain::access::Environment;
use slipway_domain::approval::Starter;
use slipway_domain::id::{ClusterId, OperatorId, RolloutId};
use slipway_domain::name::Name;
use slipway_domain::preflight::Preflight;
use slipway_domain::rollout::{
    ActKey, Command, Measurement, Numbered, Observation, Outcome, Report, State, Status, StrategyKind,
};
use slipway_domain::version::Version;

use super::StoreError;
use super::operators::Sealed;
use crate::page::{Page, Window};
use crate::ports::fleet::Placement;

/// A rollout as its row holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rollout {
    /// Which.
    pub id: RolloutId,
    /// The operator.
    pub operator: OperatorId,
    /// All that is decided.
    pub state: State,
    /// Where the operator is on each cluster.
    pub placements: BTreeMap<Name, Placement>,
    /// What most of the targets ran when it began.
    pub previous_version: Option<Version>,
    /// Who started it.
    pub starter: Starter,
    /// Why an admin goes past approvals, where one does.
    pub emergency: Option<String>,
    /// The objects that may be deleted, as somebody named them.
    pub may_delete: Vec<String>,
    /// The trace of the request that began it, as a W3C `traceparent`.
    pub trace: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When the first cluster was touched.
    pub started_at: Option<Timestamp>,
    /// When it ended, the last time.
    pub ended_at: Option<Timestamp>,
    /// Grows with each change of the state.
    pub version: i64,
}

/// A rollout as far as one cluster is concerned: of clusters, targets and placements only that one's, and no waves.
/// A step needs no more, and a fleet may be large. It can be read, and never written.
#[derive(Debug, Clone, PartialEq)]
pub struct Excerpt(Rollout);

impl Excerpt {
    /// Of a rollout; nothing where the cluster is no target of it.
    pub fn of(rollout: &Rollout, cluster: &Name) -> Option<Self> {
        rollout.state.clusters.get(cluster)?;
        let here = rollout.placements.get_key_value(cluster);
        Some(Self(Rollout {
            id: rollout.id,
            operator: rollout.operator,
            state: rollout.state.about(cluster),
            placements: here.into_iter().map(|(name, place)| (name.clone(), place.clone())).collect(),
            previous_version: rollout.previous_version.clone(),
            starter: rollout.starter.clone(),
            emergency: rollout.emergency.clone(),
            may_delete: rollout.may_delete.clone(),
            trace: rollout.trace.clone(),
            created_at: rollout.created_at,
            started_at: rollout.started_at,
            ended_at: rollout.ended_at,
            version: rollout.version,
        }))
    }

    /// Of what a database gave, which left out the rest already.
    pub fn of_row(rollout: Rollout) -> Self {
        Self(rollout)
    }
}

impl Deref for Excerpt {
    type Target = Rollout;

    fn deref(&self) -> &Rollout {
        &self.0
    }
}

/// Which rollouts are wanted; nothing set means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RolloutFilter {
    /// In this status.
    pub status: Option<Status>,
    /// Of this operator.
    pub operator: Option<String>,
    /// That go to this cluster.
    pub cluster: Option<String>,
    /// With this strategy.
    pub strategy: Option<StrategyKind>,
    /// That go to this environment.
    pub environment: Option<Environment>,
    /// Only those that have not ended, or only those that have.
    pub active: Option<bool>,
    /// Started by somebody of this name.
    pub started_by: Option<String>,
}

/// What was recorded for a rollout beside its state, as far as a decision may still need it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    /// Outcomes of steps that the state still holds as under way.
    pub reports: Vec<Report>,
    /// The latest look at each cluster.
    pub observations: BTreeMap<Name, Observation>,
    /// The latest answer of each gate.
    pub measurements: BTreeMap<String, Measurement>,
    /// The commands that the state has not followed yet, oldest first.
    pub commands: Vec<Numbered>,
}

/// A step of a cluster: its intent, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    /// Which.
    pub key: ActKey,
    /// When it was intended.
    pub intended_at: Timestamp,
    /// When the attempt is over whatever happens.
    pub deadline: Timestamp,
    /// The epoch of the claim under which it was begun last; nothing before.
    pub begun: Option<i64>,
    /// When it was begun first.
    pub begun_at: Option<Timestamp>,
    /// What came of it.
    pub outcome: Option<Outcome>,
    /// When that was recorded.
    pub ended_at: Option<Timestamp>,
}

/// Something that happened in a rollout.
#[derive(Debug, Clone, PartialEq)]
pub struct RolloutNews {
    /// Counted from 1, without gaps, by rollout.
    pub number: i64,
    /// When.
    pub at: Timestamp,
    /// In a word.
    pub kind: String,
    /// On which cluster.
    pub cluster: Option<Name>,
    /// In a sentence.
    pub text: String,
}

/// Reads.
#[async_trait]
pub trait RolloutRows: Send + Sync {
    /// The time of the database: what servers compare with, whatever their clocks say.
    async fn time(&self) -> Result<Timestamp, StoreError>;

    /// One.
    async fn rollout(&self, id: RolloutId) -> Result<Option<Rollout>, StoreError>;

    /// One, as far as a cluster is concerned; nothing where that is no target of it.
    async fn rollout_about(&self, id: RolloutId, cluster: &Name) -> Result<Option<Excerpt>, StoreError>;

    /// Those whose id begins so; people name them by the first few digits. Three at most.
    async fn rollouts_like(&self, beginning: &str) -> Result<Vec<RolloutId>, StoreError>;

    /// The newest first.
    async fn rollouts(&self, filter: &RolloutFilter, window: Window) -> Result<Page<Rollout>, StoreError>;

    /// What was recorded beside the state.
    async fn recorded(&self, id: RolloutId) -> Result<Recorded, StoreError>;

    /// One step.
    async fn step(&self, id: RolloutId, key: &ActKey) -> Result<Option<StepRow>, StoreError>;

    /// All steps, in the order in which they were intended.
    async fn steps(&self, id: RolloutId) -> Result<Vec<StepRow>, StoreError>;

    /// What the last preflights said, by cluster.
    async fn preflights(&self, id: RolloutId) -> Result<BTreeMap<Name, Preflight>, StoreError>;

    /// What was kept of a cluster, sealed.
    async fn snapshot(&self, id: RolloutId, cluster: &Name) -> Result<Option<Sealed>, StoreError>;

    /// The values that somebody gave, sealed.
    async fn rollout_values(&self, id: RolloutId) -> Result<Option<Sealed>, StoreError>;

    /// Which rollouts hold an operator on these clusters.
    async fn reservations(
        &self,
        operator: OperatorId,
        clusters: &[ClusterId],
    ) -> Result<Vec<(ClusterId, RolloutId)>, StoreError>;

    /// Which rollouts hold an operator, wherever it is.
    async fn rollouts_of(&self, operator: OperatorId) -> Result<Vec<RolloutId>, StoreError>;

    /// Which rollouts hold something on a cluster.
    async fn rollouts_on(&self, cluster: ClusterId) -> Result<Vec<RolloutId>, StoreError>;

    /// How many have not ended.
    async fn active_rollouts(&self) -> Result<u64, StoreError>;

    /// What happened, after a number, oldest first.
    async fn rollout_news(
        &self,
        id: RolloutId,
        after: i64,
        most: u32,
    ) -> Result<Vec<RolloutNews>, StoreError>;

    /// The last rollout that was completed for an operator on a cluster, this one aside.
    async fn completed_before(
        &self,
        operator: OperatorId,
        cluster: &Name,
        than: RolloutId,
    ) -> Result<Option<RolloutId>, StoreError>;
}

/// Changes.
#[derive(Debug)]
#[non_exhaustive]
pub enum RolloutWrite {
    /// A new one, with its reservations (the constraint [`RESERVED`]) and the values that were given.
    Begin {
        /// The row.
        rollout: Box<Rollout>,
        /// The values, sealed.
        values: Sealed,
    },
    /// What was decided, if the row still has that version. Reservations are freed at the end, and taken
    /// again when it is taken up after one.
    Decide {
        /// As it is from now on, with the version before.
        rollout: Box<Rollout>,
        /// What happened.
        news: Vec<Happened>,
    },
    /// A step is intended.
    Intend {
        /// Of which rollout.
        rollout: RolloutId,
        /// Which.
        key: ActKey,
        /// When the attempt is over.
        deadline: Timestamp,
    },
    /// A step is begun, under an epoch.
    BeginStep {
        /// Of which rollout.
        rollout: RolloutId,
        /// Which.
        key: ActKey,
        /// The epoch of the claim.
        epoch: i64,
    },
    /// What came of a step; the first word stands.
    EndStep {
        /// Of which rollout.
        rollout: RolloutId,
        /// Which.
        key: ActKey,
        /// What came of it.
        outcome: Box<Outcome>,
    },
    /// The latest look at a cluster.
    Observe {
        /// Of which rollout.
        rollout: RolloutId,
        /// Which cluster.
        cluster: Name,
        /// What was seen.
        observation: Observation,
    },
    /// The latest answer of a gate.
    Measure {
        /// Of which rollout.
        rollout: RolloutId,
        /// Which gate.
        gate: String,
        /// What it said.
        measurement: Measurement,
    },
    /// What a preflight said about a cluster.
    Preflight {
        /// Of which rollout.
        rollout: RolloutId,
        /// Which cluster.
        cluster: Name,
        /// What it said.
        preflight: Box<Preflight>,
    },
    /// What was there before a cluster was touched.
    Keep {
        /// Of which rollout.
        rollout: RolloutId,
        /// Which cluster.
        cluster: Name,
        /// The snapshot, sealed.
        snapshot: Sealed,
    },
    /// Somebody wants something; it gets the next number. If the row still has that version: what was
    /// checked is what it is about.
    Command {
        /// Of which rollout.
        rollout: RolloutId,
        /// The version that was looked at.
        version: i64,
        /// Who.
        by: String,
        /// What.
        command: Box<Command>,
    },
}

/// Something that happened, before it has a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Happened {
    /// In a word.
    pub kind: String,
    /// On which cluster.
    pub cluster: Option<Name>,
    /// In a sentence.
    pub text: String,
}

/// The constraint of one active rollout per operator and cluster.
pub const RESERVED: &str = "rollout_reservations_pkey";

/// The constraint of an operator that is being rolled out: it cannot be removed.
pub const RESERVED_OPERATOR: &str = "rollout_reservations_operator_id_fkey";

/// Values as they are sealed: what somebody gave with the request.
pub type GivenValues = Map<String, Value>;
