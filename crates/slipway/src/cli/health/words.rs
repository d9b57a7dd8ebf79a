//! What is printed about the health of operators.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;
use slipway_contract::health::{
    BaselineReply, ClusterOperatorHealth, FleetHealthReply, Health, HealthHistory, HealthReason,
    OperatorHealthReply, WebhookStatus,
};
use slipway_contract::server::EventMessage;

use crate::cli::relative::{ago, until};
use crate::cli::table::{Cell, facts, table};

pub(super) fn fleet(reply: &FleetHealthReply) -> String {
    let number = |count: u64| Cell::from(if count == 0 { None } else { Some(count.to_string()) });
    let rows = reply.operators.iter().map(|operator| {
        vec![
            (&operator.operator_name).into(),
            verdict(operator.overall_health),
            number(operator.healthy_clusters),
            number(operator.degraded_clusters),
            number(operator.unhealthy_clusters),
            number(operator.unknown_clusters),
        ]
    });
    let mut text = table(
        &["OPERATOR", "HEALTH", "HEALTHY", "DEGRADED", "UNHEALTHY", "UNKNOWN"],
        rows,
        "no operators; add one: slipway operator add NAME --repository URL",
    );
    if let Some(operator) = reply.operators.first().filter(|operator| is_bad(operator.overall_health)) {
        let _ = writeln!(text, "see why: slipway operator health {}", operator.operator_name);
    }
    if let Some(next) = reply.page.next_offset {
        let more = reply.page.total.saturating_sub(next);
        let _ = writeln!(text, "{more} more: slipway health --offset {next}");
    }
    text
}

pub(super) fn operator(reply: &OperatorHealthReply, now: Timestamp) -> String {
    let mut text = format!("{}  {:?}", reply.operator_name, reply.overall_health);
    for (count, word) in [
        (reply.healthy_clusters, "healthy"),
        (reply.degraded_clusters, "degraded"),
        (reply.unhealthy_clusters, "unhealthy"),
        (reply.unknown_clusters, "unknown"),
    ] {
        if count > 0 {
            let _ = write!(text, "  {count} {word}");
        }
    }
    text.push('\n');
    let rows = reply.clusters.iter().map(|cluster| {
        let pods = &cluster.controller_pod_health;
        vec![
            (&cluster.cluster_name).into(),
            verdict(cluster.health),
            cluster.version.clone().into(),
            format!("{}/{}", pods.ready_pods, pods.expected_pods).into(),
            format!("{:?}", cluster.webhook_status).into(),
            format!("{:?}", cluster.crd_reconciliation).into(),
            cluster.last_checked.map(|at| ago(at, now)).into(),
            cluster.error_message.clone().unwrap_or_default().into(),
        ]
    });
    text.push_str(&table(
        &["CLUSTER", "HEALTH", "VERSION", "PODS", "WEBHOOKS", "RESOURCES", "CHECKED", "WHY"],
        rows,
        "installed on no cluster that is registered\n",
    ));
    if let Some(cluster) = reply.clusters.iter().find(|cluster| is_bad(cluster.health)) {
        let _ = writeln!(
            text,
            "see all of it: slipway operator health {} --cluster {}",
            reply.operator_name, cluster.cluster_name
        );
    }
    text
}

pub(super) fn cluster(reply: &ClusterOperatorHealth, now: Timestamp) -> String {
    let mut text = format!("{} on {}  {:?}", reply.operator_name, reply.cluster_name, reply.health);
    if let Some(since) = reply.since {
        let age = ago(since, now);
        let _ = match age.strip_suffix(" ago") {
            Some(span) => write!(text, " for {span}"),
            None => write!(text, " since {age}"),
        };
    }
    if reply.consecutive_failures > 0 {
        let _ = write!(text, ", {} failed checks in a row", reply.consecutive_failures);
    }
    text.push('\n');
    for reason in &reply.reasons {
        let _ = writeln!(text, "  {:<9}  {}", weight(reason), reason.text);
    }
    let pods = &reply.controller_pod_health;
    let resources = &reply.crd_reconciliation_health;
    let percent = |share: Option<f64>| share.map(|share| format!("{share:.0} %"));
    let mut rows: Vec<(&'static str, Cell)> = vec![
        ("version", reply.version.clone().into()),
        ("pods", format!("{} of {} ready", pods.ready_pods, pods.expected_pods).into()),
    ];
    if let (Some(cpu), Some(memory)) = (percent(pods.cpu_usage_percent), percent(pods.memory_usage_percent)) {
        rows.push(("usage", format!("processor {cpu}, memory {memory} of the limit").into()));
    }
    rows.push(("webhooks", webhooks(reply, now).into()));
    rows.push((
        "resources",
        format!(
            "{} in all, {} on their way, {} stale",
            resources.objects, resources.active_reconciliations, resources.stale_reconciliations
        )
        .into(),
    ));
    if let Some(smoke) = &reply.smoke_test {
        let end = if smoke.passed { "passed" } else { "failed" };
        rows.push(("smoke test", format!("{end} {} with {}", ago(smoke.at, now), smoke.object).into()));
    }
    rows.push(("checked", reply.last_checked.map(|at| ago(at, now)).into()));
    text.push_str(&facts(rows));
    for kind in reply.kinds.iter().filter(|kind| !kind.examples.is_empty()) {
        let _ = writeln!(text, "{}: {} of {} stale", kind.kind, kind.stale, kind.objects);
        for example in &kind.examples {
            let _ = writeln!(text, "  {example}");
        }
    }
    if !reply.logs.is_empty() {
        text.push_str("last errors in the logs\n");
        for line in &reply.logs {
            let _ = writeln!(text, "  {}: {}", line.pod, line.line.replace(char::is_control, " "));
        }
    }
    text
}

fn webhooks(reply: &ClusterOperatorHealth, now: Timestamp) -> String {
    let Some(health) = &reply.webhook_health else {
        return match reply.webhook_status {
            WebhookStatus::None => "none".to_owned(),
            _ => "unknown".to_owned(),
        };
    };
    let answered = reply.webhooks.iter().filter(|hook| hook.answer == "answered").count();
    let mut text = format!("{answered} of {} answered", reply.webhooks.len());
    if let Some(latency) = health.latency_ms {
        let _ = write!(text, ", {latency} ms at most");
    }
    if let Some(end) = health.certificate_expires_at {
        let _ = write!(text, ", certificate ends {}", until(end, now));
    }
    text
}

pub(super) fn history(reply: &HealthHistory, now: Timestamp) -> String {
    let rows = reply.samples.iter().map(|sample| {
        let why = sample.reasons.first().map(|reason| reason.text.clone());
        vec![
            sample.at.strftime("%Y-%m-%d %H:%M:%S").to_string().into(),
            ago(sample.at, now).into(),
            verdict(sample.health),
            format!("{}/{}", sample.ready_pods, sample.expected_pods).into(),
            why.unwrap_or_default().into(),
        ]
    });
    table(&["AT (UTC)", "", "HEALTH", "PODS", "WHY"], rows, "nothing was recorded yet\n")
}

pub(super) fn baseline(reply: &BaselineReply, operator: &str, cluster: &str) -> String {
    let mut text = format!("from now on {operator} on {cluster} is compared with how it is now\n");
    for (count, what) in [
        (reply.stale_objects, "custom resources are stale and do not count any more"),
        (reply.webhooks.len() as u64, "webhooks fail"),
        (reply.workloads.len() as u64, "workloads are short of pods"),
    ] {
        if count > 0 {
            let _ = writeln!(text, "  {count} {what}");
        }
    }
    text
}

pub(super) fn change(event: &EventMessage) -> String {
    let text = |key: &str| event.data.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut line = format!(
        "{}  {}  {} → {}",
        event.at.strftime("%H:%M:%S"),
        text("clusterName"),
        text("previous"),
        text("health")
    );
    if !text("reason").is_empty() {
        let _ = write!(line, "  {}", text("reason"));
    }
    line.replace(char::is_control, " ") + "\n"
}

fn verdict(health: Health) -> Cell {
    Cell::health(format!("{health:?}"))
}

fn is_bad(health: Health) -> bool {
    matches!(health, Health::Degraded | Health::Unhealthy)
}

fn weight(reason: &HealthReason) -> &str {
    if reason.known { "as before" } else { &reason.weight }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn sick() -> ClusterOperatorHealth {
        serde_json::from_value(json!({
            "clusterName": "prod-eu", "operatorName": "boats", "version": "1.2.3", "health": "Unhealthy",
            "since": "2026-11-15T11:58:00Z", "controllerPods": 1, "webhookStatus": "Unavailable",
            "crdReconciliation": "Stale", "lastChecked": "2026-11-15T11:59:40Z",
            "lastCheckedAt": "2026-11-15T11:59:40Z",
            "reasons": [
                {"part": "webhooks", "weight": "failing", "known": false,
                 "text": "webhook \"validate.boats.dev\" cannot be called: connection refused"},
                {"part": "reconciliation", "weight": "note", "known": true, "text": "1 of 90 objects"}],
            "controllerPodHealth": {"readyPods": 1, "expectedPods": 2, "crashLoopPods": 0, "averageRestarts": 0.0,
                "cpuUsagePercent": null, "memoryUsagePercent": null},
            "webhookHealth": {"endpointUrl": "boats/webhook:443/validate", "isReachable": false, "latencyMs": null,
                "certificateExpiresAt": "2026-12-15T12:00:00Z", "lastCallAt": null},
            "crdReconciliationHealth": {"objects": 90, "activeReconciliations": 2, "staleReconciliations": 1,
                "errorRate": 0.01, "averageReconciliationMs": null, "lastReconciliationAt": null},
            "errorMessage": "webhook \"validate.boats.dev\" cannot be called: connection refused",
            "consecutiveFailures": 4, "webhooks": [], "conversions": [],
            "kinds": [{"crd": "boats.sea.dev", "kind": "Boat", "objects": 90, "stale": 1, "known": 0,
                "examples": ["sea/ark: not Ready for 7 min: water comes in"]}],
            "smokeTest": null, "fresh": false, "tookMs": 40,
            "logs": [{"pod": "boats-1", "container": "manager", "at": null, "line": "ERROR no route"}]
        }))
        .unwrap()
    }

    #[test]
    fn one_cluster_is_told_with_its_reasons_first() {
        insta::assert_snapshot!(cluster(&sick(), at("2026-11-15T12:00:00Z")), @r#"
        boats on prod-eu  Unhealthy for 2 minutes, 4 failed checks in a row
          failing    webhook "validate.boats.dev" cannot be called: connection refused
          as before  1 of 90 objects
        version    1.2.3
        pods       1 of 2 ready
        webhooks   0 of 0 answered, certificate ends in 30 days
        resources  90 in all, 2 on their way, 1 stale
        checked    20 seconds ago
        Boat: 1 of 90 stale
          sea/ark: not Ready for 7 min: water comes in
        last errors in the logs
          boats-1: ERROR no route
        "#);
    }

    #[test]
    fn all_clusters_are_a_line_each_with_why_and_the_next_command() {
        let reply = OperatorHealthReply {
            operator_name: "boats".into(),
            overall_health: Health::Unhealthy,
            healthy_clusters: 0,
            degraded_clusters: 0,
            unhealthy_clusters: 1,
            unknown_clusters: 0,
            clusters: vec![sick()],
        };
        insta::assert_snapshot!(operator(&reply, at("2026-11-15T12:00:00Z")), @r#"
        boats  Unhealthy  1 unhealthy
        CLUSTER  HEALTH     VERSION  PODS  WEBHOOKS     RESOURCES  CHECKED         WHY
        prod-eu  Unhealthy  1.2.3    1/2   Unavailable  Stale      20 seconds ago  webhook "validate.boats.dev" cannot be called: connection refused
        see all of it: slipway operator health boats --cluster prod-eu
        "#);
    }

    #[test]
    fn a_change_is_one_line() {
        let event = EventMessage {
            number: 7,
            at: at("2026-11-15T12:00:00Z"),
            topic: "operator".into(),
            subject: "boats".into(),
            kind: "healthChanged".into(),
            data: json!({"clusterName": "prod-eu", "previous": "Healthy", "health": "Unhealthy", "reason": "no pods"}),
        };
        assert_eq!(change(&event), "12:00:00  prod-eu  Healthy → Unhealthy  no pods\n");
    }
}
