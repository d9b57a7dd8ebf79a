//! `slipway operator show`.

use slipway_contract::operators::{DeployedCluster, OperatorDetailReply};

use crate::cli::relative::ago;
use crate::cli::session::Session;
use crate::cli::table::{Cell, Tone, facts, table};

pub(super) async fn run(name: &str, session: &Session) -> anyhow::Result<()> {
    let reply = session.client.operator(name).await?.value;
    session.show(&reply, |reply| text(reply, session))
}

fn text(reply: &OperatorDetailReply, session: &Session) -> String {
    let operator = &reply.operator;
    let latest = operator.latest_version.clone().unwrap_or_else(|| "only pre-releases".to_owned());
    let latest = if operator.has_update { Cell::new(latest, Tone::Warning) } else { latest.into() };
    let labels: Vec<String> = reply.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let read = match (&reply.checked_at, &reply.check_error) {
        (_, Some(error)) => Cell::new(format!("failed: {error}"), Tone::Bad),
        (Some(checked), None) => ago(*checked, session.now).into(),
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
        reply.deployed_clusters.iter().map(|cluster| row(cluster, session)),
        "installed nowhere that Slipway knows of\n",
    ));
    text
}

fn row(cluster: &DeployedCluster, session: &Session) -> Vec<Cell> {
    let state = if cluster.state == "deployed" { String::new() } else { format!(" ({})", cluster.state) };
    let manager = match (cluster.managed_by.as_str(), &cluster.manager_reference) {
        ("slipway", _) => Cell::new("Slipway", Tone::Good),
        ("helm", _) => Cell::new("helm, not adopted", Tone::Quiet),
        (tool, reference) => {
            let name = match tool {
                "argocd" => "Argo CD",
                "flux" => "Flux",
                "olm" => "OLM",
                other => other,
            };
            let reference =
                reference.as_ref().map_or_else(String::new, |reference| format!(" ({reference})"));
            Cell::new(format!("{name}{reference}, left alone"), Tone::Warning)
        }
    };
    vec![
        (&cluster.cluster_name).into(),
        format!("{}{state}", cluster.version).into(),
        Cell::health(cluster.health.clone()),
        manager,
        cluster.deployed_at.map(|at| ago(at, session.now)).into(),
    ]
}
