//! The documented form of the JSON report is the form it has.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::{Value, json};
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::generate::SchemaPair;
use slipway_crd_compat::options::Options;
use slipway_crd_compat::policy::Policy;
use slipway_crd_compat::{compare_sets, report};

const SCHEMA: &str = include_str!("../../../docs/reference/crd-report.schema.json");
const REFERENCE: &str = include_str!("../../../docs/reference/crd-report.md");
const GUIDE: &str = include_str!("../../../docs/guide/judge-crd-changes.md");

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn validator() -> Validator {
    jsonschema::validator_for(&schema()).unwrap()
}

fn yaml(text: &str) -> Value {
    slipway_manifests::read(text).unwrap().remove(0).value
}

/// The first block of that language after a text.
fn block<'t>(text: &'t str, after: &str, language: &str) -> &'t str {
    let text = text.split_once(after).unwrap().1;
    text.split_once(&format!("```{language}\n")).unwrap().1.split_once("```").unwrap().0
}

fn written(old: &[Crd], new: &[Crd], options: &Options) -> Value {
    serde_json::from_str(&report::json(&compare_sets(old, new, options))).unwrap()
}

fn crd(value: Value) -> Crd {
    Crd::from_value(value).unwrap()
}

/// Every object of the report that has a name in the schema, with its fields.
fn fields(report: &Value, into: &mut BTreeSet<String>) {
    match report {
        Value::Object(map) => {
            for (key, value) in map {
                into.insert(key.clone());
                if !["object", "old", "new"].contains(&key.as_str()) {
                    fields(value, into);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(item, into)),
        _ => {}
    }
}

/// Every field the schema describes.
fn described(schema: &Value, into: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        into.extend(properties.keys().cloned());
    }
    for definition in schema["$defs"].as_object().into_iter().flatten() {
        described(definition.1, into);
    }
}

/// Two versions of which the first goes, so that objects cross over.
fn crossing() -> (Crd, Crd) {
    let version = |name: &str, storage: bool, schema: Value| {
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": schema}}}}})
    };
    let with = |versions: Value| {
        let mut crd = slipway_crd_compat::generate::definition(&json!({"type": "object"}));
        crd["spec"]["versions"] = versions;
        Crd::from_value(crd).unwrap()
    };
    let (a, b) = (json!({"size": {"type": "integer"}}), json!({"size": {"type": "string"}}));
    (
        with(json!([version("v1alpha1", true, a.clone())])),
        with(json!([version("v1alpha1", false, a), version("v1", true, b)])),
    )
}

#[test]
fn every_report_has_the_documented_form_and_no_documented_field_is_never_written() {
    let validator = validator();
    let mut seen = BTreeSet::new();
    let mut check = |name: &str, report: &Value| {
        let errors: Vec<_> = validator
            .iter_errors(report)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
        fields(report, &mut seen);
    };
    let waiving: Policy = serde_json::from_value(json!({"waivers": [
        {"finding": "field-removed", "path": "*", "reason": "unused", "who": "storage team", "expires": "2999-01-01T00:00:00Z"},
        {"finding": "required-added", "path": "*", "reason": "unused", "who": "storage team", "expires": "1969-01-01T00:00:00Z"},
    ]}))
    .unwrap();
    let options = Options::default().with_policy(waiving);
    for seed in 0..300 {
        let pair = SchemaPair::from_seed(seed);
        let (old, new) = ([crd(pair.old_crd())], [crd(pair.new_crd())]);
        check(&format!("seed {seed}"), &written(&old, &new, &options));
    }
    let (old, new) = crossing();
    check("crossing versions", &written(&[old], std::slice::from_ref(&new), &options));
    check("a new definition", &written(&[], std::slice::from_ref(&new), &options));
    check("a definition that goes", &written(&[new], &[], &options));
    let mut documented = BTreeSet::new();
    described(&schema(), &mut documented);
    assert_eq!(documented.difference(&seen).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn the_schema_refuses_what_no_report_says() {
    let validator = validator();
    let good = json!({"schemaVersion": 1, "crds": [], "verdict": "safe"});
    assert!(validator.is_valid(&good));
    for (key, value) in [("schemaVersion", json!(2)), ("verdict", json!("fine")), ("more", json!(1))] {
        let mut bad = good.clone();
        bad[key] = value;
        assert!(!validator.is_valid(&bad), "{bad}");
    }
}

#[test]
fn the_reference_names_every_field_and_its_example_is_real() {
    let mut documented = BTreeSet::new();
    described(&schema(), &mut documented);
    for field in &documented {
        let named = [format!("`{field}`"), format!(".{field}`")];
        assert!(named.iter().any(|name| REFERENCE.contains(name)), "{field} is not in the reference");
    }
    let before = block(REFERENCE, "### An example", "yaml");
    let after = before.replace("keep: {type: integer}", "keep: {type: integer, maximum: 30}");
    assert_ne!(before, after);
    let example: Value = serde_json::from_str(block(REFERENCE, "### An example", "json")).unwrap();
    assert_eq!(example, written(&[crd(yaml(before))], &[crd(yaml(&after))], &Options::default()));
}

#[test]
fn the_policy_of_the_guide_is_one() {
    let policy: Policy = serde_json::from_value(yaml(block(GUIDE, "## What you accept", "yaml"))).unwrap();
    policy.check().unwrap();
    assert_eq!(policy.waivers.len(), 1);
    for snippet in ["### GitHub Actions", "### GitLab"] {
        assert!(yaml(block(GUIDE, snippet, "yaml")).is_object());
    }
}
