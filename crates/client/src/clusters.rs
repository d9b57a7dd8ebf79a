//! Clusters.

use slipway_contract::clusters::{
    Cluster, ClusterHealth, ClusterList, ClustersQuery, DISABLE, ENABLE, HEALTH, LIST, REGISTER, REMOVE,
    ROTATE, RegisterCluster, RemoveQuery, RotateCluster, RotatedCluster, SHOW, UPDATE, UpdateCluster,
};

use crate::{Client, ClientError, Tagged};

impl Client {
    /// Registers a cluster.
    pub async fn register_cluster(&self, request: &RegisterCluster) -> Result<Cluster, ClientError> {
        self.call(&REGISTER, &[]).body(request).send().await
    }

    /// A part of the clusters.
    pub async fn clusters(&self, query: &ClustersQuery) -> Result<ClusterList, ClientError> {
        self.call(&LIST, &[]).query(query).send().await
    }

    /// One cluster, with its tag.
    pub async fn cluster(&self, name: &str) -> Result<Tagged<Cluster>, ClientError> {
        self.call(&SHOW, &[name]).send_tagged().await
    }

    /// How a cluster is.
    pub async fn cluster_health(&self, name: &str) -> Result<ClusterHealth, ClientError> {
        self.call(&HEALTH, &[name]).send().await
    }

    /// Changes what is said about a cluster; with a tag only if nobody changed it since.
    pub async fn update_cluster(
        &self,
        name: &str,
        request: &UpdateCluster,
        tag: Option<&str>,
    ) -> Result<Cluster, ClientError> {
        self.call(&UPDATE, &[name]).if_match(tag).body(request).send().await
    }

    /// Lets a cluster take part again.
    pub async fn enable_cluster(&self, name: &str) -> Result<Cluster, ClientError> {
        self.call(&ENABLE, &[name]).send().await
    }

    /// Leaves a cluster alone.
    pub async fn disable_cluster(&self, name: &str) -> Result<Cluster, ClientError> {
        self.call(&DISABLE, &[name]).send().await
    }

    /// Changes the credential of a cluster.
    pub async fn rotate_cluster(
        &self,
        name: &str,
        request: &RotateCluster,
    ) -> Result<RotatedCluster, ClientError> {
        self.call(&ROTATE, &[name]).body(request).send().await
    }

    /// Forgets a cluster; by force even if it does not answer.
    pub async fn remove_cluster(&self, name: &str, force: bool) -> Result<(), ClientError> {
        let query = RemoveQuery { force: force.then_some(true) };
        self.call(&REMOVE, &[name]).query(&query).send_only().await
    }
}
