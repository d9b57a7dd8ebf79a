//! What people say about a cluster, and whether it takes part.

use std::collections::BTreeMap;

use slipway_domain::access::{Actor, Environment, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::cluster::{Cluster, ClusterHealth, Labels, State, description_of};
use slipway_domain::problem::Problems;

use super::{CLUSTER_HEALTH, news, resource, work};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::store::ClusterWrite;

/// What shall be said about a cluster; what is not set stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Description {
    /// What it is for; an empty text takes it away.
    pub description: Option<String>,
    /// Where it stands.
    pub environment: Option<Environment>,
    /// All its labels.
    pub labels: Option<BTreeMap<String, String>>,
    /// The revision that the change is based on, where the caller wants that to count.
    pub revision: Option<i64>,
}

impl Manager {
    /// Changes what is said about a cluster.
    pub async fn describe_cluster(
        &self,
        actor: &Actor,
        name: &str,
        wanted: Description,
    ) -> Result<Cluster, Error> {
        const ACTION: &str = "cluster.update";
        self.permit(actor, Permission::ManageClusters, ACTION, &resource(name)).await?;
        let before = self.cluster_named(name).await?;
        if wanted.revision.is_some_and(|revision| revision != before.revision) {
            return Err(Error::new(
                Code::PreconditionFailed,
                format!("cluster {name} changed meanwhile; read it again and repeat"),
            ));
        }
        let mut problems = Problems::new();
        let mut after = before.clone();
        if let Some(text) = &wanted.description {
            after.description = description_of(Some(text), &mut problems);
        }
        after.environment = wanted.environment.unwrap_or(before.environment);
        if let Some(labels) = &wanted.labels {
            match Labels::new(labels) {
                Ok(labels) => after.labels = labels,
                Err(wrong) => problems.nest("labels", wrong),
            }
        }
        problems.or(())?;
        if after == before {
            return Ok(before);
        }
        after.updated_at = self.now();
        after.revision += 1;
        let entry = AuditEntry::done(actor, ACTION, resource(name), format!("changed {name}"));
        let changes = Changeset::new()
            .write(ClusterWrite::Describe {
                id: before.id,
                revision: before.revision,
                description: after.description.clone(),
                environment: after.environment,
                labels: after.labels.clone(),
                at: after.updated_at,
            })
            .audit(entry.changing(Some(before.facts()), Some(after.facts())))
            .tell(news(&after, "updated", after.facts()));
        self.store().commit(changes).await?;
        Ok(after)
    }

    /// Lets a cluster take part, or leaves it alone. Its token is kept alive either way.
    pub async fn set_cluster_state(&self, actor: &Actor, name: &str, state: State) -> Result<Cluster, Error> {
        let (action, kind) = match state {
            State::Enabled => ("cluster.enable", "enabled"),
            State::Disabled => ("cluster.disable", "disabled"),
        };
        self.permit(actor, Permission::ManageClusters, action, &resource(name)).await?;
        let before = self.cluster_named(name).await?;
        if before.state == state {
            return Ok(before);
        }
        let now = self.now();
        let after = Cluster {
            state,
            revision: before.revision + 1,
            updated_at: now,
            health: ClusterHealth {
                kubernetes_version: before.health.kubernetes_version.clone(),
                nodes: before.health.nodes,
                ..ClusterHealth::default()
            },
            ..before.clone()
        };
        let health = work(CLUSTER_HEALTH, before.id);
        let entry = AuditEntry::done(actor, action, resource(name), format!("{kind} {name}"));
        let changes = Changeset::new()
            .write(ClusterWrite::State { id: before.id, state, at: now })
            .audit(entry.changing(Some(before.facts()), Some(after.facts())))
            .tell(news(&after, kind, after.facts()));
        let changes = match state {
            State::Enabled => changes.due(health, now),
            State::Disabled => changes.end(health),
        };
        self.store().commit(changes).await?;
        Ok(after)
    }
}
