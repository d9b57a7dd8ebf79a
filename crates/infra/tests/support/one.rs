//! A store that knows one cluster, and of it only how it is reached.

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::cluster::Cluster;
use slipway_domain::id::ClusterId;
use slipway_domain::name::Name;
use slipway_orchestrator::page::{Page, Window};
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{ClusterFilter, ClusterRows, ClusterSample, SealedAccess};

/// The rows of the one cluster.
pub(crate) struct One {
    pub(crate) id: ClusterId,
    pub(crate) sealed: Vec<u8>,
}

#[async_trait]
impl ClusterRows for One {
    async fn cluster(&self, _: ClusterId) -> Result<Option<Cluster>, StoreError> {
        Ok(None)
    }

    async fn cluster_by_name(&self, _: &Name) -> Result<Option<Cluster>, StoreError> {
        Ok(None)
    }

    async fn cluster_with_uid(&self, _: &str) -> Result<Option<Name>, StoreError> {
        Ok(None)
    }

    async fn clusters(&self, _: &ClusterFilter, _: Window) -> Result<Page<Cluster>, StoreError> {
        panic!("nobody lists clusters here")
    }

    async fn cluster_access(&self, id: ClusterId) -> Result<Option<SealedAccess>, StoreError> {
        Ok((id == self.id).then(|| SealedAccess { sealed: self.sealed.clone(), version: 1 }))
    }

    async fn cluster_access_version(&self, id: ClusterId) -> Result<Option<i64>, StoreError> {
        Ok((id == self.id).then_some(1))
    }

    async fn cluster_history(&self, _: ClusterId, _: u32) -> Result<Vec<ClusterSample>, StoreError> {
        Ok(Vec::new())
    }

    async fn cluster_access_noted(&self, _: ClusterId) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
    }
}
