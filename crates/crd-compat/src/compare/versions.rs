//! Which versions there are, and what each offers besides its schema.

use serde_json::Value;

use super::about_definition;
use super::definition::{EVERYBODY, unrecognised};
use crate::crd::{Crd, CrdVersion};
use crate::finding::{Finding, Hit, Severity};
use crate::options::Options;
use crate::rules::{self, Rule};

pub(super) fn compare(old: &Crd, new: &Crd, options: &Options) -> Vec<Finding> {
    let mut findings = Vec::new();
    let stored: Vec<&str> = match &options.stored_versions {
        Some(stored) => stored.iter().map(String::as_str).collect(),
        None => old.stored_versions(),
    };
    for was in old.versions() {
        match new.version(was.name()) {
            Some(is) => both(was, is, &mut findings),
            None => removed(was, &mut findings),
        }
    }
    for name in stored.iter().filter(|name| new.version(name).is_none()) {
        let mut finding = say(
            &rules::STORED_VERSION_REMOVED,
            name,
            "",
            format!("version {name} is gone, but objects are still stored in it"),
            "the API server refuses the definition",
        );
        finding.hits = EVERYBODY.to_vec();
        findings.push(finding);
    }
    for is in new.versions().iter().filter(|is| old.version(is.name()).is_none()) {
        findings.push(say(
            &rules::VERSION_ADDED,
            is.name(),
            "",
            format!("version {} is new", is.name()),
            "clients of other versions go on as before",
        ));
    }
    storage(old, new, &mut findings);
    findings
}

/// A finding about one version.
fn say(rule: &'static Rule, version: &str, key: &str, what: impl AsRef<str>, follows: &str) -> Finding {
    let place = match key {
        "" => format!("spec.versions[{version}]"),
        key => format!("spec.versions[{version}].{key}"),
    };
    let mut finding = about_definition(rule, &place, what, follows);
    finding.version = Some(version.to_owned());
    finding
}

fn removed(was: CrdVersion<'_>, findings: &mut Vec<Finding>) {
    let mut finding = say(
        &rules::VERSION_REMOVED,
        was.name(),
        "",
        format!("version {} is gone", was.name()),
        "manifests and clients that name it are refused",
    );
    if was.served() {
        finding.hits = EVERYBODY.to_vec();
    } else {
        finding.severity = Severity::Safe;
        "it was not served any more".clone_into(&mut finding.consequence);
        finding.message = format!("{}: {}", finding.headline, finding.consequence);
    }
    findings.push(finding);
}

fn storage(old: &Crd, new: &Crd, findings: &mut Vec<Finding>) {
    let name =
        |crd: &Crd| crd.versions().iter().find(|version| version.storage()).map(|v| v.name().to_owned());
    let (Some(was), Some(is)) = (name(old), name(new)) else { return };
    if was != is {
        let mut finding = about_definition(
            &rules::STORAGE_VERSION_CHANGED,
            "spec.versions",
            format!("objects are stored as {is} instead of {was}"),
            "going back takes a rewrite of every object written meanwhile",
        );
        finding.old = Some(Value::from(was));
        finding.new = Some(Value::from(is));
        findings.push(finding);
    }
}

fn both(was: CrdVersion<'_>, is: CrdVersion<'_>, findings: &mut Vec<Finding>) {
    let name = was.name();
    match (was.served(), is.served()) {
        (true, false) => {
            let follows = "manifests and clients that name it are refused";
            let mut finding = say(
                &rules::VERSION_UNSERVED,
                name,
                "served",
                format!("version {name} is no longer served"),
                follows,
            );
            finding.hits = EVERYBODY.to_vec();
            findings.push(finding);
        }
        (false, true) => {
            findings.push(say(
                &rules::VERSION_SERVED,
                name,
                "served",
                format!("version {name} is now served"),
                "clients of other versions go on as before",
            ));
        }
        _ => {}
    }
    match (was.deprecated(), is.deprecated()) {
        (false, true) => {
            let follows = "clients get a warning, and the version will go";
            findings.push(say(
                &rules::VERSION_DEPRECATED,
                name,
                "deprecated",
                format!("version {name} is now deprecated"),
                follows,
            ));
        }
        (true, false) => {
            findings.push(say(
                &rules::DEPRECATION_WITHDRAWN,
                name,
                "deprecated",
                format!("version {name} is no longer deprecated"),
                "clients get no warning any more",
            ));
        }
        (true, true) if was.deprecation_warning() != is.deprecation_warning() => {
            let mut finding = say(
                &rules::DEPRECATION_WARNING_CHANGED,
                name,
                "deprecationWarning",
                format!("the warning about version {name} reads differently"),
                "clients get another warning",
            );
            finding.old = was.deprecation_warning().map(Value::from);
            finding.new = is.deprecation_warning().map(Value::from);
            findings.push(finding);
        }
        _ => {}
    }
    status(was, is, findings);
    scale(was, is, findings);
    columns(was, is, findings);
    selectable(was, is, findings);
    let known = [
        "name",
        "served",
        "storage",
        "deprecated",
        "deprecationWarning",
        "schema",
        "subresources",
        "additionalPrinterColumns",
        "selectableFields",
    ];
    let raw = |version: CrdVersion<'_>| {
        Value::Object(
            version
                .raw()
                .iter()
                .filter(|(key, _)| !known.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        )
    };
    unrecognised(Some(&raw(was)), Some(&raw(is)), &format!("spec.versions[{name}]"), &known, findings);
    let (before, after) = (was.raw().get("subresources"), is.raw().get("subresources"));
    let place = format!("spec.versions[{name}].subresources");
    unrecognised(before, after, &place, &["status", "scale"], findings);
}

fn status(was: CrdVersion<'_>, is: CrdVersion<'_>, findings: &mut Vec<Finding>) {
    let key = "subresources.status";
    let mut finding = match (was.has_status(), is.has_status()) {
        (false, true) => say(
            &rules::STATUS_SUBRESOURCE_ADDED,
            was.name(),
            key,
            "the status subresource is new",
            "status is taken from /status only, and silently ignored elsewhere",
        ),
        (true, false) => say(
            &rules::STATUS_SUBRESOURCE_REMOVED,
            was.name(),
            key,
            "the status subresource is gone",
            "whoever writes /status gets 404",
        ),
        _ => return,
    };
    finding.hits = vec![Hit::Status];
    findings.push(finding);
}

fn scale(was: CrdVersion<'_>, is: CrdVersion<'_>, findings: &mut Vec<Finding>) {
    let key = "subresources.scale";
    let finding = match (was.scale(), is.scale()) {
        (None, Some(_)) => say(
            &rules::SCALE_SUBRESOURCE_ADDED,
            was.name(),
            key,
            "the scale subresource is new",
            "objects can now be scaled",
        ),
        (Some(_), None) => {
            let follows = "kubectl scale and autoscalers fail";
            let mut finding = say(
                &rules::SCALE_SUBRESOURCE_REMOVED,
                was.name(),
                key,
                "the scale subresource is gone",
                follows,
            );
            finding.hits = vec![Hit::Read, Hit::Update];
            finding
        }
        (Some(before), Some(after)) if before != after => {
            let follows = "autoscalers read and write another field than before";
            let mut finding = say(
                &rules::SCALE_PATH_CHANGED,
                was.name(),
                key,
                "the scale subresource looks at another field",
                follows,
            );
            finding.old = Some(before.clone());
            finding.new = Some(after.clone());
            finding.hits = vec![Hit::Read, Hit::Update];
            // A selector that appears or moves changes what autoscalers measure, not what they write.
            let replicas = |scale: &Value| {
                (scale.get("specReplicasPath").cloned(), scale.get("statusReplicasPath").cloned())
            };
            if replicas(before) == replicas(after) {
                finding.severity = Severity::Risky;
                "autoscalers count other pods than before".clone_into(&mut finding.consequence);
                finding.message = format!("{}: {}", finding.headline, finding.consequence);
            }
            finding
        }
        _ => return,
    };
    findings.push(finding);
}

fn columns(was: CrdVersion<'_>, is: CrdVersion<'_>, findings: &mut Vec<Finding>) {
    let name = |column: &Value| column.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    // What a column is called and shows; its description is documentation.
    let shows = |column: &Value| {
        let mut column = column.as_object().cloned().unwrap_or_default();
        column.remove("description");
        column
    };
    let (before, after) = (was.printer_columns(), is.printer_columns());
    let key = "additionalPrinterColumns";
    for column in after.iter().filter(|column| !before.iter().any(|other| name(other) == name(column))) {
        let mut finding = say(
            &rules::PRINTER_COLUMN_ADDED,
            was.name(),
            key,
            format!("the column {} is new", name(column)),
            "",
        );
        finding.new = Some(column.clone());
        findings.push(finding);
    }
    for column in before {
        let mut finding = match after.iter().find(|other| name(other) == name(column)) {
            None => {
                let what = format!("the column {} is gone", name(column));
                say(
                    &rules::PRINTER_COLUMN_REMOVED,
                    was.name(),
                    key,
                    what,
                    "scripts that cut columns read the wrong one",
                )
            }
            Some(other) if shows(other) != shows(column) => {
                let what = format!("the column {} shows something else", name(column));
                let mut finding = say(
                    &rules::PRINTER_COLUMN_CHANGED,
                    was.name(),
                    key,
                    what,
                    "scripts that cut columns read something else",
                );
                finding.new = Some(other.clone());
                finding
            }
            Some(_) => continue,
        };
        finding.old = Some(column.clone());
        finding.hits = vec![Hit::Read];
        findings.push(finding);
    }
    let order = |columns: &[Value], others: &[Value]| -> Vec<String> {
        columns.iter().map(name).filter(|column| others.iter().any(|other| name(other) == *column)).collect()
    };
    if order(before, after) != order(after, before) {
        findings.push(say(
            &rules::PRINTER_COLUMN_CHANGED,
            was.name(),
            key,
            "columns stand in another order",
            "scripts that cut columns read the wrong one",
        ));
    }
}

fn selectable(was: CrdVersion<'_>, is: CrdVersion<'_>, findings: &mut Vec<Finding>) {
    let path = |field: &Value| field.get("jsonPath").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (before, after) = (was.selectable_fields(), is.selectable_fields());
    for field in after.iter().filter(|field| !before.iter().any(|other| path(other) == path(field))) {
        let mut finding = say(
            &rules::SELECTABLE_FIELD_ADDED,
            was.name(),
            "selectableFields",
            format!("objects can be selected by {}", path(field)),
            "",
        );
        finding.new = Some(field.clone());
        findings.push(finding);
    }
    for field in before.iter().filter(|field| !after.iter().any(|other| path(other) == path(field))) {
        let mut finding = say(
            &rules::SELECTABLE_FIELD_REMOVED,
            was.name(),
            "selectableFields",
            format!("objects can no longer be selected by {}", path(field)),
            "whoever selects by it gets an error",
        );
        finding.old = Some(field.clone());
        finding.hits = vec![Hit::Read];
        findings.push(finding);
    }
}
