//! One check of an operator on a cluster.

use std::time::Duration;

use jiff::Timestamp;
use slipway_domain::cluster::Cluster;
use slipway_domain::health::{Alert, Look, Memory, Observation, OperatorHealth, judge};
use slipway_domain::operator::{Installation, InstallationState, Manager as ManagedBy, Operator};

use super::rules;
use crate::error::Error;
use crate::manager::Manager;
use crate::ports::probes::{Freshness, Manner, ReleaseAt, Target};
use crate::ports::store::{HealthRecord, HealthSample, Place};

/// How long a look may take; the next check is due soon after.
const WITHIN: Duration = Duration::from_secs(20);

/// A check and what follows from it.
pub(super) struct Checked {
    pub(super) record: HealthRecord,
    pub(super) sample: HealthSample,
    pub(super) alert: Option<Alert>,
    /// Whether a smoke test ran: it changed the cluster for a moment.
    pub(super) smoked: bool,
}

/// How a check is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// The worker's: it counts, and runs the smoke test when its time has come.
    Regular,
    /// Somebody wants to see it now.
    Asked,
}

/// Whether an installation is there to be looked at.
pub(super) fn is_there(installation: &Installation) -> bool {
    installation.seen.state != InstallationState::Uninstalled
}

impl Manager {
    /// What there is to look at; nothing if the operator is not installed there.
    pub(super) async fn health_target(
        &self,
        cluster: &Cluster,
        operator: &Operator,
    ) -> Result<Option<Target>, Error> {
        let installations = self.store().installations(Some(cluster.id), Some(operator.id)).await?;
        let installations: Vec<_> = installations.into_iter().filter(is_there).collect();
        let mut rules = rules::of(&operator.effective_profile());
        // What was not handed over is looked at, and nothing is made there.
        if !installations.iter().any(|installation| installation.seen.managed_by == ManagedBy::Slipway) {
            rules.smoke = None;
        }
        let releases: Vec<ReleaseAt> = installations
            .into_iter()
            .map(|installation| ReleaseAt {
                namespace: installation.seen.namespace,
                name: installation.seen.release,
            })
            .collect();
        Ok((!releases.is_empty()).then(|| Target {
            cluster: cluster.id,
            cluster_name: cluster.name.to_string(),
            operator_name: operator.name.to_string(),
            releases,
            crds: operator.crd_names.clone(),
            rules,
        }))
    }

    /// Looks, judges, and says what follows.
    pub(super) async fn check_health(
        &self,
        target: &Target,
        record: &HealthRecord,
        occasion: Occasion,
    ) -> Result<Checked, Error> {
        let (seen, took) = self.look(target, record, occasion).await;
        let limits = &target.rules.limits;
        let mut memory = match &seen.workloads {
            Look::Seen(workloads) => record.memory.after(workloads, seen.at, limits),
            Look::Unseen(_) => record.memory.clone(),
        };
        let smoked = seen.smoke.is_some();
        if smoked {
            memory.smoke.clone_from(&seen.smoke);
        }
        let baseline = self.store().health_baseline(record.place).await?;
        let health = judge(&seen, &memory, baseline.as_ref(), &target.rules, took);
        self.metrics.operator_checked(health.verdict, took);
        let (episode, alert) = match occasion {
            Occasion::Regular => record.episode.next(health.check(), seen.at, limits.failures),
            Occasion::Asked => (record.episode, None),
        };
        let changed = record.health.as_ref().is_none_or(|before| before.verdict != health.verdict);
        let since = if changed { Some(seen.at) } else { record.since };
        let sample = sample(&health, changed);
        let record = HealthRecord { place: record.place, health: Some(health), since, episode, memory };
        Ok(Checked { record, sample, alert, smoked })
    }

    /// Looks at a target without saying what it means.
    pub(super) async fn look(
        &self,
        target: &Target,
        record: &HealthRecord,
        occasion: Occasion,
    ) -> (Observation, Duration) {
        let at = self.now();
        let manner = Manner {
            at,
            freshness: Freshness::Now,
            within: WITHIN,
            // A first look is not kept waiting by it.
            smoke: occasion == Occasion::Regular
                && record.health.is_some()
                && smoke_is_due(target, &record.memory, at),
        };
        let seen = self.parts.probes.look(target, manner).await;
        (seen, Duration::try_from(self.now().duration_since(at)).unwrap_or_default())
    }

    /// What is kept of a place, or what is known of it before anything is.
    pub(crate) async fn health_record(&self, place: Place) -> Result<HealthRecord, Error> {
        Ok(self.store().operator_health(place).await?.unwrap_or_else(|| HealthRecord::new(place)))
    }
}

fn smoke_is_due(target: &Target, memory: &Memory, now: Timestamp) -> bool {
    let Some(test) = &target.rules.smoke else { return false };
    let Some(last) = &memory.smoke else { return true };
    Duration::try_from(now.duration_since(last.at)).unwrap_or_default() >= test.every
}

fn sample(health: &OperatorHealth, changed: bool) -> HealthSample {
    HealthSample {
        at: health.checked_at,
        verdict: health.verdict,
        changed,
        reasons: health.reasons.clone(),
        pods: (health.pods.ready, health.pods.expected),
        error_rate: health.reconciliation.error_rate.clamp(0.0, 1.0),
    }
}
