//! Clusters in words.

use jiff::Timestamp;
use slipway_contract::clusters::{
    Cluster, ClusterCredentialKind, ClusterHealth, ClusterHealthStatus, RotatedCluster,
};

use super::import::Imported;
use crate::cli::relative::{ago, until};
use crate::cli::table::{Cell, Tone, facts, table};

/// How a cluster is, as one cell.
fn status(cluster: &Cluster) -> Cell {
    if cluster.is_enabled {
        Cell::health(cluster.health_status.to_string())
    } else {
        Cell::new("Disabled", Tone::Quiet)
    }
}

pub(super) fn list(clusters: &[Cluster], now: Timestamp) -> String {
    let rows = clusters.iter().map(|cluster| {
        vec![
            (&cluster.name).into(),
            cluster.environment.to_string().into(),
            status(cluster),
            cluster.kubernetes_version.clone().into(),
            cluster.node_count.to_string().into(),
            cluster.last_health_check_at.map(|at| ago(at, now)).into(),
            cluster.health_reason.clone().unwrap_or_default().into(),
        ]
    });
    let headings = ["NAME", "ENVIRONMENT", "HEALTH", "VERSION", "NODES", "CHECKED", ""];
    table(&headings, rows, "no clusters; add one: slipway cluster add NAME")
}

fn labels(cluster: &Cluster) -> Cell {
    let labels: Vec<_> = cluster.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Cell::from((!labels.is_empty()).then(|| labels.join(", ")))
}

fn credential(cluster: &Cluster, now: Timestamp) -> String {
    let (kind, end) = match cluster.credential_kind {
        ClusterCredentialKind::ServiceAccountToken => ("token of a ServiceAccount", "renewed before it ends"),
        ClusterCredentialKind::Token => ("token", "ends"),
        ClusterCredentialKind::ClientCertificate => ("client certificate", "ends"),
    };
    match cluster.credential_expires_at {
        Some(at) => format!("{kind}, {end} {}", until(at, now)),
        None => kind.to_owned(),
    }
}

pub(super) fn shown(cluster: &Cluster, now: Timestamp) -> String {
    let mut rows = vec![("name", Cell::from(&cluster.name))];
    if let Some(description) = &cluster.description {
        rows.push(("description", description.into()));
    }
    rows.extend([
        ("environment", cluster.environment.to_string().into()),
        ("labels", labels(cluster)),
        ("server", (&cluster.api_server_url).into()),
        ("version", cluster.kubernetes_version.clone().into()),
        ("nodes", cluster.node_count.to_string().into()),
        ("health", status(cluster)),
    ]);
    if let Some(reason) = &cluster.health_reason {
        rows.push(("because", reason.into()));
    }
    rows.extend([
        ("since", cluster.health_since.map(|at| ago(at, now)).into()),
        ("checked", cluster.last_health_check_at.map(|at| ago(at, now)).into()),
        ("credential", credential(cluster, now).into()),
        ("registered", ago(cluster.registered_at, now).into()),
    ]);
    facts(rows)
}

pub(super) fn health(health: &ClusterHealth, now: Timestamp) -> String {
    let nodes = format!("{} ready, {} not ready", health.node_health.ready, health.node_health.not_ready);
    let mut rows = vec![
        ("cluster", Cell::from(&health.cluster_name)),
        ("health", Cell::health(health.health_status.to_string())),
    ];
    if let Some(reason) = &health.reason {
        rows.push(("because", reason.into()));
    }
    let latency = health.api_server_latency_ms.map(|latency| format!("answers in {latency} ms"));
    let api_server = if health.api_server_reachable {
        Cell::from(latency.unwrap_or_else(|| "answers".to_owned()))
    } else if health.health_status == ClusterHealthStatus::Unknown {
        Cell::from(None)
    } else {
        Cell::new("does not answer", Tone::Bad)
    };
    rows.extend([
        ("since", health.since.map(|at| ago(at, now)).into()),
        ("api server", api_server),
        ("version", health.kubernetes_version.clone().into()),
        ("nodes", nodes.into()),
        ("checked", health.last_checked_at.map(|at| ago(at, now)).into()),
    ]);
    let mut text = facts(rows);
    let operators = health.deployed_operators.iter().map(|operator| {
        vec![(&operator.operator_name).into(), (&operator.version).into(), (&operator.namespace).into()]
    });
    if !health.deployed_operators.is_empty() {
        text.push('\n');
        text.push_str(&table(&["OPERATOR", "VERSION", "NAMESPACE"], operators, ""));
    }
    let changes = health.history.iter().filter(|sample| sample.changed).map(|sample| {
        vec![
            sample.at.strftime("%Y-%m-%d %H:%M:%SZ").to_string().into(),
            Cell::health(sample.health_status.to_string()),
            sample.reason.clone().unwrap_or_default().into(),
        ]
    });
    text.push('\n');
    text.push_str(&table(&["CHANGED", "HEALTH", ""], changes, "it has not changed"));
    text
}

pub(super) fn added(cluster: &Cluster) -> String {
    let reason = cluster.health_reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!(
        "added {}: Kubernetes {}, {} node{}, {}{reason}\n  see how it is: slipway cluster health {0}",
        cluster.name,
        cluster.kubernetes_version.as_deref().unwrap_or("of an unknown version"),
        cluster.node_count,
        if cluster.node_count == 1 { "" } else { "s" },
        cluster.health_status,
    )
}

pub(super) fn rotated(rotated: &RotatedCluster, now: Timestamp) -> String {
    let previous = if rotated.previous_revoked {
        "the one from before is revoked"
    } else {
        "the one from before was not revoked: it counts until it ends"
    };
    format!("{} has another {}; {previous}", rotated.cluster.name, credential(&rotated.cluster, now))
}

pub(super) fn imported(imported: &[Imported]) -> String {
    let rows = imported.iter().map(|one| {
        let outcome = match &one.error {
            None => Cell::new("added", Tone::Good),
            Some(_) => Cell::new("failed", Tone::Bad),
        };
        let detail = one.error.clone().or_else(|| one.kubernetes_version.clone()).unwrap_or_default();
        vec![(&one.context).into(), (&one.cluster).into(), outcome, detail.into()]
    });
    table(&["CONTEXT", "CLUSTER", "OUTCOME", "VERSION"], rows, "no contexts")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use slipway_contract::clusters::{ClusterEnvironment, ClusterHealthSample, ClusterNodeHealth};

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn cluster(name: &str, health: ClusterHealthStatus, reason: Option<&str>) -> Cluster {
        Cluster {
            cluster_id: uuid::Uuid::nil(),
            name: name.to_owned(),
            description: None,
            environment: ClusterEnvironment::Production,
            labels: BTreeMap::from([("team".to_owned(), "core".to_owned())]),
            api_server_url: "https://10.0.0.1:6443".to_owned(),
            kubernetes_version: Some("v1.34.1".to_owned()),
            node_count: 3,
            health_status: health,
            health_reason: reason.map(str::to_owned),
            health_since: Some(at("2026-01-02T00:00:00Z")),
            last_health_check_at: Some(at("2026-01-02T02:59:20Z")),
            is_enabled: true,
            credential_kind: ClusterCredentialKind::ServiceAccountToken,
            credential_expires_at: Some(at("2026-01-02T20:00:00Z")),
            registered_at: at("2026-01-01T00:00:00Z"),
            updated_at: at("2026-01-01T00:00:00Z"),
        }
    }

    #[test]
    fn a_list_has_the_reason_beside_the_state() {
        let now = at("2026-01-02T03:00:00Z");
        let mut off = cluster("edge-1", ClusterHealthStatus::Unknown, None);
        off.is_enabled = false;
        let bad = Some("its API server refuses connections (connection refused)");
        let clusters = [
            cluster("prod-eu", ClusterHealthStatus::Healthy, None),
            cluster("prod-us", ClusterHealthStatus::Unhealthy, bad),
            off,
        ];
        insta::assert_snapshot!(list(&clusters, now), @r"
        NAME     ENVIRONMENT  HEALTH     VERSION  NODES  CHECKED
        prod-eu  Production   Healthy    v1.34.1  3      40 seconds ago
        prod-us  Production   Unhealthy  v1.34.1  3      40 seconds ago  its API server refuses connections (connection refused)
        edge-1   Production   Disabled   v1.34.1  3      40 seconds ago
        ");
        insta::assert_snapshot!(shown(&clusters[1], now), @r"
        name         prod-us
        environment  Production
        labels       team=core
        server       https://10.0.0.1:6443
        version      v1.34.1
        nodes        3
        health       Unhealthy
        because      its API server refuses connections (connection refused)
        since        3 hours ago
        checked      40 seconds ago
        credential   token of a ServiceAccount, renewed before it ends in 17 hours
        registered   1 day ago
        ");
    }

    #[test]
    fn health_is_told_with_its_changes() {
        let now = at("2026-01-02T03:00:00Z");
        let sample = |when: &str, status, changed| ClusterHealthSample {
            at: at(when),
            health_status: status,
            reason: None,
            latency_ms: None,
            changed,
        };
        let seen = ClusterHealth {
            cluster_name: "prod-eu".to_owned(),
            health_status: ClusterHealthStatus::Healthy,
            reason: None,
            since: Some(at("2026-01-02T01:00:00Z")),
            kubernetes_version: Some("v1.34.1".to_owned()),
            node_count: 3,
            node_health: ClusterNodeHealth { ready: 3, not_ready: 0 },
            api_server_reachable: true,
            api_server_latency_ms: Some(12),
            deployed_operators: Vec::new(),
            last_checked_at: Some(at("2026-01-02T02:59:20Z")),
            history: vec![
                sample("2026-01-02T02:59:20Z", ClusterHealthStatus::Healthy, false),
                sample("2026-01-02T01:00:00Z", ClusterHealthStatus::Healthy, true),
            ],
        };
        insta::assert_snapshot!(health(&seen, now), @r"
        cluster     prod-eu
        health      Healthy
        since       2 hours ago
        api server  answers in 12 ms
        version     v1.34.1
        nodes       3 ready, 0 not ready
        checked     40 seconds ago

        CHANGED               HEALTH
        2026-01-02 01:00:00Z  Healthy
        ");
    }

    #[test]
    fn an_import_names_what_failed() {
        let one = |context: &str, version: Option<&str>, error: Option<&str>| Imported {
            context: context.to_owned(),
            cluster: context.to_owned(),
            kubernetes_version: version.map(str::to_owned),
            error: error.map(str::to_owned),
        };
        let all = [one("dev", Some("v1.34.1"), None), one("old", None, Some("could not make the Namespace"))];
        insta::assert_snapshot!(imported(&all), @r"
        CONTEXT  CLUSTER  OUTCOME  VERSION
        dev      dev      added    v1.34.1
        old      old      failed   could not make the Namespace
        ");
    }
}
