//! The clients of registered clusters, kept as long as their credentials stay the same.

use std::sync::Arc;
use std::time::Duration;

use moka::future::Cache;
use slipway_domain::id::ClusterId;
use slipway_orchestrator::clusters::access::ClusterAccess;
use slipway_orchestrator::ports::keyring::KeyringError;
use slipway_orchestrator::ports::store::{ClusterRows, SealedAccess};
use slipway_orchestrator::ports::{Keyring, StoreError};
use slipway_orchestrator::{Code, Error};
use zeroize::Zeroizing;

use super::client::{self, ClientError};

/// A client that nobody asks for is dropped, with the token in it.
const IDLE: Duration = Duration::from_mins(15);

/// Why a cluster cannot be talked to; nothing was contacted yet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// It is not registered any more.
    #[error("the cluster is not registered")]
    Unknown,
    /// The database does not say how.
    #[error("reading how the cluster is reached")]
    Store(#[source] StoreError),
    /// How it is reached cannot be decrypted.
    #[error("opening the cluster's credential")]
    Sealed(#[source] KeyringError),
    /// No client can be made from it.
    #[error("preparing a client of the cluster")]
    Client(#[source] ClientError),
}

impl From<ConnectError> for Error {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Unknown => {
                Self::new(Code::ClusterNotFound, "the cluster is not registered any more")
            }
            ConnectError::Store(error) => error.into(),
            ConnectError::Sealed(error) => {
                Self::new(Code::InternalError, format!("the cluster's credential cannot be opened: {error}"))
                    .caused_by(error)
            }
            ConnectError::Client(error) => {
                Self::new(Code::InternalError, format!("the cluster's access {error}")).caused_by(error)
            }
        }
    }
}

#[derive(Clone)]
struct Kept {
    version: i64,
    client: kube::Client,
}

/// The clients of registered clusters. Each ask compares the version of the credentials in the database, so
/// a client is never older than what any server rotated.
pub struct Connections {
    rows: Arc<dyn ClusterRows>,
    keyring: Arc<dyn Keyring>,
    kept: Cache<ClusterId, Kept>,
}

impl Connections {
    /// With the rows that hold the credentials, and what opens them.
    pub fn new(rows: Arc<dyn ClusterRows>, keyring: Arc<dyn Keyring>) -> Self {
        let kept = Cache::builder().max_capacity(10_000).time_to_idle(IDLE).build();
        Self { rows, keyring, kept }
    }

    /// A client of a cluster; the same one for as long as its credentials stay.
    pub async fn client(&self, id: ClusterId) -> Result<kube::Client, ConnectError> {
        let version = self.rows.cluster_access_version(id).await.map_err(ConnectError::Store)?;
        let Some(version) = version else {
            self.kept.invalidate(&id).await;
            return Err(ConnectError::Unknown);
        };
        if let Some(kept) = self.kept.get(&id).await.filter(|kept| kept.version == version) {
            return Ok(kept.client);
        }
        let (access, version) = self.open(id).await?;
        let client = client::make(&access).map_err(ConnectError::Client)?;
        self.kept.insert(id, Kept { version, client: client.clone() }).await;
        Ok(client)
    }

    /// A kubeconfig of a cluster for programs such as helm. Write it where only its owner may read it, and
    /// remove it afterwards.
    pub async fn kubeconfig(&self, id: ClusterId) -> Result<Zeroizing<String>, ConnectError> {
        let (access, _) = self.open(id).await?;
        Ok(client::kubeconfig(&access))
    }

    pub(super) async fn open(&self, id: ClusterId) -> Result<(ClusterAccess, i64), ConnectError> {
        let found = self.rows.cluster_access(id).await.map_err(ConnectError::Store)?;
        let SealedAccess { sealed, version } = found.ok_or(ConnectError::Unknown)?;
        let access = ClusterAccess::open(id, &sealed, &*self.keyring).map_err(ConnectError::Sealed)?;
        Ok((access, version))
    }
}

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").field("kept", &self.kept.entry_count()).finish_non_exhaustive()
    }
}
