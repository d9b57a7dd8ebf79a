//! Reports for CI systems that show test results: JUnit XML.

use std::fmt::Write;

use super::{SetReport, yaml};
use crate::finding::{Finding, Severity};

/// The report as JUnit XML: a suite for each definition, a case for each finding that matters. Breaking
/// findings fail, waived ones are skipped.
pub fn junit(report: &SetReport) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let cases = |crd: &super::Report| {
        crd.findings.iter().filter(|finding| finding.severity > Severity::Safe).count().max(1)
    };
    let tests: usize = report.crds.iter().map(cases).sum();
    let failures = report.count(Severity::Breaking);
    let _ = writeln!(out, "<testsuites name=\"slipway crd diff\" tests=\"{tests}\" failures=\"{failures}\">");
    for crd in &report.crds {
        let name = escape(&crd.name);
        let waived = crd
            .findings
            .iter()
            .filter(|finding| !finding.counts() && finding.severity > Severity::Safe)
            .count();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" skipped=\"{waived}\">",
            cases(crd),
            crd.count(Severity::Breaking)
        );
        let mut any = false;
        for finding in crd.findings.iter().filter(|finding| finding.severity > Severity::Safe) {
            any = true;
            case(&mut out, &name, finding);
        }
        if !any {
            let _ = writeln!(out, "    <testcase classname=\"{name}\" name=\"compatible\"/>");
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn case(out: &mut String, crd: &str, finding: &Finding) {
    let version = finding.version.as_deref().unwrap_or_default();
    let name = escape(&format!("{} {version} {}", finding.id, finding.path));
    let _ = write!(out, "    <testcase classname=\"{crd}\" name=\"{name}\">");
    let message = escape(&finding.message);
    match (&finding.waived_by, finding.severity) {
        (Some(waiver), _) => {
            let reason = escape(&format!("waived by {}: {}", waiver.who, waiver.reason));
            let _ = write!(out, "<skipped message=\"{reason}\"/>");
        }
        (None, Severity::Breaking) => {
            let mut body = format!("{}\n", finding.remedy);
            if let Some(witness) = &finding.witness {
                let _ = writeln!(
                    body,
                    "\n{}\n\n{}",
                    yaml::lines(&witness.object).join("\n"),
                    witness.reasons.join("\n")
                );
            }
            let _ = write!(
                out,
                "<failure type=\"{}\" message=\"{message}\">{}</failure>",
                finding.id,
                escape(&body)
            );
        }
        (None, _) => {
            let _ = write!(out, "<system-out>{message}</system-out>");
        }
    }
    out.push_str("</testcase>\n");
}

/// Text as XML may hold it; control characters have no place in XML 1.0 at all.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
