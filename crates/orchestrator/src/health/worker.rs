//! Checking operators again and again, one server at a time for each operator and cluster.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use slipway_domain::access::Actor;
use slipway_domain::audit::AuditEntry;
use slipway_domain::cluster::{Cluster, State};
use slipway_domain::health::{self, Reason, Weight};
use slipway_domain::operator::Operator;
use uuid::Uuid;

use super::check::{Checked, Occasion};
use super::{OPERATOR_HEALTH, news, place_of, work};
use crate::changes::Changeset;
use crate::error::Error;
use crate::manager::Manager;
use crate::notices::{Alert, AlertState};
use crate::ports::store::{Claim, HealthWrite, Message, Place};
use crate::workers::{Next, Worker};

/// So many findings are told in a message.
const FINDINGS: usize = 5;

/// Checks operators on clusters.
pub struct OperatorHealthWorker {
    manager: Manager,
}

impl OperatorHealthWorker {
    /// For a manager.
    pub fn new(manager: Manager) -> Self {
        Self { manager }
    }

    async fn forget(&self, claim: &Claim, place: Option<Place>) -> Result<Next, Error> {
        let mut changes = Changeset::new().fenced(claim.fence()).end(claim.work.clone());
        if let Some(place) = place {
            changes = changes.write(HealthWrite::Forget(place));
        }
        self.manager.store().commit(changes).await?;
        Ok(Next::Ended)
    }

    async fn keep(
        &self,
        claim: &Claim,
        cluster: &Cluster,
        operator: &Operator,
        checked: Checked,
        before: health::Verdict,
    ) -> Result<(), Error> {
        let manager = &self.manager;
        let Checked { record, sample, alert, smoked } = checked;
        let (cluster_name, operator_name) = (cluster.name.as_str(), operator.name.as_str());
        let mut changes = Changeset::new().fenced(claim.fence());
        if sample.changed {
            let headline = record.health.as_ref().and_then(|health| health.headline());
            tracing::info!(
                cluster = cluster_name,
                operatorName = operator_name,
                before = %before,
                now = %sample.verdict,
                reason = headline.unwrap_or_default(),
                "the health of an operator changed"
            );
            let data = json!({
                "clusterName": cluster_name,
                "health": sample.verdict,
                "previous": before,
                "reason": headline,
            });
            changes = changes.tell(news(operator_name, "healthChanged", data));
        }
        if let Some(alert) = alert {
            for message in self.messages(cluster, operator, alert, &sample.reasons).await? {
                changes = changes.send(message);
            }
            let (kind, failures) = match alert {
                health::Alert::Failing { failures, .. } => ("unhealthy", failures),
                health::Alert::Recovered { .. } => ("recovered", 0),
            };
            let data =
                json!({"clusterName": cluster_name, "health": sample.verdict, "failedChecks": failures});
            changes = changes.tell(news(operator_name, kind, data));
        }
        if smoked {
            let entry = AuditEntry::done(
                &Actor::system("operator-health"),
                "operator.smokeTest",
                format!("operator/{operator_name}"),
                format!("made and removed the sample object of its profile on cluster {cluster_name}"),
            );
            changes = changes.audit(entry);
        }
        let write = HealthWrite::Record { record: Box::new(record), sample: Box::new(sample) };
        Ok(manager.store().commit(changes.write(write)).await?)
    }

    async fn messages(
        &self,
        cluster: &Cluster,
        operator: &Operator,
        alert: health::Alert,
        reasons: &[Reason],
    ) -> Result<Vec<Message>, Error> {
        let (since, state) = match alert {
            health::Alert::Failing { since, failures } => {
                let heavy = reasons.iter().filter(|reason| reason.weight > Weight::Note);
                let findings = heavy.take(FINDINGS).map(|reason| reason.text.clone()).collect();
                (since, AlertState::Unhealthy { findings, checks: failures })
            }
            health::Alert::Recovered { since } => (since, AlertState::Recovered { at: self.manager.now() }),
        };
        let alert = Alert {
            cluster: cluster.id,
            cluster_name: cluster.name.to_string(),
            environment: cluster.environment,
            operator: operator.id,
            operator_name: operator.name.to_string(),
            began_at: since,
            state,
        };
        let notice = alert.notice(&self.manager.settings.public_url);
        self.manager.messages(&notice, &alert.audience()).await
    }
}

#[async_trait]
impl Worker for OperatorHealthWorker {
    fn kind(&self) -> &'static str {
        OPERATOR_HEALTH
    }

    /// Clusters that do not answer cost a wait each, and no other should have to wait with them.
    fn at_once(&self) -> u32 {
        16
    }

    async fn work(&self, claim: &Claim) -> Result<Next, Error> {
        let manager = &self.manager;
        let Some(place) = place_of(&claim.work.key) else { return self.forget(claim, None).await };
        let (cluster, operator) =
            (manager.store().cluster(place.cluster).await?, manager.store().operator(place.operator).await?);
        let (Some(cluster), Some(operator)) = (cluster, operator) else {
            return self.forget(claim, Some(place)).await;
        };
        let again = Next::After(jittered(manager.settings.operator_health_every));
        // A cluster that takes no part keeps what is known of it.
        if cluster.state != State::Enabled {
            return Ok(again);
        }
        let Some(target) = manager.health_target(&cluster, &operator).await? else {
            return self.forget(claim, Some(place)).await;
        };
        let record = manager.health_record(place).await?;
        let checked = manager.check_health(&target, &record, Occasion::Regular).await?;
        self.keep(claim, &cluster, &operator, checked, record.verdict()).await?;
        Ok(again)
    }
}

/// So long, give or take a tenth, so that a fleet is not looked at all at once.
pub(super) fn jittered(every: Duration) -> Duration {
    let random = Uuid::new_v4().as_bytes()[0];
    every.mul_f64(0.9 + 0.2 * f64::from(random) / 255.0)
}

impl Manager {
    /// Has an operator on a cluster checked as soon as can be, such as after it was changed.
    pub(crate) fn check_soon(&self, changes: Changeset, place: Place) -> Changeset {
        changes.write(HealthWrite::Watch(place)).due(work(place), self.now())
    }
}
