//! Reports for programs.

use super::SetReport;

/// The report as JSON, in the documented form.
pub fn json(report: &SetReport) -> String {
    // Every part of a report is plain data, for which serialisation cannot fail.
    serde_json::to_string_pretty(report).unwrap_or_default()
}
