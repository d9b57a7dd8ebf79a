//! Operators, their versions and charts, and where they are installed.

use std::fmt;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::id::{ClusterId, OperatorId};
use slipway_domain::name::Name;
use slipway_domain::operator::{ChartVersion, Drift, Installation, Operator, Seen};
use slipway_domain::version::Version;

use super::StoreError;
use crate::page::{Page, Window};

/// Which operators are wanted; nothing set means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperatorFilter {
    /// Of this namespace.
    pub namespace: Option<String>,
    /// With all these labels.
    pub labels: Vec<(String, String)>,
    /// With, or without, something newer in their repository.
    pub has_update: Option<bool>,
}

/// Bytes that were sealed by the keyring; not printed, since they are of no use to anybody.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed(pub Vec<u8>);

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealed(…)")
    }
}

/// A version of an operator's chart, as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownVersion {
    /// What the repository says.
    pub offered: ChartVersion,
    /// Since when it is known.
    pub first_seen_at: Timestamp,
    /// Since when the repository does not offer it any more.
    pub withdrawn_at: Option<Timestamp>,
    /// The digest of the archive that is kept of it.
    pub archive: Option<String>,
    /// When its definitions were recorded.
    pub crds_recorded_at: Option<Timestamp>,
}

/// Reads.
#[async_trait]
pub trait OperatorRows: Send + Sync {
    /// The operator of that name.
    async fn operator_by_name(&self, name: &Name) -> Result<Option<Operator>, StoreError>;

    /// The operator with that id.
    async fn operator(&self, id: OperatorId) -> Result<Option<Operator>, StoreError>;

    /// Operators, by name.
    async fn operators(&self, filter: &OperatorFilter, window: Window) -> Result<Page<Operator>, StoreError>;

    /// Every operator, by name.
    async fn all_operators(&self) -> Result<Vec<Operator>, StoreError>;

    /// The sealed credentials of its repository.
    async fn operator_credentials(&self, id: OperatorId) -> Result<Option<Sealed>, StoreError>;

    /// The versions that its repository offers or offered, the newest first.
    async fn operator_versions(&self, id: OperatorId) -> Result<Vec<KnownVersion>, StoreError>;

    /// The bytes of an archive that is kept.
    async fn chart_archive(&self, digest: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// What is installed, by cluster and name; of one cluster, of one operator, or of both.
    async fn installations(
        &self,
        cluster: Option<ClusterId>,
        operator: Option<OperatorId>,
    ) -> Result<Vec<Installation>, StoreError>;

    /// The clusters with a release of a chart that belongs to no operator.
    async fn clusters_with_unclaimed(&self, chart: &str) -> Result<Vec<ClusterId>, StoreError>;

    /// Everything sealed that belongs to operators.
    async fn sealed_of_operators(&self) -> Result<Vec<SealedPlace>, StoreError>;

    /// The sealed values of an installation.
    async fn installation_values(
        &self,
        cluster: ClusterId,
        namespace: &str,
        release: &str,
    ) -> Result<Option<Sealed>, StoreError>;
}

/// Where something sealed is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealedPlace {
    /// The credentials of an operator's repository.
    Credentials(OperatorId),
    /// The values of an installation.
    Values {
        /// On which cluster.
        cluster: ClusterId,
        /// Its namespace.
        namespace: String,
        /// Its name.
        release: String,
    },
}

/// Changes.
#[derive(Debug)]
#[non_exhaustive]
pub enum OperatorWrite {
    /// A new one; the name must be free (`operators_name_key`).
    Add {
        /// It.
        operator: Box<Operator>,
        /// Its sealed credentials.
        credentials: Option<Sealed>,
    },
    /// What somebody changed, if it still has this revision; the new one is that plus one.
    Change {
        /// It, as it shall be.
        operator: Box<Operator>,
        /// The revision that the change stands on.
        revision: i64,
        /// New credentials: some, or none any more; nothing keeps what is there.
        credentials: Option<Option<Sealed>>,
    },
    /// It is forgotten with its versions; only where it is installed nowhere
    /// (`installations_operator_id_fkey`).
    Remove {
        /// Which.
        id: OperatorId,
    },
    /// What its repository offers now.
    Offer {
        /// Of which operator.
        id: OperatorId,
        /// All that is offered; what is not among them is marked as withdrawn.
        versions: Vec<ChartVersion>,
        /// The newest stable one.
        latest: Option<Version>,
        /// When it was asked.
        at: Timestamp,
    },
    /// Its repository could not be read.
    OfferUnknown {
        /// Of which operator.
        id: OperatorId,
        /// Why, without secrets.
        reason: String,
        /// When it was asked.
        at: Timestamp,
    },
    /// The definitions that its chart brings, where nobody named them.
    CrdNames {
        /// Of which operator.
        id: OperatorId,
        /// Their names.
        names: Vec<String>,
    },
    /// The definitions of a version are recorded.
    CrdsRecorded {
        /// Of which operator.
        id: OperatorId,
        /// Of which version.
        version: Version,
        /// When.
        at: Timestamp,
    },
    /// The same sealed with another key, unless it is something else by now.
    Reseal {
        /// Where.
        place: SealedPlace,
        /// As it was.
        before: Sealed,
        /// As it shall be.
        sealed: Sealed,
    },
    /// An archive, kept for good.
    Archive {
        /// Of which operator.
        id: OperatorId,
        /// Of which version.
        version: Version,
        /// `sha256:…`.
        digest: String,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Something was seen on a cluster: new, or as it is now.
    Seen {
        /// On which cluster.
        cluster: ClusterId,
        /// Of which operator.
        operator: Option<OperatorId>,
        /// What; who manages it is decided already.
        seen: Box<Seen>,
        /// Its sealed values, where they are of an operator.
        values: Option<Sealed>,
        /// When.
        at: Timestamp,
    },
    /// A revision was compared with what is there.
    Drift {
        /// On which cluster.
        cluster: ClusterId,
        /// Its namespace.
        namespace: String,
        /// Its name.
        release: String,
        /// The revision; another one is left alone.
        revision: u32,
        /// What differs; nothing where all of it is as it was released.
        drift: Option<Box<Drift>>,
        /// When.
        at: Timestamp,
    },
    /// It is not on the cluster any more.
    Gone {
        /// On which cluster.
        cluster: ClusterId,
        /// Its namespace.
        namespace: String,
        /// Its name.
        release: String,
    },
    /// Slipway does not manage it any more; helm does.
    LetGo {
        /// On which cluster.
        cluster: ClusterId,
        /// Its namespace.
        namespace: String,
        /// Its name.
        release: String,
    },
    /// Slipway manages it from now on, if helm did until now.
    Adopt {
        /// On which cluster.
        cluster: ClusterId,
        /// Its namespace.
        namespace: String,
        /// Its name.
        release: String,
        /// Of which operator.
        operator: OperatorId,
        /// Who decided so.
        by: String,
        /// When.
        at: Timestamp,
    },
}
