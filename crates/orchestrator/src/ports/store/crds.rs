//! Schemas of CRDs: those that operators bring, and those that clusters run.

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::crd::{ContentHash, CrdChange, CrdStatus, StoredCrd};
use slipway_domain::id::{ClusterId, CrdId};
use slipway_domain::name::Name;
use slipway_domain::version::Version;

use super::StoreError;
use crate::page::{Page, Window};

/// Which CRDs are wanted; nothing set means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CrdFilter {
    /// Of this operator.
    pub operator: Option<String>,
    /// With this status.
    pub status: Option<CrdStatus>,
}

/// All that is stored of the CRDs of an operator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OperatorCrds {
    /// Grows with every change; a change is made for the one that was read.
    pub revision: i64,
    /// Every schema of every version.
    pub crds: Vec<StoredCrd>,
    /// The versions whose CRDs are stored whole.
    pub whole: Vec<Version>,
}

/// A CRD as a cluster runs it.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveCrd {
    /// Its name.
    pub name: String,
    /// What it says, as a hash.
    pub content: ContentHash,
    /// The definition as it counts: no status, no certificate.
    pub definition: String,
    /// The versions in which objects may lie in etcd.
    pub stored_versions: Vec<String>,
}

/// What is known of a CRD on one cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenCrd {
    /// The cluster.
    pub cluster: ClusterId,
    /// When somebody looked last; nothing if nobody could yet.
    pub looked_at: Option<Timestamp>,
    /// Why the last look failed, if it did.
    pub failure: Option<String>,
    /// What the cluster runs; nothing if it has no such CRD.
    pub found: Option<SeenContent>,
}

/// What a cluster runs.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenContent {
    /// What it says, as a hash.
    pub content: ContentHash,
    /// The versions in which objects may lie in etcd.
    pub stored_versions: Vec<String>,
    /// Since when it is that content.
    pub since: Timestamp,
}

/// Reads.
#[async_trait]
pub trait CrdRows: Send + Sync {
    /// The current schema of each CRD, by name.
    async fn crds(&self, filter: &CrdFilter, window: Window) -> Result<Page<StoredCrd>, StoreError>;

    /// Every stored schema of a CRD.
    async fn crd_versions(&self, name: &str) -> Result<Vec<StoredCrd>, StoreError>;

    /// All that is stored of an operator's CRDs.
    async fn operator_crds(&self, operator: &Name) -> Result<OperatorCrds, StoreError>;

    /// The definition of a stored schema, as it was written.
    async fn crd_definition(&self, id: CrdId) -> Result<Option<String>, StoreError>;

    /// The history of a CRD of an operator, the newest first.
    async fn crd_history(
        &self,
        operator: &Name,
        name: &str,
        window: Window,
    ) -> Result<Page<CrdChange>, StoreError>;

    /// The names of all CRDs that are stored.
    async fn crd_names(&self) -> Result<Vec<String>, StoreError>;

    /// What is known of a CRD on every cluster that somebody tried to look at.
    async fn seen_crd(&self, name: &str) -> Result<Vec<SeenCrd>, StoreError>;

    /// A definition that a cluster runs, by its hash.
    async fn live_definition(&self, content: ContentHash) -> Result<Option<String>, StoreError>;
}

/// A schema that is new, with its text.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCrd {
    /// The facts.
    pub crd: StoredCrd,
    /// The definition, as it was written.
    pub definition: String,
}

/// The history that a version of an operator brought to a CRD; it takes the place of what was there.
#[derive(Debug, Clone, PartialEq)]
pub struct CrdHistory {
    /// The CRD.
    pub name: String,
    /// The version.
    pub operator_version: Version,
    /// What changed with it.
    pub changes: Vec<CrdChange>,
}

/// Changes.
#[derive(Debug)]
#[non_exhaustive]
pub enum CrdWrite {
    /// Stores CRDs of a version of an operator, and what follows for those around it. Stale, if anything
    /// was stored of the operator's CRDs since `revision`.
    Record {
        /// The operator.
        operator: Name,
        /// The version.
        operator_version: Version,
        /// What was read.
        revision: i64,
        /// Whether these are all CRDs of the version.
        whole: bool,
        /// The schemas that are new, or replace one of the same version.
        crds: Vec<NewCrd>,
        /// The schemas of other versions for which something follows.
        changed: Vec<StoredCrd>,
        /// What is history now.
        history: Vec<CrdHistory>,
    },
    /// Changes approval and deprecation of schemas of an operator. Stale as above.
    Decide {
        /// The operator.
        operator: Name,
        /// What was read.
        revision: i64,
        /// The schemas as they are now.
        crds: Vec<StoredCrd>,
    },
    /// Forgets all CRDs of an operator.
    Forget {
        /// The operator.
        operator: Name,
    },
    /// What a cluster runs, whole: of CRDs that are not here it has none.
    Seen {
        /// The cluster.
        cluster: ClusterId,
        /// When.
        at: Timestamp,
        /// What it runs of the CRDs that are stored.
        crds: Vec<LiveCrd>,
    },
    /// A cluster could not be looked at.
    Unseen {
        /// The cluster.
        cluster: ClusterId,
        /// Why, for people.
        failure: String,
    },
}
