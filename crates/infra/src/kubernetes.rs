//! Clusters through kube: one cached client each.
//!
//! A client talks to the declared API server and to nobody else: no redirects are followed, no proxy of the
//! environment is used, TLS is always checked against the cluster's own authority, and every call has a
//! timeout. Credentials are opened here, and leave this module only towards their cluster or helm.

pub mod address;
mod client;
mod connections;
mod crds;
pub mod enrol;
mod failure;
pub mod kubeconfig;
mod lent;
mod look;
pub mod probes;
mod retire;
pub mod role;
mod tokens;

use std::sync::Arc;

use async_trait::async_trait;
use slipway_domain::cluster::Unreachable;
use slipway_domain::id::ClusterId;
use slipway_domain::problem::Problems;
use slipway_orchestrator::Error;
use slipway_orchestrator::clusters::access::ClusterAccess;
use slipway_orchestrator::ports::Clusters;
use slipway_orchestrator::ports::clusters::{Binding, ClusterError, GivenAccess, Seen};

pub use address::AddressRules;
pub use connections::{ConnectError, Connections};
pub use crds::KubernetesCrds;
pub use failure::unreachable;
pub use lent::LendError;

/// The port of clusters, on kube.
#[derive(Debug, Clone)]
pub struct KubernetesClusters {
    connections: Arc<Connections>,
    rules: AddressRules,
}

impl KubernetesClusters {
    /// On the clients of registered clusters; the rules say which addresses are accepted.
    pub fn new(connections: Arc<Connections>, rules: AddressRules) -> Self {
        Self { connections, rules }
    }
}

#[async_trait]
impl Clusters for KubernetesClusters {
    fn read(&self, given: &GivenAccess) -> Result<ClusterAccess, Problems> {
        let access = kubeconfig::read(given, &self.rules)?;
        // Whether the parts fit together shows when a client is made of them; nothing is contacted.
        match (client::make(&access), given) {
            (Ok(_), _) => Ok(access),
            (Err(error), GivenAccess::Kubeconfig(_)) => Err(Problems::one("kubeconfig", error)),
            (Err(error), GivenAccess::Parts { .. }) => Err(Problems::one("", error)),
        }
    }

    async fn look(&self, access: &ClusterAccess) -> Seen {
        let client =
            client::make(access).map_err(|_| Unreachable::Tls("no client can be made".to_owned()))?;
        look::look(&client).await
    }

    async fn look_at(&self, id: ClusterId) -> Result<Seen, Error> {
        let client = self.connections.client(id).await?;
        Ok(look::look(&client).await)
    }

    async fn renew(&self, access: &ClusterAccess, binding: Binding) -> Result<ClusterAccess, ClusterError> {
        tokens::renew(access, binding).await
    }

    async fn revoke(&self, old: &ClusterAccess, new: &ClusterAccess) -> Result<bool, ClusterError> {
        tokens::revoke(old, new).await
    }

    async fn retire(&self, access: &ClusterAccess) -> Result<bool, ClusterError> {
        retire::retire(access).await
    }
}
