//! Reports: what a comparison found, and how people and machines read it.

use serde::Serialize;

use crate::finding::{Finding, Severity};
use crate::rollback::Rollback;

pub mod group;
mod json;
mod junit;
mod markdown;
mod sarif;
mod text;
mod yaml;

pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use sarif::sarif;
pub use text::{TextOptions, text};

/// The version of the JSON report; it changes when a field changes its meaning or goes.
pub const SCHEMA_VERSION: u32 = 1;

/// What was found about one definition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Name of the definition.
    pub name: String,
    /// Every difference, the worst first.
    pub findings: Vec<Finding>,
    /// Whether one can go back.
    pub rollback: Rollback,
}

impl Report {
    /// The worst severity of a finding that counts.
    pub fn severity(&self) -> Severity {
        let counting = self.findings.iter().filter(|finding| finding.counts());
        counting.map(|finding| finding.severity).max().unwrap_or(Severity::Safe)
    }

    /// How many findings of a severity count.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.counts() && finding.severity == severity).count()
    }
}

/// What was found about a set of definitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetReport {
    /// The version of this format.
    pub schema_version: u32,
    /// One report for each definition.
    pub crds: Vec<Report>,
    /// The worst severity of a finding that counts.
    pub verdict: Severity,
}

impl SetReport {
    /// The report of a set, from those of its definitions.
    pub fn new(crds: Vec<Report>) -> SetReport {
        let verdict = crds.iter().map(Report::severity).max().unwrap_or(Severity::Safe);
        SetReport { schema_version: SCHEMA_VERSION, crds, verdict }
    }

    /// How many findings of a severity count.
    pub fn count(&self, severity: Severity) -> usize {
        self.crds.iter().map(|crd| crd.count(severity)).sum()
    }
}

/// `3 findings`, `1 finding`.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
