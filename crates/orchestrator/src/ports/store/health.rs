//! The health of operators.

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::health::{Baseline, Episode, Memory, OperatorHealth, Reason, Verdict};
use slipway_domain::id::{ClusterId, OperatorId};

use super::StoreError;
use crate::page::{Page, Window};

/// An operator on a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The cluster.
    pub cluster: ClusterId,
    /// The operator.
    pub operator: OperatorId,
}

/// What is kept of an operator on a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct HealthRecord {
    /// Which, and where.
    pub place: Place,
    /// What the last check found; nothing before the first.
    pub health: Option<OperatorHealth>,
    /// Since when the verdict is what it is.
    pub since: Option<Timestamp>,
    /// The run of failed checks it is in.
    pub episode: Episode,
    /// What is remembered from look to look.
    pub memory: Memory,
}

impl HealthRecord {
    /// Before the first check.
    pub fn new(place: Place) -> Self {
        Self { place, health: None, since: None, episode: Episode::default(), memory: Memory::default() }
    }

    /// The last verdict.
    pub fn verdict(&self) -> Verdict {
        self.health.as_ref().map_or(Verdict::Unknown, |health| health.verdict)
    }
}

/// One check in the history.
#[derive(Debug, Clone, PartialEq)]
pub struct HealthSample {
    /// When.
    pub at: Timestamp,
    /// What it found.
    pub verdict: Verdict,
    /// Whether the verdict before was another; such samples are kept for good.
    pub changed: bool,
    /// Why, unless all was well.
    pub reasons: Vec<Reason>,
    /// How many pods were ready, and how many had to be.
    pub pods: (u32, u32),
    /// The share of custom resources that ailed.
    pub error_rate: f64,
}

/// On how many clusters an operator has a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthCount {
    /// The operator.
    pub operator: OperatorId,
    /// The verdict.
    pub verdict: Verdict,
    /// On so many.
    pub clusters: u64,
}

/// Reads.
#[async_trait]
pub trait HealthRows: Send + Sync {
    /// What is kept of an operator on a cluster; nothing while nobody looks at it.
    async fn operator_health(&self, place: Place) -> Result<Option<HealthRecord>, StoreError>;

    /// What is kept of an operator on all clusters.
    async fn operator_health_everywhere(&self, operator: OperatorId)
    -> Result<Vec<HealthRecord>, StoreError>;

    /// The verdicts of all operators on one cluster.
    async fn health_on_cluster(&self, cluster: ClusterId) -> Result<Vec<(OperatorId, Verdict)>, StoreError>;

    /// The verdicts of all operators, counted.
    async fn health_counts(&self) -> Result<Vec<HealthCount>, StoreError>;

    /// All that is looked at.
    async fn health_places(&self) -> Result<Vec<Place>, StoreError>;

    /// The history of an operator on a cluster, the newest first; changes of the verdict only, or all.
    async fn health_history(
        &self,
        place: Place,
        only_changes: bool,
        window: Window,
    ) -> Result<Page<HealthSample>, StoreError>;

    /// What was broken at the time that its health is compared with.
    async fn health_baseline(&self, place: Place) -> Result<Option<Baseline>, StoreError>;

    /// Leaves one sample an hour of what is older; changes of the verdict all stay. How many went.
    async fn thin_health(&self, before: Timestamp) -> Result<u64, StoreError>;
}

/// Changes.
#[derive(Debug)]
#[non_exhaustive]
pub enum HealthWrite {
    /// It is looked at from now on; nothing changes where it is already.
    Watch(Place),
    /// A check: the record as it is now, and the sample for the history. Fails as stale where nobody looks
    /// at it any more.
    Record {
        /// The record.
        record: Box<HealthRecord>,
        /// The sample.
        sample: Box<HealthSample>,
    },
    /// What its health is compared with from now on.
    Baseline(Place, Box<Baseline>),
    /// It is not there any more: record, history and baseline go.
    Forget(Place),
}
