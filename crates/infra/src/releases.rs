//! What is installed on clusters: helm's releases, read from where helm keeps them.
//!
//! Read through the Kubernetes API rather than with the helm program: one list of metadata per look, and
//! one Secret per release that changed. Nothing is written.

pub(crate) mod decode;
mod discover;
pub(crate) mod manager;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use moka::future::Cache;
use slipway_domain::id::ClusterId;
use slipway_orchestrator::ports::Releases;
use slipway_orchestrator::ports::releases::{FoundRelease, ReleasesError};

use crate::kubernetes::Connections;

/// Helm's releases on clusters.
pub struct HelmReleases {
    connections: Arc<Connections>,
    /// Releases that were read, by cluster, uid and resource version of their Secret: those never change.
    known: Cache<(ClusterId, String, String), Arc<FoundRelease>>,
    timeout: Duration,
}

impl HelmReleases {
    /// On these connections.
    pub fn new(connections: Arc<Connections>) -> Self {
        Self {
            connections,
            known: Cache::builder().max_capacity(20_000).time_to_idle(Duration::from_mins(30)).build(),
            timeout: Duration::from_secs(30),
        }
    }
}

#[async_trait]
impl Releases for HelmReleases {
    #[tracing::instrument(name = "releases.discover", skip_all, fields(cluster = %cluster))]
    async fn discover(&self, cluster: ClusterId) -> Result<Vec<FoundRelease>, ReleasesError> {
        let client = self.connections.client(cluster).await.map_err(|error| {
            let why =
                std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            ReleasesError::Unreadable(why)
        })?;
        tokio::time::timeout(self.timeout, self.look(cluster, client)).await.unwrap_or_else(|_| {
            Err(ReleasesError::Unreachable(format!("it took longer than {} seconds", self.timeout.as_secs())))
        })
    }
}
