//! `slipway crd status`.

use clap::Args;
use slipway_contract::crds::{ClusterCrd, CrdStatusQuery, CrdStatusReply};

use super::{Whose, severity};
use crate::cli::{Cell, OutputArgs, Session, Tone, ago, table};

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The name of the CRD.
    name: String,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Status {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let query = CrdStatusQuery { operator_name: self.whose.operator };
        let status = session.client.crd_status(&self.name, &query).await?;
        session.show(&status, |status| people(status, session.now))
    }
}

fn people(status: &CrdStatusReply, now: jiff::Timestamp) -> String {
    let rows = status.clusters.iter().map(|cluster| {
        vec![
            (&cluster.cluster_name).into(),
            state(cluster),
            if cluster.runs.is_empty() { None.into() } else { cluster.runs.join(", ").into() },
            if cluster.installed {
                (&cluster.expected_version).into()
            } else {
                Cell::new(format!("{} (not installed)", cluster.expected_version), Tone::Quiet)
            },
            cluster.severity.as_deref().map_or_else(|| None.into(), severity),
            cluster.checked_at.map(|at| ago(at, now)).into(),
        ]
    });
    let mut text = table(
        &["CLUSTER", "SCHEMA", "RUNS", "EXPECTED", "CHANGE", "CHECKED"],
        rows,
        "no clusters; add one: slipway cluster add",
    );
    for cluster in &status.clusters {
        let told = cluster.message.iter().chain(&cluster.differences);
        for (index, line) in told.enumerate() {
            if index == 0 {
                text.push_str(&format!("\n{}\n", cluster.cluster_name));
            }
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

fn state(cluster: &ClusterCrd) -> Cell {
    let (word, tone) = match cluster.state.as_str() {
        "Same" => ("same", Tone::Good),
        "Differs" => ("differs", Tone::Warning),
        "Absent" if cluster.installed => ("absent", Tone::Bad),
        "Absent" => ("absent", Tone::Quiet),
        _ => ("unknown", Tone::Quiet),
    };
    Cell::new(word, tone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_is_a_line_and_its_differences_follow() {
        let cluster = |name: &str, state: &str| ClusterCrd {
            cluster_name: name.to_owned(),
            state: state.to_owned(),
            expected_version: "v1.14.0".to_owned(),
            installed: true,
            runs: vec!["v1.14.0".to_owned()],
            severity: None,
            differences: Vec::new(),
            stored_versions: vec!["v1".to_owned()],
            content_hash: None,
            since: None,
            checked_at: Some(jiff::Timestamp::UNIX_EPOCH),
            message: None,
        };
        let status = CrdStatusReply {
            name: "widgets.example.com".to_owned(),
            operator_name: "widgets".to_owned(),
            operator_version: "v1.14.0".to_owned(),
            clusters: vec![
                cluster("dev-1", "Same"),
                ClusterCrd {
                    runs: vec!["v1.13.2".to_owned()],
                    severity: Some("breaking".to_owned()),
                    differences: vec![
                        ".spec.size is now required: an object without it is refused".to_owned(),
                    ],
                    ..cluster("prod-eu", "Differs")
                },
                ClusterCrd {
                    runs: Vec::new(),
                    installed: false,
                    checked_at: None,
                    message: Some("nobody has looked yet".to_owned()),
                    ..cluster("prod-us", "Unknown")
                },
            ],
        };
        let now = jiff::Timestamp::UNIX_EPOCH + std::time::Duration::from_secs(40);
        insta::assert_snapshot!(people(&status, now), @r"
        CLUSTER  SCHEMA   RUNS     EXPECTED                 CHANGE    CHECKED
        dev-1    same     v1.14.0  v1.14.0                  -         40 seconds ago
        prod-eu  differs  v1.13.2  v1.14.0                  breaking  40 seconds ago
        prod-us  unknown  -        v1.14.0 (not installed)  -         -

        prod-eu
          .spec.size is now required: an object without it is refused

        prod-us
          nobody has looked yet
        ");
    }
}
