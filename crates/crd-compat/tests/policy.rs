//! What a policy tolerates, and for how long.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot set up its case must stop")]
#![allow(clippy::needless_pass_by_value, reason = "cases read best as values")]

use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_crd_compat::compare;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::Severity;
use slipway_crd_compat::options::Options;
use slipway_crd_compat::policy::{Policy, Preset};
use slipway_crd_compat::report::Report;

fn crd(spec: Value, columns: Value) -> Crd {
    Crd::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                "additionalPrinterColumns": columns,
            }],
        },
    }))
    .expect("a definition")
}

fn judge(policy: Value) -> Report {
    let policy: Policy = serde_json::from_value(policy).expect("a policy");
    policy.check().expect("a policy of findings that exist");
    let old = crd(
        json!({"type": "object", "description": "one", "properties": {"mode": {"type": "string", "enum": ["a"]}, "size": {"type": "integer"}}}),
        json!([{"name": "Mode", "type": "string", "jsonPath": ".spec.mode"}]),
    );
    let new = crd(
        json!({"type": "object", "description": "two", "properties": {"mode": {"type": "string", "enum": ["a", "b"]}}}),
        json!([]),
    );
    let now: Timestamp = "2026-06-01T00:00:00Z".parse().expect("a time");
    compare(&old, &new, &Options::at(now).with_policy(policy))
}

fn ids(report: &Report) -> Vec<(&str, Severity)> {
    report.findings.iter().map(|finding| (finding.id, finding.severity)).collect()
}

#[test]
fn the_strict_preset_is_the_default() {
    assert_eq!(ids(&judge(json!({}))), ids(&judge(json!({"preset": "strict"}))));
    assert_eq!(Policy::default(), Policy::preset(Preset::Strict));
}

#[test]
fn upstream_controllers_tolerate_descriptions_columns_and_new_values() {
    let report = judge(json!({"preset": "upstream-controllers"}));
    assert_eq!(ids(&report), [("field-removed", Severity::Breaking), ("enum-value-added", Severity::Safe)]);
}

#[test]
fn single_rules_are_raised_lowered_and_ignored() {
    let report = judge(json!({"rules": {
        "enum-value-added": "breaking", "field-removed": "risky", "description-changed": "safe", "printer-column-removed": "ignore",
    }}));
    assert_eq!(
        ids(&report),
        [
            ("enum-value-added", Severity::Breaking),
            ("field-removed", Severity::Risky),
            ("description-changed", Severity::Safe)
        ]
    );
}

fn waiver(path: &str, expires: &str) -> Value {
    json!({"waivers": [{"finding": "field-removed", "path": path, "reason": "nobody uses it", "who": "the storage team", "expires": expires}]})
}

#[test]
fn a_waived_finding_is_reported_but_does_not_count() {
    for path in [".spec.size", ".spec.*", "*size", "*", ".*.s*e"] {
        let report = judge(waiver(path, "2026-07-01T00:00:00Z"));
        assert_eq!(report.severity(), Severity::Risky, "{path}");
        let finding =
            report.findings.iter().find(|finding| finding.id == "field-removed").expect("still there");
        assert_eq!(finding.waived_by.as_ref().map(|waiver| waiver.who.as_str()), Some("the storage team"));
    }
    for path in [".spec.siz", ".status.*", "*sizes", ".spec.*x*"] {
        assert_eq!(judge(waiver(path, "2026-07-01T00:00:00Z")).severity(), Severity::Breaking, "{path}");
    }
}

#[test]
fn an_expired_waiver_counts_for_nothing_and_is_reported() {
    let report = judge(waiver(".spec.size", "2026-06-01T00:00:00Z"));
    assert_eq!(report.severity(), Severity::Breaking);
    let notice = report.findings.iter().find(|finding| finding.id == "waiver-expired").expect("a notice");
    assert!(
        notice.message.contains("the storage team") && notice.message.contains("2026-06-01"),
        "{}",
        notice.message
    );
    // A waiver nobody needs is nobody's business.
    let report = judge(waiver(".spec.other", "2020-01-01T00:00:00Z"));
    assert!(!report.findings.iter().any(|finding| finding.id == "waiver-expired"));
}

#[test]
fn a_waiver_may_be_for_one_definition_only() {
    let mut policy = waiver(".spec.size", "2026-07-01T00:00:00Z");
    policy["waivers"][0]["crd"] = json!("gadgets.example.com");
    assert_eq!(judge(policy.clone()).severity(), Severity::Breaking);
    policy["waivers"][0]["crd"] = json!("widgets.example.com");
    assert_eq!(judge(policy).severity(), Severity::Risky);
}

#[test]
fn a_misspelt_finding_is_refused_with_a_hint() {
    let policy: Policy =
        serde_json::from_value(json!({"rules": {"field-remove": "ignore"}})).expect("a policy");
    let error = policy.check().expect_err("an error").to_string();
    assert!(error.contains("\"field-remove\"") && error.contains("did you mean field-removed"), "{error}");
    let policy: Policy = serde_json::from_value(json!({"rules": {"zzz": "ignore"}})).expect("a policy");
    assert!(policy.check().expect_err("an error").to_string().ends_with("does not exist"));
    assert!(serde_json::from_value::<Policy>(json!({"rule": {}})).is_err());
}

#[test]
fn what_is_shown_to_be_harmless_is_not_raised() {
    let policy = Policy {
        rules: [("required-added".to_owned(), slipway_crd_compat::policy::Action::Risky)].into(),
        ..Policy::default()
    };
    let old = crd(json!({"type": "object", "properties": {}}), json!([]));
    let new = crd(
        json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "default": "x"}}}),
        json!([]),
    );
    let report = compare(&old, &new, &Options::default().with_policy(policy));
    assert!(ids(&report).contains(&("required-added", Severity::Safe)), "{:?}", ids(&report));
}
