//! Findings as lines of a CRD's history, in the words of the interface.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;
use slipway_crd_compat::finding::{Finding, Severity};
use slipway_crd_compat::report::Report;
use slipway_crd_compat::rules;
use slipway_domain::crd::{ChangeType, CrdChange};
use slipway_domain::version::Version;

const DESCRIPTION: &str = "description-changed";

/// What a report says, a line for each difference; changed descriptions are one line together.
pub(super) fn changes(report: &Report, operator_version: &Version, at: Timestamp) -> Vec<CrdChange> {
    let new_types: BTreeMap<(&Option<String>, &str), String> = report
        .findings
        .iter()
        .filter(|finding| finding.id == "field-added")
        .filter_map(|finding| {
            Some(((&finding.version, finding.path.as_str()), type_in(finding.new.as_ref())?))
        })
        .collect();
    let versions: BTreeSet<&String> = report.findings.iter().filter_map(|one| one.version.as_ref()).collect();
    let several = versions.len() > 1;
    // A field that is new and required is one change, not an optional one beside it.
    let required: BTreeSet<(&Option<String>, &str)> = report
        .findings
        .iter()
        .filter(|finding| matches!(finding.id, "required-added" | "required-with-default"))
        .map(|finding| (&finding.version, finding.path.as_str()))
        .collect();
    let mut lines: Vec<CrdChange> = Vec::new();
    let mut descriptions = 0_usize;
    for finding in &report.findings {
        if finding.id == DESCRIPTION {
            descriptions += 1;
            continue;
        }
        if finding.id == "field-added" && required.contains(&(&finding.version, finding.path.as_str())) {
            continue;
        }
        let added = new_types.get(&(&finding.version, finding.path.as_str()));
        let typed = matches!(finding.id, "field-added" | "field-removed" | "type-changed" | "type-widened");
        let place = finding.version.as_ref().filter(|_| several).map(|name| format!(" (in {name})"));
        lines.push(CrdChange {
            change_type: change_type(finding.id, added.is_some()),
            field_path: field_path(&finding.path),
            previous_type: typed.then(|| type_in(finding.old.as_ref())).flatten(),
            new_type: if typed { type_in(finding.new.as_ref()) } else { added.cloned() },
            is_breaking: is_breaking(finding),
            // A value in a schema may hold what the database does not take.
            description: format!("{}: {}{}", headline(finding), finding.message, place.unwrap_or_default())
                .replace('\0', "␀"),
            finding: finding.id.to_owned(),
            severity: finding.severity.as_str().to_owned(),
            operator_version: operator_version.clone(),
            changed_at: at,
        });
    }
    if descriptions > 0 {
        let what = if descriptions == 1 {
            "1 description".to_owned()
        } else {
            format!("{descriptions} descriptions")
        };
        lines.push(CrdChange {
            change_type: ChangeType::Modified,
            field_path: String::new(),
            previous_type: None,
            new_type: None,
            is_breaking: false,
            description: format!("Documentation changed: {what}"),
            finding: DESCRIPTION.to_owned(),
            severity: Severity::Safe.as_str().to_owned(),
            operator_version: operator_version.clone(),
            changed_at: at,
        });
    }
    lines
}

/// The line that says that a version brought a CRD, or no longer has it.
pub(super) fn whole(
    change_type: ChangeType,
    description: String,
    operator_version: &Version,
    at: Timestamp,
) -> CrdChange {
    let removed = change_type == ChangeType::Removed;
    let severity = if removed { Severity::Breaking } else { Severity::Safe };
    CrdChange {
        change_type,
        field_path: String::new(),
        previous_type: None,
        new_type: None,
        is_breaking: removed,
        description,
        finding: if removed { "crd-removed" } else { "crd-added" }.to_owned(),
        severity: severity.as_str().to_owned(),
        operator_version: operator_version.clone(),
        changed_at: at,
    }
}

/// Whether a finding stops something; one that is waived is accepted.
pub(super) fn is_breaking(finding: &Finding) -> bool {
    finding.severity == Severity::Breaking && finding.counts()
}

/// Paths of objects without the dot in front; paths of the definition as they are.
fn field_path(path: &str) -> String {
    path.strip_prefix('.').unwrap_or(path).to_owned()
}

fn change_type(id: &str, field_is_new: bool) -> ChangeType {
    match id {
        // That an existing field is required now changes it.
        "required-added" | "required-with-default" if !field_is_new => ChangeType::Modified,
        "required-removed" | "nullable-added" | "nullable-removed" | "default-added" | "default-removed" => {
            ChangeType::Modified
        }
        _ if id.ends_with("-added") => ChangeType::Added,
        "required-with-default" => ChangeType::Added,
        _ if id.ends_with("-removed") => ChangeType::Removed,
        _ => ChangeType::Modified,
    }
}

/// The few words that tools look for, and for the rest the title of the rule.
fn headline(finding: &Finding) -> &'static str {
    match finding.id {
        "required-added" | "required-with-default" => "Required field added",
        "type-changed" => "Field type changed",
        "field-removed" => "Field removed",
        "field-added" => "Optional field added",
        id if id.ends_with("-tightened") => "Constraint tightened",
        id => rules::find(id).map_or("Changed", |rule| rule.title),
    }
}

fn type_in(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}
