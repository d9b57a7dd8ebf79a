//! `slipway crd show` and `slipway crd history`.

use anyhow::Context as _;
use clap::Args;
use slipway_contract::crds::{CrdChangeReply, CrdHistory, CrdHistoryQuery, CrdQuery, CrdReply};

use super::{Whose, approval, severity, status};
use crate::cli::{Cell, Format, OutputArgs, Session, ago, facts, print, table};

/// How many lines of the history are shown with a CRD.
const LINES: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Its name, such as certificates.cert-manager.io.
    name: String,
    #[command(flatten)]
    whose: Whose,
    /// The version of the operator [default: the newest release].
    #[arg(long, value_name = "VERSION")]
    operator_version: Option<String>,
    /// Print the definition alone, as YAML.
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Show {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let query = CrdQuery { operator_name: self.whose.operator, operator_version: self.operator_version };
        let crd = session.client.crd(&self.name, &query).await?;
        if self.schema {
            let value: serde_json::Value =
                serde_json::from_str(&crd.schema_definition).context("reading the definition")?;
            let format = if session.format == Format::Json { Format::Json } else { Format::Yaml };
            return print(&format.render(&value, |_| String::new())?);
        }
        session.show(&crd, |crd| people(crd, session.now))
    }
}

fn people(crd: &CrdReply, now: jiff::Timestamp) -> String {
    let summary = &crd.summary;
    let mut rows: Vec<(&'static str, Cell)> = vec![
        ("name", (&summary.name).into()),
        ("operator", format!("{} {}", summary.operator_name, summary.operator_version).into()),
        ("versions", summary.versions.join(", ").into()),
        ("scope", (&summary.scope).into()),
        ("schema", format!("{}  (sha256 {:.12})", summary.schema_version, summary.content_hash).into()),
        ("status", status(&summary.status)),
        ("approval", approval(&summary.approval_status)),
        ("stored", ago(summary.created_at, now).into()),
    ];
    if let (Some(by), Some(at)) = (&summary.approved_by, summary.approved_at) {
        rows.push(("agreed", format!("by {by}, {}", ago(at, now)).into()));
    }
    if let Some(version) = &summary.removed_in {
        rows.push(("removed", format!("in {} {version}", summary.operator_name).into()));
    }
    if let Some(reason) = &summary.deprecation_reason {
        rows.push(("to be left", reason.into()));
    }
    if let Some(guide) = &summary.migration_guide {
        rows.push(("instead", guide.into()));
    }
    let mut text = facts(rows);
    if !crd.schema_history.is_empty() {
        text.push('\n');
        text.push_str(&lines(&crd.schema_history[..crd.schema_history.len().min(LINES)]));
        if crd.schema_history.len() > LINES {
            text.push_str(&format!("more: slipway crd history {}\n", summary.name));
        }
    }
    text
}

fn lines(history: &[CrdChangeReply]) -> String {
    let rows = history.iter().map(|line| {
        vec![(&line.operator_version).into(), severity(&line.severity), (&line.description).into()]
    });
    table(&["SINCE", "WEIGHT", "WHAT CHANGED"], rows, "nothing changed yet")
}

#[derive(Debug, Args)]
pub(crate) struct History {
    /// The name of the CRD.
    name: String,
    #[command(flatten)]
    whose: Whose,
    /// How many lines, 1 to 100.
    #[arg(long, default_value_t = 50)]
    limit: i64,
    /// After how many.
    #[arg(long, default_value_t = 0)]
    offset: i64,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl History {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let query = CrdHistoryQuery {
            operator_name: self.whose.operator,
            limit: Some(self.limit),
            offset: Some(self.offset),
        };
        let history = session.client.crd_history(&self.name, &query).await?;
        session.show(&history, |history: &CrdHistory| {
            let mut text = lines(&history.schema_history);
            if let Some(next) = history.page.next_offset {
                text.push_str(&format!("{} in all; go on with --offset {next}\n", history.page.total));
            }
            text
        })
    }
}
