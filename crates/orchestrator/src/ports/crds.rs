//! The CRDs that clusters run.

use async_trait::async_trait;
use serde_json::Value;
use slipway_domain::id::ClusterId;

/// Why a cluster's CRDs could not be read.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct LiveCrdsError {
    /// For people; no secret.
    pub message: String,
    /// What lies behind it.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Reads the CRDs that clusters run.
#[async_trait]
pub trait LiveCrds: Send + Sync {
    /// Those of the names that the cluster has, as its API server gives them.
    async fn live_crds(&self, cluster: ClusterId, names: &[String]) -> Result<Vec<Value>, LiveCrdsError>;
}
