//! Clusters, their credentials and health.

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::access::Environment;
use slipway_domain::cluster::{Cluster, ClusterHealth, CredentialFacts, HealthStatus, Labels, State};
use slipway_domain::id::ClusterId;
use slipway_domain::name::Name;

use super::StoreError;
use crate::page::{Page, Window};

/// Which clusters are wanted; nothing set means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterFilter {
    /// Of this environment.
    pub environment: Option<Environment>,
    /// With this health.
    pub health: Option<HealthStatus>,
    /// With all these labels.
    pub labels: Vec<(String, String)>,
    /// In this state.
    pub state: Option<State>,
}

/// How a cluster is reached, sealed.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedAccess {
    /// Sealed in the context `cluster/<id>`.
    pub sealed: Vec<u8>,
    /// Grows with every change; whoever keeps something made from it compares.
    pub version: i64,
}

impl std::fmt::Debug for SealedAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SealedAccess").field("version", &self.version).finish_non_exhaustive()
    }
}

/// How a cluster was at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSample {
    /// When.
    pub at: Timestamp,
    /// How.
    pub status: HealthStatus,
    /// Why.
    pub reason: Option<String>,
    /// How long its API server took.
    pub latency_ms: Option<u32>,
    /// Whether the status was another before; such samples are kept.
    pub changed: bool,
}

/// Reads.
#[async_trait]
pub trait ClusterRows: Send + Sync {
    /// One, by its id.
    async fn cluster(&self, id: ClusterId) -> Result<Option<Cluster>, StoreError>;

    /// One, by its name.
    async fn cluster_by_name(&self, name: &Name) -> Result<Option<Cluster>, StoreError>;

    /// The name of a registered cluster with that uid.
    async fn cluster_with_uid(&self, uid: &str) -> Result<Option<Name>, StoreError>;

    /// Part of the list, by environment and name.
    async fn clusters(&self, filter: &ClusterFilter, window: Window) -> Result<Page<Cluster>, StoreError>;

    /// How it is reached; nothing if it is not registered any more.
    async fn cluster_access(&self, id: ClusterId) -> Result<Option<SealedAccess>, StoreError>;

    /// The version of how it is reached, for whoever keeps a client.
    async fn cluster_access_version(&self, id: ClusterId) -> Result<Option<i64>, StoreError>;

    /// How it was, the newest first.
    async fn cluster_history(&self, id: ClusterId, most: u32) -> Result<Vec<ClusterSample>, StoreError>;

    /// When the manager's own looking at the cluster was last written down in the audit.
    async fn cluster_access_noted(&self, id: ClusterId) -> Result<Option<Timestamp>, StoreError>;
}

/// Changes.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClusterWrite {
    /// A new one. Its name must be free: `clusters_name_key`.
    Insert {
        /// Which; its revision is the first.
        cluster: Box<Cluster>,
        /// How it is reached.
        sealed: Vec<u8>,
    },
    /// What people say about it, if nobody changed it since that revision.
    Describe {
        /// Which.
        id: ClusterId,
        /// The revision that was read.
        revision: i64,
        /// What it is for.
        description: Option<String>,
        /// Where it stands.
        environment: Environment,
        /// Its labels.
        labels: Labels,
        /// When.
        at: Timestamp,
    },
    /// Whether it takes part. Its health is unknown from then on.
    State {
        /// Which.
        id: ClusterId,
        /// What it shall be.
        state: State,
        /// When.
        at: Timestamp,
    },
    /// Another way to reach it, if nobody changed that since the version.
    Access {
        /// Which.
        id: ClusterId,
        /// The version that was read.
        version: i64,
        /// How it is reached.
        sealed: Vec<u8>,
        /// The address of its API server.
        server: String,
        /// What everybody may know.
        facts: CredentialFacts,
    },
    /// How it is.
    Health {
        /// Which.
        id: ClusterId,
        /// How.
        health: ClusterHealth,
        /// Its uid, if it was seen.
        uid: Option<String>,
        /// Whether the status was another before.
        changed: bool,
        /// Whether the audit says with this change that the manager looks at the cluster.
        noted: bool,
    },
    /// Removes samples that changed nothing and are older.
    ThinHistory {
        /// Of which cluster.
        id: ClusterId,
        /// Than this.
        before: Timestamp,
    },
    /// Forgets it, with everything about it.
    Remove {
        /// Which.
        id: ClusterId,
    },
}
