//! `slipway crd diff`.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::Severity;
use slipway_crd_compat::{compare_sets, report};

use super::policy::Judgement;
use super::print::{Color, print};
use super::source::{Loaded, Source, SourceOptions};

/// How the report is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    #[default]
    Text,
    /// For programs; the schema is in docs/reference/crd-report.md.
    Json,
    /// For a pull request's comment.
    Markdown,
    /// For code scanning.
    Sarif,
    /// For CI's test reports.
    Junit,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// What is there now.
    old: String,
    /// What comes.
    new: String,
    /// How to write the report.
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
    /// Show every finding, safe ones too.
    #[arg(long)]
    all: bool,
    /// When to use colours.
    #[arg(long, value_enum, default_value_t)]
    color: Color,
    #[command(flatten)]
    judgement: Judgement,
    #[command(flatten)]
    source: SourceOptions,
}

impl Diff {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let mut options = self.judgement.options()?;
        let (old, new) = (Source::parse(&self.old)?, Source::parse(&self.new)?);
        if old.is_standard_input() && new.is_standard_input() {
            bail!("standard input can be OLD or NEW, not both");
        }
        let artifact = new.file();
        let (mut old, mut new) = self.load(&old, &new)?;
        if let (None, Some(version)) = (self.judgement.kubernetes(), old.kubernetes.or(new.kubernetes)) {
            options = options.with_kubernetes(version);
        }
        // A cluster holds the CRDs of many operators; only those that the other side knows are asked about.
        match (old.is_cluster(), new.is_cluster()) {
            (true, false) => keep_named(&mut old.crds, &new.crds),
            (false, true) => keep_named(&mut new.crds, &old.crds),
            _ => {}
        }
        let report = compare_sets(&old.crds, &new.crds, &options);
        let text = match self.output {
            Output::Text => {
                report::text(&report, report::TextOptions { color: self.color.wanted(), all: self.all })
            }
            Output::Json => report::json(&report) + "\n",
            Output::Markdown => report::markdown(&report),
            Output::Sarif => report::sarif(&report, artifact.as_deref()) + "\n",
            Output::Junit => report::junit(&report),
        };
        print(&text)?;
        let breaking = report.verdict == Severity::Breaking;
        // The process ends here; taking large definitions apart value by value would only cost time.
        std::mem::forget((old, new, report));
        Ok(if breaking { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }

    /// Both at once: reading is most of the work.
    fn load(&self, old: &Source, new: &Source) -> anyhow::Result<(Loaded, Loaded)> {
        thread::scope(|scope| {
            let reading = scope.spawn(|| old.load(&self.source));
            let new = new.load(&self.source).context("NEW");
            let old = match reading.join() {
                Ok(old) => old.context("OLD"),
                Err(panic) => std::panic::resume_unwind(panic),
            };
            Ok((old?, new?))
        })
    }
}

fn keep_named(crds: &mut Vec<Crd>, named_by: &[Crd]) {
    let names: BTreeSet<&str> = named_by.iter().map(Crd::name).collect();
    crds.retain(|crd| names.contains(crd.name()));
}
