//! Taking the baseline that health is compared with.

use serde_json::json;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::cluster::Cluster;
use slipway_domain::health::{Baseline, Look, Observation};
use slipway_domain::operator::Operator;

use super::check::Occasion;
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::store::{HealthWrite, Place};

impl Manager {
    /// Takes what is broken now as given: from now on only what gets worse counts against custom resources,
    /// and against a change. A rollout does this before it touches a cluster.
    pub async fn take_health_baseline(
        &self,
        actor: &Actor,
        cluster: &str,
        operator: &str,
    ) -> Result<Baseline, Error> {
        let resource = format!("operator/{operator}");
        self.permit(actor, Permission::Deploy, "operator.healthBaseline", &resource).await?;
        let (cluster, operator) = self.cluster_and_operator(cluster, operator).await?;
        let baseline = self.look_for_baseline(&cluster, &operator).await?;
        let place = Place { cluster: cluster.id, operator: operator.id };
        let stale: usize = baseline.stale.values().map(std::collections::BTreeSet::len).sum();
        let message = format!(
            "took the state on cluster {} as the baseline: {stale} stale objects, {} webhooks that fail",
            cluster.name,
            baseline.webhooks.len()
        );
        let facts = json!({
            "cluster": cluster.name.as_str(),
            "shortages": baseline.shortages,
            "crashing": baseline.crashing,
            "webhooks": baseline.webhooks,
            "staleObjects": stale,
        });
        let entry =
            AuditEntry::done(actor, "operator.healthBaseline", resource, message).changing(None, Some(facts));
        let changes = self
            .check_soon(Changeset::new(), place)
            .write(HealthWrite::Baseline(place, Box::new(baseline.clone())))
            .audit(entry);
        self.store().commit(changes).await?;
        Ok(baseline)
    }

    pub(crate) async fn look_for_baseline(
        &self,
        cluster: &Cluster,
        operator: &Operator,
    ) -> Result<Baseline, Error> {
        let Some(target) = self.health_target(cluster, operator).await? else {
            let text = format!("{} is not installed on cluster {}", operator.name, cluster.name);
            return Err(Error::new(Code::NotFound, text));
        };
        let place = Place { cluster: cluster.id, operator: operator.id };
        let record = self.health_record(place).await?;
        let (seen, _) = self.look(&target, &record, Occasion::Asked).await;
        // A baseline of what was not seen would excuse everything that it hides.
        if let Some(why) = unseen(&seen) {
            let text = format!("no baseline can be taken of {} on {}: {why}", operator.name, cluster.name);
            return Err(Error::new(Code::ClusterUnreachable, text));
        }
        Ok(Baseline::of(&seen, &record.memory, &target.rules.limits))
    }
}

fn unseen(seen: &Observation) -> Option<&str> {
    match (&seen.workloads, &seen.webhooks, &seen.resources) {
        (Look::Unseen(why), _, _) | (_, Look::Unseen(why), _) | (_, _, Look::Unseen(why)) => Some(why),
        (Look::Seen(_), Look::Seen(_), Look::Seen(_)) => None,
    }
}
