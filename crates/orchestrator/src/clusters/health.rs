//! Looking at every cluster again and again, one server at a time for each.

use std::time::Duration;

use async_trait::async_trait;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use slipway_domain::access::Actor;
use slipway_domain::audit::AuditEntry;
use slipway_domain::cluster::{Cluster, State, Unreachable};
use slipway_domain::id::ClusterId;
use uuid::Uuid;

use super::{news, resource};
use crate::changes::Changeset;
use crate::error::Error;
use crate::manager::Manager;
use crate::ports::clusters::Seen;
use crate::ports::store::{Claim, ClusterWrite};
use crate::workers::{Next, Worker};

/// The kind of work that looking at clusters is; the key is the id of the cluster.
pub const CLUSTER_HEALTH: &str = "cluster-health";

/// How long samples are kept that changed nothing.
const SAMPLES: SignedDuration = SignedDuration::from_hours(24);

/// Looks at clusters.
pub struct ClusterHealthWorker {
    manager: Manager,
}

impl ClusterHealthWorker {
    /// For a manager.
    pub fn new(manager: Manager) -> Self {
        Self { manager }
    }

    async fn keep(
        &self,
        claim: &Claim,
        cluster: &Cluster,
        seen: Seen,
        began: Timestamp,
    ) -> Result<(), Error> {
        let manager = &self.manager;
        let now = manager.now();
        let seen = seen.and_then(|seen| match (&cluster.uid, &seen.uid) {
            (Some(was), Some(is)) if was != is => Err(Unreachable::Another),
            _ => Ok(seen),
        });
        let health = cluster.health.after(&seen, now);
        let took = Duration::try_from(now.duration_since(began)).unwrap_or_default();
        manager.metrics.cluster_checked(health.status, took);
        let is_other = health.status != cluster.health.status;
        let noted = manager.store().cluster_access_noted(cluster.id).await?;
        let noted = noted.is_none_or(|noted| day(noted) != day(now));
        let mut changes = Changeset::new()
            .fenced(claim.fence())
            .write(ClusterWrite::Health {
                id: cluster.id,
                health: health.clone(),
                uid: seen.ok().and_then(|seen| seen.uid),
                changed: is_other,
                noted,
            })
            .write(ClusterWrite::ThinHistory {
                id: cluster.id,
                before: now.checked_sub(SAMPLES).unwrap_or(now),
            });
        if noted {
            let actor = Actor::system("cluster-health");
            let said = "uses the credential to look at the cluster; the first time today";
            changes = changes.audit(AuditEntry::done(
                &actor,
                "cluster.access",
                resource(cluster.name.as_str()),
                said,
            ));
        }
        if is_other {
            let level = (cluster.health.status, health.status);
            tracing::info!(
                cluster = cluster.name.as_str(),
                before = %level.0,
                now = %level.1,
                reason = health.reason.as_deref().unwrap_or_default(),
                "the health of a cluster changed"
            );
            let data = serde_json::json!({
                "healthStatus": health.status,
                "previous": cluster.health.status,
                "reason": health.reason,
            });
            changes = changes.tell(news(cluster, "healthChanged", data));
        }
        Ok(manager.store().commit(changes).await?)
    }
}

#[async_trait]
impl Worker for ClusterHealthWorker {
    fn kind(&self) -> &'static str {
        CLUSTER_HEALTH
    }

    /// Clusters that do not answer cost a wait each, and no other should have to wait with them.
    fn at_once(&self) -> u32 {
        32
    }

    async fn work(&self, claim: &Claim) -> Result<Next, Error> {
        let manager = &self.manager;
        let cluster = match claim.work.key.parse::<ClusterId>() {
            Ok(id) => manager.store().cluster(id).await?,
            Err(_) => None,
        };
        let Some(cluster) = cluster.filter(|cluster| cluster.state == State::Enabled) else {
            let changes = Changeset::new().fenced(claim.fence()).end(claim.work.clone());
            manager.store().commit(changes).await?;
            return Ok(Next::Ended);
        };
        let began = manager.now();
        let seen = manager.parts.clusters.look_at(cluster.id).await?;
        self.keep(claim, &cluster, seen, began).await?;
        Ok(Next::After(jittered(manager.settings.cluster_health_every)))
    }
}

/// So long, give or take a tenth, so that a fleet is not looked at all at once.
pub(super) fn jittered(every: Duration) -> Duration {
    let random = Uuid::new_v4().as_bytes()[0];
    every.mul_f64(0.9 + 0.2 * f64::from(random) / 255.0)
}

fn day(at: Timestamp) -> jiff::civil::Date {
    at.to_zoned(TimeZone::UTC).date()
}
