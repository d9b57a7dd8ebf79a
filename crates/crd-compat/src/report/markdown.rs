//! Reports for pull requests.

use std::fmt::Write;

use super::group::groups;
use super::{Report, SetReport, counted, yaml};
use crate::finding::{Outcome, Severity, Witness};

/// Rows of one table; the rest is counted.
const ROWS: usize = 30;

/// The report as Markdown.
pub fn markdown(report: &SetReport) -> String {
    let mut out = String::new();
    let title = match report.verdict {
        Severity::Breaking => "breaking",
        Severity::Risky => "compatible, with risks",
        Severity::Safe => "compatible",
    };
    let _ = writeln!(
        out,
        "## CRD changes: {title}\n\n{} breaking, {} risky, {} safe in {}.",
        report.count(Severity::Breaking),
        report.count(Severity::Risky),
        report.count(Severity::Safe),
        counted(report.crds.len(), "CRD", "CRDs"),
    );
    for crd in &report.crds {
        definition(&mut out, crd);
    }
    out
}

fn definition(out: &mut String, crd: &Report) {
    let _ = writeln!(out, "\n### `{}`\n", crd.name);
    let worse: Vec<_> = [Severity::Breaking, Severity::Risky]
        .into_iter()
        .flat_map(|severity| groups(&crd.findings, severity).into_iter().map(move |group| (severity, group)))
        .collect();
    if worse.is_empty() {
        let _ = writeln!(
            out,
            "No difference that matters; {}.\n",
            counted(crd.count(Severity::Safe), "safe one", "safe ones")
        );
    } else {
        out.push_str("| | What | What follows | Remedy |\n|---|---|---|---|\n");
        for (severity, group) in worse.iter().take(ROWS) {
            let finding = group.first;
            let more = match group.others.len() {
                0 => String::new(),
                others => format!(" (and at {})", counted(others, "other place", "other places")),
            };
            let version =
                finding.version.as_deref().map(|version| format!(" `{version}`")).unwrap_or_default();
            let _ = writeln!(
                out,
                "| **{severity}**{version} | {}{more} | {} | {} |",
                cell(&finding.headline),
                cell(&finding.consequence),
                cell(&finding.remedy),
            );
        }
        if worse.len() > ROWS {
            let _ = writeln!(out, "\nAnd {} more.", worse.len() - ROWS);
        }
        let safe = crd.count(Severity::Safe);
        if safe > 0 {
            let _ = writeln!(out, "\nBesides, {}.", counted(safe, "safe difference", "safe differences"));
        }
    }
    let shown = worse
        .iter()
        .filter_map(|(_, group)| group.first.witness.as_ref().map(|witness| (group.first, witness)));
    for (finding, witness) in shown.take(5) {
        proof(out, &finding.headline, witness);
    }
    for finding in &crd.findings {
        if let Some(waiver) = &finding.waived_by {
            let until = waiver.expires.strftime("%Y-%m-%d");
            let _ = writeln!(
                out,
                "\nWaived: {}. {} accepts it until {until}: {}.",
                cell(&finding.headline),
                cell(&waiver.who),
                cell(&waiver.reason)
            );
        }
    }
    let reasons = crd.rollback.reasons.iter().map(|reason| cell(reason)).collect::<Vec<_>>().join("; ");
    let _ = writeln!(out, "\n**Going back:** {}: {reasons}.", crd.rollback.verdict.as_str());
}

fn proof(out: &mut String, headline: &str, witness: &Witness) {
    let fate = match witness.outcome {
        Outcome::Refused => "accepted before, refused now",
        Outcome::Pruned => "kept whole before, loses a part now",
    };
    let _ = writeln!(
        out,
        "\n<details><summary>{}: {fate}</summary>\n\n```yaml",
        cell(headline).replace('<', "&lt;")
    );
    for line in yaml::lines(&witness.object).iter().take(40) {
        let _ = writeln!(out, "{line}");
    }
    out.push_str("```\n");
    for reason in &witness.reasons {
        let _ = writeln!(out, "- {}", cell(reason));
    }
    out.push_str("\n</details>\n");
}

/// A text that does not end the cell of a table.
fn cell(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text: String =
        if text.chars().count() > 300 { text.chars().take(300).chain(['…']).collect() } else { text };
    text.replace('|', "\\|").replace('*', "\\*")
}
