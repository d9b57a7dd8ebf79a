//! `slipway operator show`.

use jiff::Timestamp;
use slipway_contract::operators::{DeployedCluster, OperatorDetailReply};

use super::installed::{drift, manager, state};
use crate::cli::relative::ago;
use crate::cli::session::Session;
use crate::cli::table::{Cell, Tone, facts, table};

pub(super) async fn run(name: &str, session: &Session) -> anyhow::Result<()> {
    let reply = session.client.operator(name).await?.value;
    session.show(&reply, |reply| text(reply, session.now))
}

fn text(reply: &OperatorDetailReply, now: Timestamp) -> String {
    let operator = &reply.operator;
    let latest = operator.latest_version.clone().unwrap_or_else(|| "only pre-releases".to_owned());
    let latest = if operator.has_update {
        Cell::new(format!("{latest} (newer)"), Tone::Warning)
    } else {
        latest.into()
    };
    let labels: Vec<String> = reply.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let read = match (&reply.checked_at, &reply.check_error) {
        (_, Some(error)) => Cell::new(format!("failed: {error}"), Tone::Bad),
        (Some(checked), None) => ago(*checked, now).into(),
        (None, None) => "never".into(),
    };
    let mut rows: Vec<(&'static str, Cell)> = vec![("name", (&operator.name).into())];
    rows.extend(reply.description.as_ref().map(|description| ("", description.into())));
    rows.extend([
        ("namespace", (&operator.namespace).into()),
        ("chart", format!("{}/{}", reply.chart_repository, reply.chart_name).into()),
        ("current", operator.current_version.clone().into()),
        ("latest", latest),
        ("read", read),
    ]);
    if reply.has_credentials {
        rows.push(("credentials", Cell::new("kept, sealed", Tone::Quiet)));
    }
    if !labels.is_empty() {
        rows.push(("labels", labels.join(", ").into()));
    }
    if !reply.crd_names.is_empty() {
        rows.push(("definitions", reply.crd_names.join(", ").into()));
    }
    let mut text = facts(rows);
    text.push('\n');
    text.push_str(&table(
        &["CLUSTER", "VERSION", "HEALTH", "MANAGED BY", "CHANGED"],
        reply.deployed_clusters.iter().map(|cluster| row(cluster, now)),
        "installed nowhere that Slipway knows of\n",
    ));
    for cluster in &reply.deployed_clusters {
        let what = format!("{} on {}", operator.name, cluster.cluster_name);
        text.push_str(&drift(&what, cluster.drift.as_ref(), now));
    }
    text
}

fn row(cluster: &DeployedCluster, now: Timestamp) -> Vec<Cell> {
    vec![
        (&cluster.cluster_name).into(),
        format!("{}{}", cluster.version, state(&cluster.state)).into(),
        Cell::health(cluster.health.clone()),
        manager(&cluster.managed_by, cluster.manager_reference.as_deref()),
        cluster.deployed_at.map(|at| ago(at, now)).into(),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn an_operator_is_its_facts_and_where_it_runs() {
        let at = "2026-11-15T12:00:00Z";
        let cluster = |name: &str, version: &str, health: &str, tool: &str| {
            json!({
                "clusterName": name, "version": version, "health": health, "deployedAt": at,
                "namespace": "cert-manager", "release": "cert-manager", "revision": 3, "state": "deployed",
                "managedBy": tool, "managerReference": if tool == "argocd" { json!("platform") } else { json!(null) },
            })
        };
        let reply: OperatorDetailReply = serde_json::from_value(json!({
            "operatorId": "018f3f3e-0000-7000-8000-000000000000", "name": "cert-manager",
            "namespace": "cert-manager", "currentVersion": "v1.13.2", "latestVersion": "v1.14.0",
            "hasUpdate": true, "deployedClusterCount": 2, "createdAt": at,
            "description": "certificates for everybody", "chartRepository": "https://charts.example.com",
            "chartName": "cert-manager", "crdNames": ["certificates.cert-manager.io", "issuers.cert-manager.io"],
            "labels": {"team": "platform"}, "defaultValues": {}, "hasCredentials": true, "checkedAt": at,
            "checkError": null, "updatedAt": at,
            "deployedClusters": [
                cluster("dev-1", "v1.14.0", "Healthy", "slipway"),
                cluster("prod-eu", "v1.13.2", "Degraded", "argocd"),
            ],
        }))
        .unwrap();
        let now = at.parse::<Timestamp>().unwrap() + Duration::from_mins(2);
        insta::assert_snapshot!(text(&reply, now), @r"
        name         cert-manager
                     certificates for everybody
        namespace    cert-manager
        chart        https://charts.example.com/cert-manager
        current      v1.13.2
        latest       v1.14.0 (newer)
        read         2 minutes ago
        credentials  kept, sealed
        labels       team=platform
        definitions  certificates.cert-manager.io, issuers.cert-manager.io

        CLUSTER  VERSION  HEALTH    MANAGED BY                      CHANGED
        dev-1    v1.14.0  Healthy   Slipway                         2 minutes ago
        prod-eu  v1.13.2  Degraded  Argo CD (platform), left alone  2 minutes ago
        ");
        let nowhere = OperatorDetailReply {
            deployed_clusters: Vec::new(),
            check_error: Some(
                "the repository at charts.example.com cannot be read: it answers 503".to_owned(),
            ),
            ..reply
        };
        insta::assert_snapshot!(text(&nowhere, now), @r"
        name         cert-manager
                     certificates for everybody
        namespace    cert-manager
        chart        https://charts.example.com/cert-manager
        current      v1.13.2
        latest       v1.14.0 (newer)
        read         failed: the repository at charts.example.com cannot be read: it answers 503
        credentials  kept, sealed
        labels       team=platform
        definitions  certificates.cert-manager.io, issuers.cert-manager.io

        installed nowhere that Slipway knows of
        ");
    }
}
