//! Renewing the tokens of clusters before they end, and sealing them with the newest key.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::access::Actor;
use slipway_domain::audit::AuditEntry;
use slipway_domain::cluster::Cluster;
use slipway_domain::id::ClusterId;

use super::access::ClusterAccess;
use super::resource;
use crate::changes::Changeset;
use crate::error::Error;
use crate::manager::Manager;
use crate::ports::clusters::{Binding, ClusterError};
use crate::ports::store::{Claim, ClusterWrite, SealedAccess};
use crate::workers::{Next, Worker};

/// The kind of work that renewing tokens is; the key is the id of the cluster.
pub const CLUSTER_TOKENS: &str = "cluster-token";

/// How often a credential is looked at that is not renewed.
const DAY: Duration = Duration::from_hours(24);

/// Renews tokens.
pub struct ClusterTokenWorker {
    manager: Manager,
}

/// Why a credential is written again.
#[derive(Clone, Copy)]
enum Why {
    Renewed,
    NewKey,
}

impl ClusterTokenWorker {
    /// For a manager.
    pub fn new(manager: Manager) -> Self {
        Self { manager }
    }

    async fn renew(&self, access: &ClusterAccess) -> Result<ClusterAccess, ClusterError> {
        let clusters = &self.manager.parts.clusters;
        let renewed = clusters.renew(access, Binding::Same).await?;
        // One that does not work must not take the place of one that does.
        clusters.look(&renewed).await.map_err(ClusterError::Unreachable)?;
        Ok(renewed)
    }

    async fn keep(
        &self,
        claim: &Claim,
        cluster: &Cluster,
        read: &SealedAccess,
        access: &ClusterAccess,
        why: Why,
    ) -> Result<(), Error> {
        let manager = &self.manager;
        let name = cluster.name.as_str();
        let (action, said) = match why {
            Why::Renewed => ("cluster.renew", format!("renewed the token of {name}")),
            Why::NewKey => ("cluster.reseal", format!("sealed the credential of {name} with the newest key")),
        };
        let facts = match why {
            Why::Renewed => access.facts(manager.now()),
            Why::NewKey => cluster.credentials,
        };
        let entry = AuditEntry::done(&Actor::system(CLUSTER_TOKENS), action, resource(name), said);
        let changes = Changeset::new()
            .fenced(claim.fence())
            .write(ClusterWrite::Access {
                id: cluster.id,
                version: read.version,
                sealed: manager.seal(cluster.id, access)?,
                server: access.server.clone(),
                facts,
            })
            .audit(entry);
        Ok(manager.store().commit(changes).await?)
    }
}

#[async_trait]
impl Worker for ClusterTokenWorker {
    fn kind(&self) -> &'static str {
        CLUSTER_TOKENS
    }

    async fn work(&self, claim: &Claim) -> Result<Next, Error> {
        let manager = &self.manager;
        let cluster = match claim.work.key.parse::<ClusterId>() {
            Ok(id) => manager.store().cluster(id).await?,
            Err(_) => None,
        };
        let Some(cluster) = cluster else {
            let changes = Changeset::new().fenced(claim.fence()).end(claim.work.clone());
            manager.store().commit(changes).await?;
            return Ok(Next::Ended);
        };
        let (access, sealed) = manager.open_access(&cluster).await?;
        let now = manager.now();
        let due = access.token_facts().and_then(|facts| facts.renew_at());
        if due.is_none_or(|due| now < due) {
            if manager.parts.keyring.is_old(&sealed.sealed) {
                self.keep(claim, &cluster, &sealed, &access, Why::NewKey).await?;
            }
            return Ok(Next::After(due.map_or(DAY, |due| until(now, due))));
        }
        match self.renew(&access).await {
            Ok(renewed) => {
                self.keep(claim, &cluster, &sealed, &renewed, Why::Renewed).await?;
                let next = renewed.token_facts().and_then(|facts| facts.renew_at());
                Ok(Next::After(next.map_or(DAY, |due| until(now, due))))
            }
            Err(error) => {
                tracing::warn!(
                    cluster = cluster.name.as_str(),
                    error = &error as &dyn std::error::Error,
                    "the token of a cluster could not be renewed; it is tried again"
                );
                Ok(Next::After(Duration::from_mins(2)))
            }
        }
    }
}

/// From now until then, a moment at least, a day at most.
fn until(now: Timestamp, then: Timestamp) -> Duration {
    let wait = Duration::try_from(then.duration_since(now)).unwrap_or_default();
    wait.clamp(Duration::from_secs(10), DAY)
}
