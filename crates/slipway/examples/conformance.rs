//! Judges the corpus beside the repository: pairs of CRDs with the verdict they deserve, and the CRDs of
//! real projects, release by release.
//!
//! Ends with 1 when a verdict is missed. The histories have no verdicts; they are printed for reading.
#![allow(clippy::print_stdout, reason = "it talks to people")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use comfy_table::{Table, presets};
use serde::Deserialize;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::Severity;
use slipway_crd_compat::options::Options;
use slipway_crd_compat::report::{Report, SetReport};
use slipway_crd_compat::{compare, compare_sets};

/// What a case is held to deserve.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Expectation {
    breaking: bool,
    at_least_one: Option<Severity>,
}

impl Expectation {
    fn is_met_by(&self, report: &Report) -> bool {
        self.breaking == (report.severity() == Severity::Breaking)
            && self
                .at_least_one
                .is_none_or(|severity| report.findings.iter().any(|finding| finding.severity == severity))
    }

    fn words(&self) -> String {
        let breaking = if self.breaking { "breaking" } else { "not breaking" };
        match self.at_least_one {
            Some(severity) => format!("{breaking}, something {severity}"),
            None => breaking.to_owned(),
        }
    }
}

fn main() -> anyhow::Result<ExitCode> {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let corpus =
        given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"));
    if !corpus.is_dir() {
        println!("there is no corpus at {}; nothing to judge", corpus.display());
        return Ok(ExitCode::SUCCESS);
    }
    let missed = match corpus.join("crd") {
        cases if cases.is_dir() => judge_cases(&cases)?,
        _ => 0,
    };
    let histories = corpus.join("crd-history");
    if histories.is_dir() {
        println!();
        tell_histories(&histories)?;
    }
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints a row for each case, and says how many were missed.
fn judge_cases(cases: &Path) -> anyhow::Result<usize> {
    let mut table = table(&["Case", "Expected", "Found", ""]);
    let (mut met, mut missed) = (0, 0);
    for case in entries(cases)? {
        let name = name_of(&case);
        let expect = fs::read_to_string(case.join("expect.json")).with_context(|| name.clone())?;
        let expect: Expectation = serde_json::from_str(&expect).with_context(|| name.clone())?;
        let (old, new) = (one(&case.join("old.yaml"))?, one(&case.join("new.yaml"))?);
        let report = compare(&old, &new, &Options::default());
        let mark = if expect.is_met_by(&report) {
            met += 1;
            "ok"
        } else {
            missed += 1;
            "MISSED"
        };
        table.add_row([name, expect.words(), found(&report), mark.to_owned()]);
    }
    println!("{table}");
    println!("{met} met, {missed} missed");
    Ok(missed)
}

fn found(report: &Report) -> String {
    let worst = report.severity();
    let mut ids: Vec<&str> = report
        .findings
        .iter()
        .filter(|finding| finding.severity == worst)
        .map(|finding| finding.id)
        .collect();
    ids.dedup();
    if ids.is_empty() { "no difference".to_owned() } else { format!("{worst}: {}", ids.join(", ")) }
}

/// Prints a row for each step from one release to the next.
fn tell_histories(histories: &Path) -> anyhow::Result<()> {
    let mut table =
        table(&["Project", "Step", "CRDs", "Breaking", "Risky", "Safe", "Verdict", "Reading", "Judging"]);
    for project in entries(histories)? {
        let mut releases = entries(&project)?;
        releases.sort_by_key(|release| release_number(&name_of(release)));
        for pair in releases.windows(2) {
            let [old, new] = pair else { continue };
            let start = Instant::now();
            let sets = [all(old)?, all(new)?];
            let read = start.elapsed();
            let start = Instant::now();
            let report: SetReport = compare_sets(&sets[0], &sets[1], &Options::default());
            let judged = start.elapsed();
            let count = |severity| report.count(severity).to_string();
            table.add_row([
                name_of(&project),
                format!("{} → {}", name_of(old), name_of(new)),
                report.crds.len().to_string(),
                count(Severity::Breaking),
                count(Severity::Risky),
                count(Severity::Safe),
                report.verdict.to_string(),
                format!("{} ms", read.as_millis()),
                format!("{} ms", judged.as_millis()),
            ]);
        }
    }
    println!("{table}");
    Ok(())
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table
}

/// `v0.70.0` as numbers, so that releases come in the order they were made.
fn release_number(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn entries(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let reading = || format!("reading {}", directory.display());
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).with_context(reading)? {
        entries.push(entry.with_context(reading)?.path());
    }
    entries.sort();
    Ok(entries)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn all(directory: &Path) -> anyhow::Result<Vec<Crd>> {
    entries(directory)?.iter().map(|file| one(file)).collect()
}

fn one(file: &Path) -> anyhow::Result<Crd> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let documents = slipway_manifests::read(&text).with_context(|| file.display().to_string())?;
    match <[_; 1]>::try_from(documents) {
        Ok([document]) => Crd::from_value(document.value).with_context(|| file.display().to_string()),
        Err(documents) => bail!("{} has {} documents instead of one", file.display(), documents.len()),
    }
}
