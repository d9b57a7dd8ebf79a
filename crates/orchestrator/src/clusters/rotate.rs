//! Another credential for a cluster.

use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::{AuditEntry, AuditResult};
use slipway_domain::cluster::Cluster;

use super::access::ClusterAccess;
use super::{CLUSTER_HEALTH, CLUSTER_TOKENS, first_renewal, news, resource, unreachable, work};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::clusters::{Binding, ClusterError, GivenAccess};
use crate::ports::store::{ClusterWrite, SealedAccess};

/// A cluster with another credential.
#[derive(Debug)]
pub struct Rotated {
    /// The cluster.
    pub cluster: Cluster,
    /// Whether the credential from before is of no use any more; otherwise it lasts until it ends.
    pub revoked: bool,
}

impl Manager {
    /// Changes the credential of a cluster: to the one given, or to one that the cluster gives out. The
    /// new one has to work before it is kept, and the old one is revoked after that.
    pub async fn rotate_cluster(
        &self,
        actor: &Actor,
        name: &str,
        given: Option<GivenAccess>,
    ) -> Result<Rotated, Error> {
        const ACTION: &str = "cluster.rotate";
        self.permit(actor, Permission::ManageClusters, ACTION, &resource(name)).await?;
        let cluster = self.cluster_named(name).await?;
        let outcome = self.rotate(actor, &cluster, given).await;
        if let Err(error) = &outcome {
            let entry =
                AuditEntry::new(actor, ACTION, resource(name), AuditResult::Failure, error.to_string());
            self.store().commit(Changeset::new().audit(entry)).await?;
        }
        outcome
    }

    async fn rotate(
        &self,
        actor: &Actor,
        cluster: &Cluster,
        given: Option<GivenAccess>,
    ) -> Result<Rotated, Error> {
        let name = cluster.name.as_str();
        let (old, sealed) = self.open_access(cluster).await?;
        let new = if let Some(given) = &given {
            self.read_access(given)?
        } else {
            let renewed = self.parts.clusters.renew(&old, Binding::Fresh).await;
            renewed.map_err(|why| cannot_renew(name, &why))?
        };
        let kept = self.keep_access(actor, cluster, &sealed, &new).await;
        if kept.is_err() && given.is_none() {
            // What the cluster gave out is of no use, so it should not lie about.
            let _ = self.parts.clusters.revoke(&new, &old).await;
        }
        let cluster = kept?;
        let revoked = match self.parts.clusters.revoke(&old, &new).await {
            Ok(revoked) => revoked,
            Err(error) => {
                tracing::warn!(
                    cluster = name,
                    error = &error as &dyn std::error::Error,
                    "the credential from before could not be revoked"
                );
                false
            }
        };
        Ok(Rotated { cluster, revoked })
    }

    async fn keep_access(
        &self,
        actor: &Actor,
        cluster: &Cluster,
        sealed: &SealedAccess,
        new: &ClusterAccess,
    ) -> Result<Cluster, Error> {
        let name = cluster.name.as_str();
        let seen = self.parts.clusters.look(new).await;
        let seen = seen.map_err(|why| unreachable(name, &new.server, &why))?;
        if let (Some(was), Some(is)) = (&cluster.uid, &seen.uid)
            && was != is
        {
            return Err(Error::new(
                Code::InvalidKubeconfig,
                format!("this is the credential of another cluster than {name}; give one of {name} itself"),
            ));
        }
        let now = self.now();
        let facts = new.facts(now);
        let said = format!("changed the credential of {name}");
        let after = Cluster { server: new.server.clone(), credentials: facts, ..cluster.clone() };
        let changes = Changeset::new()
            .write(ClusterWrite::Access {
                id: cluster.id,
                version: sealed.version,
                sealed: self.seal(cluster.id, new)?,
                server: new.server.clone(),
                facts,
            })
            .audit(
                AuditEntry::done(actor, "cluster.rotate", resource(name), said)
                    .changing(Some(cluster.facts()), Some(after.facts())),
            )
            .tell(news(&after, "credentialsChanged", serde_json::json!({"kind": facts.kind})))
            .due(work(CLUSTER_TOKENS, cluster.id), first_renewal(new, now));
        let changes = match cluster.state {
            slipway_domain::cluster::State::Enabled => changes.due(work(CLUSTER_HEALTH, cluster.id), now),
            slipway_domain::cluster::State::Disabled => changes,
        };
        self.store().commit(changes).await?;
        Ok(after)
    }

    /// How a cluster is reached, opened, and as it was read.
    pub(super) async fn open_access(
        &self,
        cluster: &Cluster,
    ) -> Result<(ClusterAccess, SealedAccess), Error> {
        let name = &cluster.name;
        let sealed = self.store().cluster_access(cluster.id).await?;
        let sealed = sealed.ok_or_else(|| Error::not_found(Code::ClusterNotFound, "cluster", name))?;
        let access = ClusterAccess::open(cluster.id, &sealed.sealed, &*self.parts.keyring);
        let access = access.map_err(|error| {
            Error::new(
                Code::InternalError,
                format!("the credential of cluster {name} cannot be opened: {error}"),
            )
            .caused_by(error)
        })?;
        Ok((access, sealed))
    }
}

/// Why a cluster gives out no other token, and what to do.
fn cannot_renew(name: &str, why: &ClusterError) -> Error {
    let code = match why {
        ClusterError::Unreachable(slipway_domain::cluster::Unreachable::Unauthorized)
        | ClusterError::NotRenewable
        | ClusterError::Forbidden { .. } => Code::Conflict,
        _ => Code::ClusterUnreachable,
    };
    Error::new(
        code,
        format!(
            "cluster {name}: {why}; give it a credential: slipway cluster rotate {name} --kube-context CONTEXT"
        ),
    )
}
