//! `slipway operator installed`.

use clap::Args;
use jiff::Timestamp;
use slipway_contract::operators::{DriftReply, InstallationReply, InstallationsReply};

use crate::cli::relative::ago;
use crate::cli::session::Session;
use crate::cli::table::{Cell, Tone, table};

#[derive(Debug, Args)]
pub(crate) struct Installed {
    /// The cluster's name.
    cluster: String,
    /// Look at the cluster now, instead of telling what was seen within the last minute.
    #[arg(long)]
    refresh: bool,
}

impl Installed {
    pub(super) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let reply = if self.refresh {
            session.client.discover(&self.cluster).await?
        } else {
            session.client.installations(&self.cluster).await?
        };
        session.show(&reply, |reply| text(reply, session.now))
    }
}

fn text(reply: &InstallationsReply, now: Timestamp) -> String {
    let mut text = table(
        &["OPERATOR", "RELEASE", "CHART", "VERSION", "MANAGED BY", "CHANGED"],
        reply.installations.iter().map(|installation| row(installation, now)),
        &format!("nothing was found on {}\n", reply.cluster_name),
    );
    for installation in &reply.installations {
        let name = installation.operator_name.as_deref().unwrap_or(&installation.release);
        text.push_str(&drift(&format!("{name} on {}", reply.cluster_name), installation.drift.as_ref(), now));
    }
    text
}

/// What is not as it was released; nothing where all of it is.
pub(super) fn drift(what: &str, drift: Option<&DriftReply>, now: Timestamp) -> String {
    let Some(drift) = drift else { return String::new() };
    let mut text = format!("\n{what} is not as it was released, first seen {}:\n", ago(drift.since, now));
    for one in &drift.objects {
        if one.gone {
            text.push_str(&format!("  {} is gone\n", one.object));
        } else {
            text.push_str(&format!("  {}\n", one.object));
        }
        for field in &one.fields {
            text.push_str(&format!("    {}\n", field.replace(char::is_control, " ")));
        }
    }
    text
}

fn row(installation: &InstallationReply, now: Timestamp) -> Vec<Cell> {
    let operator = installation
        .operator_name
        .clone()
        .map_or_else(|| Cell::new("not registered", Tone::Quiet), Cell::from);
    vec![
        operator,
        format!("{}/{}", installation.namespace, installation.release).into(),
        (&installation.chart).into(),
        format!("{}{}", installation.version, state(&installation.state)).into(),
        manager(&installation.managed_by, installation.manager_reference.as_deref()),
        installation.deployed_at.map(|at| ago(at, now)).into(),
    ]
}

/// How far helm came, where that is worth saying.
pub(super) fn state(state: &str) -> String {
    if state == "deployed" { String::new() } else { format!(" ({state})") }
}

/// Who manages a release.
pub(super) fn manager(tool: &str, reference: Option<&str>) -> Cell {
    let name = match tool {
        "slipway" => return Cell::new("Slipway", Tone::Good),
        "helm" => return Cell::new("helm, not adopted", Tone::Quiet),
        "argocd" => "Argo CD",
        "flux" => "Flux",
        "olm" => "OLM",
        other => other,
    };
    let reference = reference.map_or_else(String::new, |reference| format!(" ({reference})"));
    Cell::new(format!("{name}{reference}, left alone"), Tone::Warning)
}

#[cfg(test)]
mod tests {
    use slipway_contract::operators::DriftedObject;

    use super::*;

    #[test]
    fn each_release_says_whose_it_is() {
        let release =
            |operator: Option<&str>, name: &str, tool: &str, reference: Option<&str>| InstallationReply {
                operator_name: operator.map(str::to_owned),
                namespace: name.to_owned(),
                release: name.to_owned(),
                chart: name.to_owned(),
                version: "v1.13.2".to_owned(),
                app_version: None,
                revision: 4,
                state: if tool == "flux" { "failed" } else { "deployed" }.to_owned(),
                managed_by: tool.to_owned(),
                manager_reference: reference.map(str::to_owned),
                deployed_at: Some(Timestamp::UNIX_EPOCH),
                seen_at: Timestamp::UNIX_EPOCH,
                drift: None,
            };
        let reply = InstallationsReply {
            cluster_name: "prod-eu".to_owned(),
            installations: vec![
                release(Some("cert-manager"), "cert-manager", "slipway", None),
                release(Some("kafka"), "kafka", "helm", None),
                release(Some("redis"), "redis", "flux", Some("flux-system/redis")),
                release(None, "shop", "argocd", Some("shop")),
            ],
        };
        let now = Timestamp::UNIX_EPOCH + std::time::Duration::from_secs(40);
        insta::assert_snapshot!(text(&reply, now), @r"
        OPERATOR        RELEASE                    CHART         VERSION           MANAGED BY                            CHANGED
        cert-manager    cert-manager/cert-manager  cert-manager  v1.13.2           Slipway                               40 seconds ago
        kafka           kafka/kafka                kafka         v1.13.2           helm, not adopted                     40 seconds ago
        redis           redis/redis                redis         v1.13.2 (failed)  Flux (flux-system/redis), left alone  40 seconds ago
        not registered  shop/shop                  shop          v1.13.2           Argo CD (shop), left alone            40 seconds ago
        ");
        let since = Timestamp::UNIX_EPOCH;
        let object = |object: &str, gone, fields: &[&str]| DriftedObject {
            object: object.to_owned(),
            gone,
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        };
        let changed = object("Deployment kafka/kafka", false, &["spec.replicas: 5 → 2"]);
        let drifted = DriftReply { since, objects: vec![changed, object("Service kafka/kafka", true, &[])] };
        insta::assert_snapshot!(drift("kafka on prod-eu", Some(&drifted), now), @r"

        kafka on prod-eu is not as it was released, first seen 40 seconds ago:
          Deployment kafka/kafka
            spec.replicas: 5 → 2
          Service kafka/kafka is gone
        ");
        let nothing = InstallationsReply { installations: Vec::new(), ..reply };
        assert_eq!(text(&nothing, now), "nothing was found on prod-eu\n");
    }
}
