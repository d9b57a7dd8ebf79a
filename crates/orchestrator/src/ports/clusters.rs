//! Kubernetes clusters, as far as the manager looks at them and writes to them.

use async_trait::async_trait;
use slipway_domain::cluster::{Observation, Unreachable};
use slipway_domain::id::ClusterId;
use slipway_domain::problem::Problems;

use crate::clusters::access::{ClusterAccess, Secret};
use crate::error::Error;

/// What somebody sent to reach a cluster with.
#[derive(Debug)]
pub enum GivenAccess {
    /// A kubeconfig in base64.
    Kubeconfig(Secret),
    /// The parts of one.
    Parts {
        /// The address of the API server.
        server: String,
        /// The authorities that sign its certificate, PEM in base64.
        authority: Option<String>,
        /// The name in its certificate.
        server_name: Option<String>,
        /// The token.
        token: Secret,
    },
}

/// What a look at a cluster gave.
pub type Seen = Result<Observation, Unreachable>;

/// Why something was not done on a cluster.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// It cannot be reached.
    #[error("{0}")]
    Unreachable(Unreachable),
    /// It does not let us.
    #[error("it does not allow us to {doing} (403)")]
    Forbidden {
        /// What was tried: `request a token for a/b`.
        doing: String,
    },
    /// The credential is none that a cluster gives out.
    #[error("its credential is not the token of a ServiceAccount, so the cluster gives out no other")]
    NotRenewable,
    /// It refused for another reason.
    #[error("it refused to {doing}: {why}")]
    Refused {
        /// What was tried.
        doing: String,
        /// What it said.
        why: String,
    },
}

/// Which Secret a new token is bound to; deleting that Secret revokes the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// The one that the present token is bound to.
    Same,
    /// A new one, so that the present token can be revoked.
    Fresh,
}

/// Kubernetes clusters, as far as the manager looks at them and writes to them.
#[async_trait]
pub trait Clusters: Send + Sync {
    /// Reads what somebody sent, or says everything that is wrong with it. Nothing is contacted.
    fn read(&self, given: &GivenAccess) -> Result<ClusterAccess, Problems>;

    /// Looks at a cluster that is perhaps not registered.
    async fn look(&self, access: &ClusterAccess) -> Seen;

    /// Looks at a cluster that is registered. An error is one of ours, such as a key that is missing.
    async fn look_at(&self, id: ClusterId) -> Result<Seen, Error>;

    /// Has the cluster give out another token for the same ServiceAccount.
    async fn renew(&self, access: &ClusterAccess, binding: Binding) -> Result<ClusterAccess, ClusterError>;

    /// Revokes the token in `old`, by the rights of `new`. Whether that could be done: a token that is not
    /// bound to a Secret lasts until it ends.
    async fn revoke(&self, old: &ClusterAccess, new: &ClusterAccess) -> Result<bool, ClusterError>;

    /// Removes the ServiceAccount behind the token with its role and binding, where Slipway made them.
    /// Whether there was anything of ours.
    async fn retire(&self, access: &ClusterAccess) -> Result<bool, ClusterError>;
}
