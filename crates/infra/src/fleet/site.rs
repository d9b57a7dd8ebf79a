//! One cluster, and what is needed to change it.

use std::sync::Arc;

use slipway_domain::id::ClusterId;
use slipway_helm::{Helm, Kubeconfig};
use slipway_orchestrator::ports::fleet::Subject;
use slipway_orchestrator::ports::probes::ReleaseAt;

use super::fault::Fault;
use crate::kubernetes::Connections;

/// A cluster, and what is needed to change it.
pub(crate) struct Site {
    pub(crate) cluster: ClusterId,
    pub(crate) client: kube::Client,
    pub(crate) helm: Helm,
    connections: Arc<Connections>,
}

impl Site {
    pub(crate) async fn open(
        connections: Arc<Connections>,
        helm: Helm,
        subject: &Subject,
    ) -> Result<Self, Fault> {
        let cluster = subject.placement.cluster;
        let client = connections.client(cluster).await?;
        Ok(Self { cluster, client, helm, connections })
    }

    /// How helm reaches the cluster with the server's own token: for reading only.
    pub(crate) async fn kubeconfig(&self) -> Result<Kubeconfig, Fault> {
        Ok(Kubeconfig::new(self.connections.kubeconfig(self.cluster).await?))
    }
}

/// What helm acts with during one attempt.
impl Site {
    /// A credential that ends with the attempt.
    pub(crate) async fn lend(&self, attempt: &str) -> Result<Kubeconfig, Fault> {
        Ok(Kubeconfig::new(self.connections.lend(self.cluster, attempt).await?))
    }

    /// Ends the credential of an attempt. Whether there was one.
    pub(crate) async fn take_back(&self, attempt: &str) -> Result<bool, Fault> {
        Ok(self.connections.take_back(self.cluster, attempt).await?)
    }

    /// Whether the credential of an attempt can be ended.
    pub(crate) async fn can_take_back(&self) -> Result<bool, Fault> {
        Ok(self.connections.can_take_back(self.cluster).await?)
    }
}

/// The release that a rollout makes: the second one for blue-green, else the one that is there.
pub(crate) fn made(subject: &Subject) -> &ReleaseAt {
    subject.placement.beside.as_ref().map_or(&subject.placement.release, |beside| &beside.release)
}
