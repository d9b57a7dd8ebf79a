//! Forgetting a cluster, and leaving nothing of ours in it.

use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::{AuditEntry, AuditResult};
use slipway_domain::cluster::Cluster;

use super::{CLUSTER_HEALTH, CLUSTER_TOKENS, news, resource, work};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::clusters::ClusterError;
use crate::ports::store::ClusterWrite;

/// How a cluster is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// Only with everything of ours removed from it.
    Orderly,
    /// Even if it does not answer any more: what is left in it stays there.
    Forced,
}

impl Manager {
    /// Forgets a cluster: its ServiceAccount is removed from it, and its credential here.
    pub async fn remove_cluster(&self, actor: &Actor, name: &str, removal: Removal) -> Result<(), Error> {
        const ACTION: &str = "cluster.remove";
        self.permit(actor, Permission::ManageClusters, ACTION, &resource(name)).await?;
        let cluster = self.cluster_named(name).await?;
        match self.leave(&cluster, removal).await {
            Ok(said) => {
                let entry = AuditEntry::done(actor, ACTION, resource(name), said);
                let changes = Changeset::new()
                    .write(ClusterWrite::Remove { id: cluster.id })
                    .audit(entry.changing(Some(cluster.facts()), None))
                    .tell(news(&cluster, "removed", serde_json::json!({})))
                    .end(work(CLUSTER_HEALTH, cluster.id))
                    .end(work(CLUSTER_TOKENS, cluster.id))
                    .end(crate::operators::discovery(cluster.id));
                Ok(self.store().commit(changes).await?)
            }
            Err(error) => {
                let entry =
                    AuditEntry::new(actor, ACTION, resource(name), AuditResult::Failure, error.to_string());
                self.store().commit(Changeset::new().audit(entry)).await?;
                Err(error)
            }
        }
    }

    /// Removes what is ours from the cluster, and says what was done.
    async fn leave(&self, cluster: &Cluster, removal: Removal) -> Result<String, Error> {
        let name = &cluster.name;
        // Even by force: a server may be at it in this moment.
        if let Some(rollout) = self.store().rollouts_on(cluster.id).await?.first() {
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "cluster {name} is part of deployment {rollout}, which goes on; wait for its end, or cancel it \
                     and remove the cluster then"
                ),
            ));
        }
        let operators = self.operators_on(cluster.id).await?;
        if removal == Removal::Orderly && !operators.is_empty() {
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "cluster {name} still has {}; uninstall first, or forget it anyway with: \
                     slipway cluster remove {name} --force",
                    operators.join(", ")
                ),
            ));
        }
        let retired = match self.open_access(cluster).await {
            Ok((access, _)) => self.parts.clusters.retire(&access).await,
            // Nobody can open it any more, so nobody can tidy up with it.
            Err(error) if removal == Removal::Forced => {
                return Ok(format!("forgot {name}; its credential could not be opened: {error}"));
            }
            Err(error) => return Err(error),
        };
        match (retired, removal) {
            (Ok(true), _) => Ok(format!("forgot {name} and removed its ServiceAccount there")),
            (Ok(false), _) => Ok(format!("forgot {name}; nothing there was made by Slipway")),
            (Err(why), Removal::Forced) => {
                Ok(format!("forgot {name} by force; what Slipway made there is left: {why}"))
            }
            (Err(why), Removal::Orderly) => {
                let code = match why {
                    ClusterError::Unreachable(_) => Code::ClusterUnreachable,
                    _ => Code::Conflict,
                };
                Err(Error::new(
                    code,
                    format!(
                        "cluster {name}: {why}, so the ServiceAccount of Slipway cannot be removed from it; \
                         forget it anyway with: slipway cluster remove {name} --force"
                    ),
                ))
            }
        }
    }
}
