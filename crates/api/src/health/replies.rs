//! What is sent of the health of operators.

use std::time::Duration;

use slipway_contract::health as wire;
use slipway_domain::health::{
    Baseline, ConversionSeen, KindHealth, LogLine, OperatorHealth, Part, Reason, SmokeSeen, Verdict,
    WebhookAnswer, WebhookKind, WebhookSeen, Weight,
};
use slipway_orchestrator::health::{ClusterView, FleetView, OperatorView};
use slipway_orchestrator::ports::store::HealthSample;

pub(super) fn operator(view: OperatorView) -> wire::OperatorHealthReply {
    wire::OperatorHealthReply {
        operator_name: view.operator_name,
        overall_health: health(view.fleet.overall),
        healthy_clusters: view.fleet.healthy,
        degraded_clusters: view.fleet.degraded,
        unhealthy_clusters: view.fleet.unhealthy,
        unknown_clusters: view.fleet.unknown,
        clusters: view.clusters.into_iter().map(cluster).collect(),
    }
}

pub(super) fn cluster(view: ClusterView) -> wire::ClusterOperatorHealth {
    let ClusterView { cluster_name, operator_name, version, record, fresh, .. } = view;
    let verdict = record.verdict();
    let found = record.health;
    let checked = found.as_ref().map(|found| found.checked_at);
    let headline = match &found {
        Some(found) => found.headline().map(str::to_owned),
        None => Some("it was not looked at yet".to_owned()),
    };
    wire::ClusterOperatorHealth {
        cluster_name,
        operator_name,
        version,
        health: health(verdict),
        since: record.since,
        reasons: found.iter().flat_map(|found| found.reasons.iter().map(reason)).collect(),
        controller_pods: found.as_ref().map_or(0, |found| found.pods.ready),
        webhook_status: found.as_ref().map_or(wire::WebhookStatus::Unknown, webhook_status),
        crd_reconciliation: found.as_ref().map_or(wire::ReconciliationStatus::Unknown, reconciliation_status),
        last_checked: checked,
        controller_pod_health: found.as_ref().map(pods).unwrap_or_default(),
        webhook_health: found.as_ref().and_then(webhooks),
        crd_reconciliation_health: found.as_ref().map(reconciliation).unwrap_or_default(),
        last_checked_at: checked,
        error_message: headline,
        consecutive_failures: record.episode.failures,
        webhooks: found.iter().flat_map(|found| found.webhooks.webhooks.iter().map(webhook)).collect(),
        conversions: found
            .iter()
            .flat_map(|found| found.webhooks.conversions.iter().map(conversion))
            .collect(),
        kinds: found.iter().flat_map(|found| found.reconciliation.kinds.iter().map(kind)).collect(),
        smoke_test: found.as_ref().and_then(|found| found.smoke.as_ref()).map(smoke),
        took_ms: found.as_ref().map(|found| millis(found.took)),
        logs: found.into_iter().flat_map(|found| found.logs).map(line).collect(),
        fresh,
    }
}

pub(super) fn sample(sample: &HealthSample) -> wire::HealthSample {
    wire::HealthSample {
        at: sample.at,
        health: health(sample.verdict),
        changed: sample.changed,
        reasons: sample.reasons.iter().map(reason).collect(),
        ready_pods: sample.pods.0,
        expected_pods: sample.pods.1,
        error_rate: sample.error_rate,
    }
}

pub(super) fn baseline(baseline: &Baseline) -> wire::BaselineReply {
    let workloads: std::collections::BTreeSet<&String> =
        baseline.shortages.keys().chain(baseline.crashing.keys()).collect();
    wire::BaselineReply {
        taken_at: baseline.at,
        stale_objects: baseline.stale.values().map(|uids| uids.len() as u64).sum(),
        webhooks: baseline.webhooks.iter().cloned().collect(),
        workloads: workloads.into_iter().cloned().collect(),
    }
}

pub(super) fn fleet_operator(view: FleetView) -> wire::FleetOperator {
    wire::FleetOperator {
        operator_name: view.operator_name,
        overall_health: health(view.fleet.overall),
        healthy_clusters: view.fleet.healthy,
        degraded_clusters: view.fleet.degraded,
        unhealthy_clusters: view.fleet.unhealthy,
        unknown_clusters: view.fleet.unknown,
    }
}

fn health(verdict: Verdict) -> wire::Health {
    match verdict {
        Verdict::Unknown => wire::Health::Unknown,
        Verdict::Healthy => wire::Health::Healthy,
        Verdict::Degraded => wire::Health::Degraded,
        Verdict::Unhealthy => wire::Health::Unhealthy,
    }
}

fn webhook_status(found: &OperatorHealth) -> wire::WebhookStatus {
    match found.webhooks.verdict {
        Verdict::Healthy => wire::WebhookStatus::Available,
        Verdict::Degraded | Verdict::Unhealthy => wire::WebhookStatus::Unavailable,
        Verdict::Unknown => {
            let unseen = found
                .reasons
                .iter()
                .any(|reason| reason.part == Part::Webhooks && reason.weight == Weight::Unseen);
            if found.webhooks.any() || unseen || found.pods.verdict == Verdict::Unknown {
                wire::WebhookStatus::Unknown
            } else {
                wire::WebhookStatus::None
            }
        }
    }
}

fn reconciliation_status(found: &OperatorHealth) -> wire::ReconciliationStatus {
    let kinds = &found.reconciliation.kinds;
    match found.reconciliation.verdict {
        Verdict::Healthy => wire::ReconciliationStatus::Active,
        Verdict::Degraded | Verdict::Unhealthy => wire::ReconciliationStatus::Stale,
        Verdict::Unknown if !kinds.is_empty() && found.reconciliation.objects == 0 => {
            wire::ReconciliationStatus::Idle
        }
        Verdict::Unknown => wire::ReconciliationStatus::Unknown,
    }
}

fn pods(found: &OperatorHealth) -> wire::ControllerPodHealth {
    wire::ControllerPodHealth {
        ready_pods: found.pods.ready,
        expected_pods: found.pods.expected,
        crash_loop_pods: found.pods.crash_looping,
        average_restarts: found.pods.average_restarts,
        cpu_usage_percent: found.pods.cpu_percent,
        memory_usage_percent: found.pods.memory_percent,
    }
}

fn webhooks(found: &OperatorHealth) -> Option<wire::WebhookHealth> {
    let webhooks = &found.webhooks;
    let reachable = webhooks.reachable();
    webhooks.any().then(|| wire::WebhookHealth {
        endpoint_url: webhooks.webhooks.first().map(|hook| hook.endpoint.clone()),
        is_reachable: reachable,
        latency_ms: webhooks.latency().map(millis),
        certificate_expires_at: webhooks.certificate_expires_at(),
        last_call_at: reachable.map(|_| found.checked_at),
    })
}

fn reconciliation(found: &OperatorHealth) -> wire::CrdReconciliationHealth {
    wire::CrdReconciliationHealth {
        objects: found.reconciliation.objects,
        active_reconciliations: found.reconciliation.in_work,
        stale_reconciliations: found.reconciliation.stale,
        error_rate: found.reconciliation.error_rate,
        average_reconciliation_ms: None,
        last_reconciliation_at: found.reconciliation.last_change,
    }
}

fn reason(reason: &Reason) -> wire::HealthReason {
    let part = match reason.part {
        Part::Pods => "pods",
        Part::Webhooks => "webhooks",
        Part::Reconciliation => "reconciliation",
        Part::Smoke => "smoke",
        Part::Rule => "rule",
    };
    let weight = match reason.weight {
        Weight::Note => "note",
        Weight::Unseen => "unseen",
        Weight::Settling => "settling",
        Weight::Degrading => "degrading",
        Weight::Failing => "failing",
    };
    wire::HealthReason {
        part: part.to_owned(),
        weight: weight.to_owned(),
        known: reason.known,
        text: reason.text.clone(),
    }
}

fn answer(answer: &WebhookAnswer) -> (String, Option<String>) {
    match answer {
        WebhookAnswer::Answered => ("answered".to_owned(), None),
        WebhookAnswer::Failed { message } => ("failed".to_owned(), Some(message.clone())),
        WebhookAnswer::NotAsked { why } => ("notAsked".to_owned(), Some(why.clone())),
    }
}

fn webhook(hook: &WebhookSeen) -> wire::WebhookReply {
    let (word, message) = answer(&hook.answer);
    wire::WebhookReply {
        configuration: hook.configuration.clone(),
        name: hook.name.clone(),
        kind: match hook.kind {
            WebhookKind::Validating => "validating",
            WebhookKind::Mutating => "mutating",
        }
        .to_owned(),
        endpoint_url: hook.endpoint.clone(),
        fails_closed: hook.fails_closed,
        answer: word,
        message,
        latency_ms: hook.latency.map(millis),
        certificate_expires_at: hook.certificate.as_ref().map(|certificate| certificate.not_after),
    }
}

fn conversion(read: &ConversionSeen) -> wire::ConversionReply {
    let (word, message) = answer(&read.answer);
    wire::ConversionReply { crd: read.crd.clone(), version: read.version.clone(), answer: word, message }
}

fn kind(kind: &KindHealth) -> wire::KindReply {
    wire::KindReply {
        crd: kind.crd.clone(),
        kind: kind.kind.clone(),
        objects: kind.objects,
        stale: kind.stale,
        known: kind.known,
        examples: kind.examples.clone(),
    }
}

fn smoke(smoke: &SmokeSeen) -> wire::SmokeTestReply {
    wire::SmokeTestReply {
        at: smoke.at,
        object: smoke.object.clone(),
        passed: smoke.failure.is_none(),
        message: smoke.failure.clone(),
        took_ms: millis(smoke.took),
    }
}

fn line(line: LogLine) -> wire::LogLineReply {
    wire::LogLineReply { pod: line.pod, container: line.container, at: line.at, line: line.line }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
