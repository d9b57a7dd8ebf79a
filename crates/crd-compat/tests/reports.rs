//! What people and programs read.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot set up its case must stop")]
#![allow(clippy::needless_pass_by_value, reason = "cases read best as values")]

use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_crd_compat::compare_sets;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::options::Options;
use slipway_crd_compat::policy::Policy;
use slipway_crd_compat::report::{SetReport, TextOptions, json as to_json, junit, markdown, sarif, text};
use slipway_crd_compat::rules;

fn crd(name: &str, kind: &str, versions: Value) -> Crd {
    Crd::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{name}.cert-manager.io")},
        "spec": {
            "group": "cert-manager.io", "scope": "Namespaced", "names": {"kind": kind, "plural": name}, "versions": versions,
        },
    }))
    .expect("a definition")
}

fn v1(spec: Value, status: Value) -> Value {
    json!({
        "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
    })
}

fn certificates(key: Value, usages: Value, extra: Value) -> Value {
    let mut properties = json!({
        "secretName": {"type": "string"},
        "issuerRef": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        "usages": {"type": "array", "items": {"type": "string", "enum": usages}},
        "privateKey": key,
    });
    properties.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
    json!({"type": "object", "required": ["secretName", "issuerRef"], "properties": properties})
}

/// Two definitions, one of them with everything a report can show.
fn report(policy: Value) -> SetReport {
    let key = |required: Value| json!({"type": "object", "required": required, "description": format!("{required}"), "properties": {"rotationPolicy": {"type": "string"}, "size": {"type": "integer"}}});
    let pod = |image: Value| json!({"type": "object", "properties": {"image": image}});
    let old = v1(
        certificates(
            key(json!([])),
            json!(["signing"]),
            json!({"first": pod(json!({"type": "string"})), "second": pod(json!({"type": "string"})), "old": {"type": "string"}, "duration": {"type": "string"}}),
        ),
        json!({"type": "object", "properties": {"phase": {"type": "string"}}}),
    );
    let new = v1(
        certificates(
            key(json!(["rotationPolicy"])),
            json!(["signing", "code signing"]),
            json!({
                "first": pod(json!({"type": "string", "maxLength": 3})), "second": pod(json!({"type": "string", "maxLength": 3})),
                "third": pod(json!({"type": "string"})), "duration": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
            }),
        ),
        json!({"type": "object", "required": ["phase"], "properties": {"phase": {"type": "string"}}}),
    );
    let policy: Policy = serde_json::from_value(policy).expect("a policy");
    let now: Timestamp = "2026-06-01T00:00:00Z".parse().expect("a time");
    compare_sets(
        &[
            crd("certificates", "Certificate", json!([old])),
            crd("issuers", "Issuer", json!([v1(json!({"type": "object"}), json!({"type": "object"}))])),
        ],
        &[
            crd("certificates", "Certificate", json!([new])),
            crd("issuers", "Issuer", json!([v1(json!({"type": "object"}), json!({"type": "object"}))])),
        ],
        &Options::at(now).with_policy(policy),
    )
}

fn waiving() -> Value {
    json!({"waivers": [
        {"finding": "field-removed", "path": ".spec.old", "reason": "nobody uses it", "who": "the platform team", "expires": "2026-12-31T00:00:00Z"},
        {"finding": "required-added", "path": ".status.phase", "reason": "next week", "who": "the platform team", "expires": "2026-01-01T00:00:00Z"},
    ]})
}

#[test]
fn text_says_what_matters_on_one_screen() {
    insta::assert_snapshot!("text", text(&report(waiving()), TextOptions::default()));
}

#[test]
fn text_shows_everything_when_asked() {
    insta::assert_snapshot!("text_all", text(&report(json!({})), TextOptions { all: true, color: false }));
}

#[test]
fn text_is_coloured_when_asked_and_says_the_same() {
    let plain = text(&report(waiving()), TextOptions::default());
    let colored = text(&report(waiving()), TextOptions { color: true, all: false });
    assert!(colored.contains("\u{1b}[1;31m") && !plain.contains('\u{1b}'));
    let mut stripped = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        stripped.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
}

#[test]
fn markdown_fits_a_pull_request() {
    insta::assert_snapshot!("markdown", markdown(&report(waiving())));
}

#[test]
fn json_has_the_documented_form() {
    let report: Value = serde_json::from_str(&to_json(&report(waiving()))).expect("JSON");
    assert_eq!(report["schemaVersion"], json!(1));
    assert_eq!(report["verdict"], json!("breaking"));
    let crd = &report["crds"][0];
    assert_eq!(crd["name"], json!("certificates.cert-manager.io"));
    assert_eq!(crd["rollback"]["verdict"], json!("after-migration"));
    assert!(crd["rollback"]["reasons"].is_array());
    for finding in crd["findings"].as_array().expect("findings") {
        for key in [
            "id", "severity", "version", "path", "old", "new", "message", "remedy", "hits", "witness",
            "waivedBy",
        ] {
            assert!(finding.get(key).is_some(), "{key} is missing in {finding}");
        }
        assert!(rules::find(finding["id"].as_str().expect("an id")).is_some(), "{finding}");
    }
    insta::assert_json_snapshot!("finding", crd["findings"][0]);
}

#[test]
fn sarif_names_rules_places_and_waivers() {
    let document: Value = serde_json::from_str(&sarif(&report(waiving()), Some("config/crd"))).expect("JSON");
    let run = &document["runs"][0];
    let results = run["results"].as_array().expect("results");
    assert!(results.iter().all(|result| result["level"] != json!("note")));
    assert!(results.iter().any(
        |result| result["suppressions"][0]["justification"] == json!("the platform team: nobody uses it")
    ));
    let described: Vec<_> =
        run["tool"]["driver"]["rules"].as_array().expect("rules").iter().map(|rule| &rule["id"]).collect();
    assert!(results.iter().all(|result| described.contains(&&result["ruleId"])));
    assert_eq!(results[0]["locations"][0]["logicalLocations"][0]["kind"], json!("member"));
    let file = "/locations/0/physicalLocation/artifactLocation/uri";
    assert!(results.iter().all(|result| result.pointer(file) == Some(&json!("config/crd"))));
}

#[test]
fn junit_fails_what_breaks_and_skips_what_is_waived() {
    insta::assert_snapshot!("junit", junit(&report(waiving())));
}

#[test]
fn a_set_without_differences_is_compatible() {
    let same = || crd("issuers", "Issuer", json!([v1(json!({"type": "object"}), json!({"type": "object"}))]));
    let report = compare_sets(&[same()], &[same()], &Options::default());
    insta::assert_snapshot!("text_same", text(&report, TextOptions::default()));
    assert!(markdown(&report).contains("No difference that matters"));
    let empty = compare_sets(&[], &[], &Options::default());
    assert!(text(&empty, TextOptions::default()).contains("compatible"));
}

#[test]
fn many_findings_are_counted_instead_of_listed() {
    let wide = |new: bool| {
        let kinds = [
            (json!({"type": "string"}), json!({"type": "integer"})),
            (json!({"type": "string"}), json!({"type": "string", "maxLength": 1})),
            (json!({"type": "string"}), json!({"type": "string", "minLength": 1})),
            (json!({"type": "string"}), json!({"type": "string", "pattern": "^a"})),
            (json!({"type": "string"}), json!({"type": "string", "enum": ["a"]})),
            (json!({"type": "string", "enum": ["a", "b"]}), json!({"type": "string", "enum": ["a"]})),
            (json!({"type": "string"}), json!({"type": "string", "format": "ipv4"})),
            (json!({"type": "integer"}), json!({"type": "integer", "minimum": 1})),
            (json!({"type": "integer"}), json!({"type": "integer", "maximum": 1})),
            (json!({"type": "integer"}), json!({"type": "integer", "multipleOf": 2})),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                json!({"type": "array", "maxItems": 1, "items": {"type": "string"}}),
            ),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                json!({"type": "array", "minItems": 1, "items": {"type": "string"}}),
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                json!({"type": "object", "maxProperties": 1, "additionalProperties": {"type": "string"}}),
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                json!({"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}}),
            ),
        ];
        let properties: serde_json::Map<String, Value> = kinds
            .iter()
            .enumerate()
            .map(|(index, (old, changed))| {
                (format!("f{index}"), if new { changed.clone() } else { old.clone() })
            })
            .collect();
        crd(
            "issuers",
            "Issuer",
            json!([v1(json!({"type": "object", "properties": properties}), json!({"type": "object"}))]),
        )
    };
    let report = compare_sets(&[wide(false)], &[wide(true)], &Options::default());
    let page = text(&report, TextOptions::default());
    assert!(page.contains("and 2 more of these; --all shows them"), "{page}");
}
