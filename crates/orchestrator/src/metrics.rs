//! What is counted about the manager's work, under the names of the specification with `_` for each dot.
//!
//! Counters and times are those of one server. Gauges are of the whole: each server shows the same, read
//! from the database when somebody asks for the figures, so take the largest of them and never their sum.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use slipway_domain::approval::Approval;
use slipway_domain::cluster::HealthStatus;
use slipway_domain::health::Verdict;
use slipway_domain::rollout::{ActKey, Outcome};

use crate::error::Error;
use crate::manager::Manager;
use crate::ports::store::{Figures, Message, Recipient, Rollout};

/// Seconds, around what is promised of health checks: half a second to three.
const CHECKS: [f64; 12] = [0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByHealth {
    health: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Compatible {
    compatible: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    r#type: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    r#type: String,
    status: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Told {
    kind: String,
    by: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Rolled {
    strategy: String,
    status: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Stepped {
    step: String,
    result: &'static str,
}

/// Seconds, from one helm run to a rollout over hours.
const ROLLOUTS: [f64; 12] = [0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 180.0, 300.0, 900.0, 1800.0, 3600.0, 14400.0];

/// Makes histograms of rollouts and their steps.
#[derive(Debug, Clone)]
struct OfRollouts;

impl MetricConstructor<Histogram> for OfRollouts {
    fn new_metric(&self) -> Histogram {
        Histogram::new(ROLLOUTS)
    }
}

/// Makes histograms of health checks.
#[derive(Debug, Clone)]
struct OfChecks;

impl MetricConstructor<Histogram> for OfChecks {
    fn new_metric(&self) -> Histogram {
        Histogram::new(CHECKS)
    }
}

type Checks = Family<ByHealth, Histogram, OfChecks>;

/// What became of trying to send a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It was taken.
    Sent,
    /// It was not, and is tried again.
    Failed,
    /// It was not, and will not be.
    GivenUp,
}

/// What is counted. Clones count together.
#[derive(Debug, Clone)]
pub struct Metrics {
    clusters_registered: Counter,
    crds_validated: Family<Compatible, Counter>,
    operator_checks: Checks,
    cluster_checks: Checks,
    approvals_requested: Family<Asked, Counter>,
    approvals_ended: Family<Ended, Counter>,
    notifications: Family<Told, Counter>,
    rollouts: Family<Rolled, Counter>,
    rollout_times: Family<Rolled, Histogram, OfRollouts>,
    step_times: Family<Stepped, Histogram, OfRollouts>,
    operators: Gauge,
    clusters: Gauge,
    operator_health: [(Verdict, Gauge); 4],
    cluster_health: [(HealthStatus, Gauge); 4],
    operators_drifted: Gauge,
    approvals_pending: Gauge,
    notifications_waiting: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let statuses =
            [HealthStatus::Unknown, HealthStatus::Healthy, HealthStatus::Degraded, HealthStatus::Unhealthy];
        Self {
            clusters_registered: Counter::default(),
            crds_validated: Family::default(),
            operator_checks: Checks::new_with_constructor(OfChecks),
            cluster_checks: Checks::new_with_constructor(OfChecks),
            approvals_requested: Family::default(),
            approvals_ended: Family::default(),
            notifications: Family::default(),
            rollouts: Family::default(),
            rollout_times: Family::new_with_constructor(OfRollouts),
            step_times: Family::new_with_constructor(OfRollouts),
            operators: Gauge::default(),
            clusters: Gauge::default(),
            operator_health: Verdict::ALL.map(|verdict| (verdict, Gauge::default())),
            cluster_health: statuses.map(|status| (status, Gauge::default())),
            operators_drifted: Gauge::default(),
            approvals_pending: Gauge::default(),
            notifications_waiting: Gauge::default(),
        }
    }
}

impl Metrics {
    /// Shows them in a registry.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("clusters_registered", "Clusters registered", self.clusters_registered.clone());
        registry.register(
            "crds_validated",
            "CRD schemas judged, by whether nothing breaks",
            self.crds_validated.clone(),
        );
        registry.register(
            "operator_healthcheck_duration_seconds",
            "Time to check an operator on a cluster, by what was found",
            self.operator_checks.clone(),
        );
        registry.register(
            "cluster_healthcheck_duration_seconds",
            "Time to check a cluster, by what was found",
            self.cluster_checks.clone(),
        );
        registry.register(
            "approvals_requested",
            "Approvals asked for, by type",
            self.approvals_requested.clone(),
        );
        registry.register(
            "approvals_ended",
            "Approvals that ended, by type and how",
            self.approvals_ended.clone(),
        );
        registry.register(
            "notifications",
            "Tries to send a message, by kind, way and result",
            self.notifications.clone(),
        );
        registry.register(
            "deployments",
            "Deployments that ended, by strategy and how",
            self.rollouts.clone(),
        );
        registry.register(
            "operator_deploy_duration_seconds",
            "Time from a deployment's start to its end, by strategy and how it ended",
            self.rollout_times.clone(),
        );
        registry.register(
            "operator_step_duration_seconds",
            "Time of one step on one cluster, by step and result",
            self.step_times.clone(),
        );
        registry.register("operators_count", "Operators registered", self.operators.clone());
        registry.register("clusters_count", "Clusters registered now", self.clusters.clone());
        for (verdict, gauge) in &self.operator_health {
            let word = verdict.as_str().to_lowercase();
            let help = format!("Operators on clusters whose health is {verdict}, counted per cluster");
            registry.register(format!("operators_{word}"), help, gauge.clone());
        }
        registry.register(
            "operators_drifted",
            "Operators on clusters that are not as they were released, counted per cluster",
            self.operators_drifted.clone(),
        );
        for (status, gauge) in &self.cluster_health {
            let word = status.to_string().to_lowercase();
            registry.register(
                format!("clusters_{word}"),
                format!("Clusters whose health is {status}"),
                gauge.clone(),
            );
        }
        registry.register(
            "approvals_pending",
            "Approvals that wait for people",
            self.approvals_pending.clone(),
        );
        registry.register(
            "notifications_waiting",
            "Messages that are not sent yet",
            self.notifications_waiting.clone(),
        );
    }

    pub(crate) fn cluster_registered(&self) {
        self.clusters_registered.inc();
    }

    pub(crate) fn crd_validated(&self, compatible: bool) {
        let compatible = if compatible { "true" } else { "false" };
        self.crds_validated.get_or_create(&Compatible { compatible }).inc();
    }

    pub(crate) fn operator_checked(&self, verdict: Verdict, took: Duration) {
        let health = verdict.as_str();
        self.operator_checks.get_or_create(&ByHealth { health }).observe(took.as_secs_f64());
    }

    pub(crate) fn cluster_checked(&self, status: HealthStatus, took: Duration) {
        let health = match status {
            HealthStatus::Unknown => "Unknown",
            HealthStatus::Healthy => "Healthy",
            HealthStatus::Degraded => "Degraded",
            HealthStatus::Unhealthy => "Unhealthy",
        };
        self.cluster_checks.get_or_create(&ByHealth { health }).observe(took.as_secs_f64());
    }

    /// A rollout ended, or ended otherwise than before.
    pub(crate) fn rollout_ended(&self, rollout: &Rollout) {
        let labels = Rolled {
            strategy: rollout.state.spec.settings.strategy.kind().to_string(),
            status: rollout.state.status.to_string(),
        };
        self.rollouts.get_or_create(&labels).inc();
        if let Some(ended) = rollout.ended_at {
            let took = ended.duration_since(rollout.created_at).as_secs_f64();
            self.rollout_times.get_or_create(&labels).observe(took);
        }
    }

    /// A step was done, or was not.
    pub(crate) fn stepped(&self, step: &ActKey, outcome: &Outcome, took: Duration) {
        let result = match outcome {
            Outcome::Done(_) => "done",
            Outcome::Unreachable { .. } => "unreachable",
            Outcome::Hiccup { .. } => "hiccup",
            Outcome::Lost { .. } => "lost",
            Outcome::Failed { .. } => "failed",
        };
        let labels = Stepped { step: format!("{:?}", step.kind), result };
        self.step_times.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// An approval was asked for, or came to be as it is now.
    pub(crate) fn approval(&self, new: bool, approval: &Approval) {
        let kind = approval.kind.to_string();
        if new {
            self.approvals_requested.get_or_create(&Asked { r#type: kind.clone() }).inc();
        }
        if approval.ended_at.is_some() {
            let ended = Ended { r#type: kind, status: approval.status.to_string() };
            self.approvals_ended.get_or_create(&ended).inc();
        }
    }

    pub(crate) fn delivery(&self, message: &Message, delivery: Delivery) {
        let told = Told {
            kind: message.kind.clone(),
            by: match message.to {
                Recipient::Mail { .. } => "mail",
                Recipient::Webhook { .. } => "webhook",
            },
            result: match delivery {
                Delivery::Sent => "sent",
                Delivery::Failed => "failed",
                Delivery::GivenUp => "given_up",
            },
        };
        self.notifications.get_or_create(&told).inc();
    }

    fn show(&self, figures: &Figures) {
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.operators.set(count(figures.operators));
        self.clusters.set(count(figures.clusters.iter().map(|(_, number)| number).sum()));
        for (verdict, gauge) in &self.operator_health {
            let found = figures.operator_health.iter().find(|(found, _)| found == verdict);
            gauge.set(count(found.map_or(0, |(_, number)| *number)));
        }
        for (status, gauge) in &self.cluster_health {
            let found = figures.clusters.iter().find(|(found, _)| found == status);
            gauge.set(count(found.map_or(0, |(_, number)| *number)));
        }
        self.operators_drifted.set(count(figures.drifted));
        self.approvals_pending.set(count(figures.approvals_pending));
        self.notifications_waiting.set(count(figures.messages_waiting));
    }
}

impl Manager {
    /// What this server counts.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Reads anew what is counted of the whole; for whoever shows the figures. What cannot be read stays as
    /// it was.
    pub async fn refresh_metrics(&self) -> Result<(), Error> {
        self.metrics.show(&self.store().figures().await?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_of_the_specification_has_its_name() {
        let metrics = Metrics::default();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        metrics.cluster_registered();
        metrics.crd_validated(false);
        metrics.operator_checked(Verdict::Healthy, Duration::from_millis(250));
        metrics.show(&Figures {
            operators: 3,
            clusters: vec![(HealthStatus::Healthy, 2), (HealthStatus::Unhealthy, 1)],
            operator_health: vec![(Verdict::Healthy, 5), (Verdict::Unhealthy, 1)],
            drifted: 2,
            approvals_pending: 4,
            messages_waiting: 6,
        });
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            "clusters_registered_total 1",
            "crds_validated_total{compatible=\"false\"} 1",
            "operator_healthcheck_duration_seconds_bucket{le=\"0.3\",health=\"Healthy\"} 1",
            "operators_count 3",
            "clusters_count 3",
            "clusters_unhealthy 1",
            "operators_healthy 5",
            "operators_unhealthy 1",
            "operators_degraded 0",
            "operators_drifted 2",
            "approvals_pending 4",
            "notifications_waiting 6",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is not in:\n{text}");
        }
    }
}
