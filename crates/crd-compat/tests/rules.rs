//! Every rule's example shows the rule.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot set up its case must stop")]

use serde_json::{Value, json};
use slipway_crd_compat::compare;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::Severity;
use slipway_crd_compat::options::Options;
use slipway_crd_compat::rules::{self, Example};

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "listKind": "WidgetList", "singular": "widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    })
}

fn merge(base: &mut Value, patch: Value) {
    match (base, patch) {
        (Value::Object(base), Value::Object(patch)) => {
            for (key, value) in patch {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, patch) => *base = patch,
    }
}

fn with_schema(field: &str, schema: &str) -> Crd {
    let mut schema = yaml(schema);
    schema["type"] = json!("object");
    let mut crd = definition();
    let version = &mut crd["spec"]["versions"][0];
    version["schema"]["openAPIV3Schema"]["properties"] = json!({ field: schema });
    version["subresources"] = json!({"status": {}});
    Crd::from_value(crd).expect("a definition")
}

fn patched(patch: &str) -> Crd {
    let mut crd = definition();
    merge(&mut crd, yaml(patch));
    Crd::from_value(crd).unwrap_or_else(|error| panic!("{error}: {patch}"))
}

#[test]
fn every_example_shows_its_rule_with_the_severity_it_states() {
    let mut wrong = Vec::new();
    for rule in rules::all() {
        let (old, new) = match rule.example {
            Example::Spec { old, new } => (with_schema("spec", old), with_schema("spec", new)),
            Example::Status { old, new } => (with_schema("status", old), with_schema("status", new)),
            Example::Definition { old, new } => (patched(old), patched(new)),
            _ => continue,
        };
        let report = compare(&old, &new, &Options::default());
        if !report.findings.iter().any(|finding| finding.id == rule.id && finding.severity == rule.severity) {
            let found: Vec<_> = report.findings.iter().map(|f| (f.id, f.severity, &f.message)).collect();
            wrong.push(format!("{} should be {}: {found:#?}", rule.id, rule.severity));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_breaking_example_of_a_schema_is_proven_by_an_object() {
    // These cannot be shown by one object: the keyword is ignored, or the API server refuses the schema.
    let unshown = ["misplaced-size-floor", "required-with-default", "unique-items-added"];
    for rule in rules::all().filter(|rule| rule.severity == Severity::Breaking && !unshown.contains(&rule.id))
    {
        let Example::Spec { old, new } = rule.example else { continue };
        let report = compare(&with_schema("spec", old), &with_schema("spec", new), &Options::default());
        let finding = report.findings.iter().find(|finding| finding.id == rule.id).expect(rule.id);
        assert!(finding.witness.is_some(), "{}: {:?}", rule.id, finding.witness_missing_reason);
    }
}
