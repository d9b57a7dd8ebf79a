//! Reports for code scanning: SARIF 2.1.0.

use serde_json::{Value, json};

use super::SetReport;
use crate::finding::{Finding, Severity};
use crate::rules;

/// The report as SARIF. Safe findings are left out: a scanner's inbox is for what needs a decision.
///
/// `artifact` is where the new definitions were read from. Code scanning shows a result beside a file and
/// refuses one without; definitions that come from no file have none.
pub fn sarif(report: &SetReport, artifact: Option<&str>) -> String {
    let mut used: Vec<&str> = Vec::new();
    let mut results: Vec<Value> = Vec::new();
    for crd in &report.crds {
        for finding in crd.findings.iter().filter(|finding| finding.severity > Severity::Safe) {
            if !used.contains(&finding.id) {
                used.push(finding.id);
            }
            results.push(result(&crd.name, finding, artifact));
        }
    }
    let described: Vec<Value> = used.iter().filter_map(|id| rules::find(id)).map(rule).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "slipway", "rules": described}},
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

fn rule(rule: &rules::Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.meaning},
        "help": {"text": format!("{} {}", rule.matters, rule.remedy)},
        "defaultConfiguration": {"level": level(rule.severity)},
    })
}

fn result(crd: &str, finding: &Finding, artifact: Option<&str>) -> Value {
    let version = finding.version.as_deref().unwrap_or_default();
    let mut location = json!({
        "logicalLocations": [{"fullyQualifiedName": format!("{crd}/{version}{}", finding.path), "kind": "member"}],
    });
    if let (Some(uri), Value::Object(map)) = (artifact, &mut location) {
        let file = json!({"artifactLocation": {"uri": uri}, "region": {"startLine": 1}});
        map.insert("physicalLocation".into(), file);
    }
    let mut result = json!({
        "ruleId": finding.id,
        "level": level(finding.severity),
        "message": {"text": format!("{}. {}", finding.message, finding.remedy)},
        "locations": [location],
        "partialFingerprints": {"slipway/v1": format!("{crd}/{version}/{}/{}", finding.id, finding.path)},
    });
    if let (Some(waiver), Value::Object(map)) = (&finding.waived_by, &mut result) {
        let suppression =
            json!([{"kind": "external", "justification": format!("{}: {}", waiver.who, waiver.reason)}]);
        map.insert("suppressions".into(), suppression);
    }
    result
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Breaking => "error",
        Severity::Risky => "warning",
        Severity::Safe => "note",
    }
}
