//! `slipway crd impact`: new CRDs against what lives in clusters.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};
use comfy_table::{Table, presets};
use serde::Serialize;
use slipway_crd_compat::compare;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::Severity;
use slipway_crd_compat::live::{LiveObject, LiveOptions, LiveReport, Standing, check_objects};
use slipway_crd_compat::options::Options;

use super::policy::Judgement;
use super::print::print;
use super::source::{Cluster, Source, SourceOptions};

/// How many objects are named in the text; the JSON report has more.
const NAMED: usize = 10;
/// How many objects of one CRD a report keeps.
const KEPT: usize = 1000;

/// How the report is written.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Output {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct Impact {
    /// The CRDs that are to come: a file, a directory, a chart, git:<ref>:<path>, or -.
    new: String,
    /// A context of the kubeconfig, again for each cluster [default: the current one].
    #[arg(long = "kube-context", value_name = "CONTEXT")]
    contexts: Vec<String>,
    /// How to write the report.
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    judgement: Judgement,
    #[command(flatten)]
    source: SourceOptions,
}

/// What becomes of one CRD's objects on one cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    cluster: String,
    crd: String,
    /// Whether the cluster has the CRD at all.
    installed: bool,
    /// The worst finding about the change of the CRD itself.
    change: &'static str,
    objects: usize,
    rejected: usize,
    pruned: usize,
    unknown: usize,
    hit: Vec<Hit>,
}

/// One object that is hit.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Hit {
    namespace: Option<String>,
    name: String,
    standing: &'static str,
    reasons: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    schema_version: u32,
    rows: Vec<Row>,
    rejected: usize,
    pruned: usize,
    unknown: usize,
}

impl Impact {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let options = self.judgement.options()?;
        let new = Source::parse(&self.new)?.load(&self.source).context("NEW")?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let rows = runtime.block_on(self.look(&new.crds, &options))?;
        let sum = |of: fn(&Row) -> usize| rows.iter().map(of).sum();
        let report = Report {
            schema_version: 1,
            rejected: sum(|row| row.rejected),
            pruned: sum(|row| row.pruned),
            unknown: sum(|row| row.unknown),
            rows,
        };
        match self.output {
            Output::Text => print(&text(&report))?,
            Output::Json => print(&format!("{}\n", serde_json::to_string_pretty(&report)?))?,
        }
        let hit = report.rejected + report.pruned + report.unknown;
        Ok(if hit > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }

    async fn look(&self, new: &[Crd], options: &Options) -> anyhow::Result<Vec<Row>> {
        let contexts: Vec<Option<&str>> = if self.contexts.is_empty() {
            vec![None]
        } else {
            self.contexts.iter().map(|context| Some(context.as_str())).collect()
        };
        let mut rows = Vec::new();
        for context in contexts {
            let cluster = Cluster::connect(self.source.kubeconfig(), context).await?;
            let live = cluster.crds().await?;
            let options = match self.judgement.kubernetes() {
                Some(_) => options.clone(),
                None => options.clone().with_kubernetes(cluster.version),
            };
            for crd in new {
                let old = live.iter().find(|live| live.name() == crd.name());
                rows.push(row(&cluster, old, crd, &options).await?);
            }
        }
        Ok(rows)
    }
}

async fn row(cluster: &Cluster, old: Option<&Crd>, new: &Crd, options: &Options) -> anyhow::Result<Row> {
    let mut total = LiveReport::default();
    let mut change = "new";
    if let Some(old) = old {
        change = compare(old, new, options).severity().as_str();
        let versions = old.versions();
        // Any served version shows every object; the stored one shows it as it lies there.
        let version = versions.iter().find(|version| version.storage() && version.served());
        if let Some(version) = version.or_else(|| versions.iter().find(|version| version.served())) {
            let mut live = LiveOptions::default();
            live.keep = Some(KEPT);
            let take = |items: Vec<_>| add(&mut total, check_objects(new, &items, &live));
            cluster.objects(old, version.name(), take).await?;
        }
    }
    Ok(Row {
        cluster: cluster.name.clone(),
        crd: new.name().to_owned(),
        installed: old.is_some(),
        change,
        objects: total.checked,
        rejected: total.rejected,
        pruned: total.pruned,
        unknown: total.unknown,
        hit: total.objects.iter().map(hit).collect(),
    })
}

/// Adds a page to what was seen so far, and keeps what a report can hold.
fn add(total: &mut LiveReport, page: LiveReport) {
    total.checked += page.checked;
    total.fine += page.fine;
    total.pruned += page.pruned;
    total.rejected += page.rejected;
    total.unknown += page.unknown;
    let room = KEPT.saturating_sub(total.objects.len());
    total.objects.extend(page.objects.into_iter().take(room));
}

fn hit(object: &LiveObject) -> Hit {
    let refused =
        object.violations.iter().map(|violation| format!("{}: {}", violation.path, violation.message));
    let status =
        object.status_violations.iter().map(|violation| format!("{}: {}", violation.path, violation.message));
    let lost = object.pruned.iter().map(|path| format!("{path} is lost"));
    Hit {
        namespace: object.id.namespace.clone(),
        name: object.id.name.clone(),
        standing: match object.standing {
            Standing::Rejected => "rejected",
            Standing::Unknown => "unknown",
            Standing::Pruned => "pruned",
            Standing::Fine => "fine",
        },
        reasons: refused.chain(status).chain(lost).chain(object.unknown.iter().cloned()).collect(),
    }
}

fn text(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["CLUSTER", "CRD", "CHANGE", "OBJECTS", "REFUSED", "CUT", "UNKNOWN"]);
    for row in &report.rows {
        let change = if row.installed { row.change } else { "not installed" };
        let counts = [row.objects, row.rejected, row.pruned, row.unknown].map(|count| count.to_string());
        let [objects, rejected, pruned, unknown] = counts;
        table.add_row([
            row.cluster.clone(),
            row.crd.clone(),
            change.to_owned(),
            objects,
            rejected,
            pruned,
            unknown,
        ]);
    }
    let mut text = format!("{table}\n");
    for row in report.rows.iter().filter(|row| !row.hit.is_empty()) {
        let _ = writeln!(text, "\n{} on {}", row.crd, row.cluster);
        for hit in row.hit.iter().take(NAMED) {
            let name = hit
                .namespace
                .as_ref()
                .map_or_else(|| hit.name.clone(), |space| format!("{space}/{}", hit.name));
            let reason = hit.reasons.first().map_or("", String::as_str);
            let more = hit.reasons.len().saturating_sub(1);
            let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
            let _ = writeln!(text, "  {:9} {name}  {reason}{more}", hit.standing);
        }
        let rest = (row.rejected + row.pruned + row.unknown).saturating_sub(NAMED);
        if rest > 0 {
            let _ = writeln!(text, "  and {rest} more; --output json names up to {KEPT}");
        }
    }
    let breaking = report.rows.iter().filter(|row| row.change == Severity::Breaking.as_str()).count();
    let objects: usize = report.rows.iter().map(|row| row.objects).sum();
    let _ = if report.rejected + report.pruned + report.unknown == 0 {
        let note = if breaking > 0 { "; new objects may still be: see slipway crd diff" } else { "" };
        writeln!(text, "\nVerdict  none of the {objects} live objects is hit{note}")
    } else {
        writeln!(
            text,
            "\nVerdict  of {objects} live objects {} would be refused, {} would lose fields, {} cannot be judged",
            report.rejected, report.pruned, report.unknown
        )
    };
    text
}
