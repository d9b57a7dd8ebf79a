//! Helm releases on clusters.

use std::fmt;

use async_trait::async_trait;
use serde_json::{Map, Value};
use slipway_domain::id::ClusterId;
use slipway_domain::operator::Seen;

/// A release that was found on a cluster, or what another tool installed without one.
#[derive(Clone, PartialEq)]
pub struct FoundRelease {
    /// What everybody may see.
    pub seen: Seen,
    /// The values that somebody gave to it. They may hold secrets: they are sealed before they are kept.
    pub values: Map<String, Value>,
}

impl fmt::Debug for FoundRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FoundRelease").field("seen", &self.seen).finish_non_exhaustive()
    }
}

/// Why the releases of a cluster could not be read. The texts hold no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReleasesError {
    /// The cluster does not answer.
    #[error("it does not answer: {0}")]
    Unreachable(String),
    /// The cluster does not let us read them.
    #[error("it does not let Slipway read its releases: {0}")]
    Forbidden(String),
    /// Its answer makes no sense, or the credential cannot be used.
    #[error("its releases cannot be read: {0}")]
    Unreadable(String),
}

/// Helm releases on clusters. A server that does not look for them says so.
#[async_trait]
pub trait Releases: Send + Sync {
    /// Everything that is installed on a cluster, by helm or by a tool that is known; the newest revision
    /// of each.
    async fn discover(&self, _cluster: ClusterId) -> Result<Vec<FoundRelease>, ReleasesError> {
        Err(ReleasesError::Unreadable("this server does not look for releases".to_owned()))
    }
}
