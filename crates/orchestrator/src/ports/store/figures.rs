//! How much there is of everything, for the figures that a server shows.

use async_trait::async_trait;
use slipway_domain::cluster::HealthStatus;
use slipway_domain::health::Verdict;

use super::StoreError;

/// How much there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Operators.
    pub operators: u64,
    /// Clusters, by how they are.
    pub clusters: Vec<(HealthStatus, u64)>,
    /// Operators on clusters, by how they are there.
    pub operator_health: Vec<(Verdict, u64)>,
    /// Releases that are not as they were released any more.
    pub drifted: u64,
    /// Approvals that wait.
    pub approvals_pending: u64,
    /// Messages that are not sent yet.
    pub messages_waiting: u64,
}

/// Counts.
#[async_trait]
pub trait FigureRows: Send + Sync {
    /// How much there is now.
    async fn figures(&self) -> Result<Figures, StoreError>;
}
