//! What is said of single changes, and why.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot set up its case must stop")]
#![allow(clippy::needless_pass_by_value, reason = "cases read best as values")]

use serde_json::{Value, json};
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::{Finding, Hit, Outcome, Severity};
use slipway_crd_compat::options::{KubernetesVersion, Options};
use slipway_crd_compat::report::Report;
use slipway_crd_compat::{compare, compare_sets, rollback};

fn definition(versions: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": versions,
        },
    })
}

fn version(name: &str, storage: bool, properties: Value) -> Value {
    json!({
        "name": name, "served": true, "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {"status": {}},
    })
}

fn crd(value: Value) -> Crd {
    Crd::from_value(value).expect("a definition")
}

/// A definition whose `.spec` has that schema.
fn spec(schema: Value) -> Crd {
    let mut schema = schema;
    schema["type"] = json!("object");
    crd(definition(json!([version("v1", true, json!({"spec": schema}))])))
}

/// A definition with one field `.spec.field`.
fn field(schema: Value) -> Crd {
    spec(json!({"properties": {"field": schema}}))
}

fn status(schema: Value) -> Crd {
    let mut schema = schema;
    schema["type"] = json!("object");
    crd(definition(json!([version("v1", true, json!({"status": schema}))])))
}

fn judge(old: &Crd, new: &Crd) -> Report {
    compare(old, new, &Options::default())
}

fn find<'r>(report: &'r Report, id: &str) -> &'r Finding {
    let ids: Vec<_> = report.findings.iter().map(|finding| (finding.id, &finding.message)).collect();
    report.findings.iter().find(|finding| finding.id == id).unwrap_or_else(|| panic!("no {id} in {ids:?}"))
}

#[track_caller]
fn fields_are(severity: Severity, cases: &[(Value, Value)]) {
    for (old, new) in cases {
        let report = judge(&field(old.clone()), &field(new.clone()));
        let found: Vec<_> = report.findings.iter().map(|finding| &finding.message).collect();
        assert_eq!(report.severity(), severity, "{old} -> {new}: {found:?}");
    }
}

#[test]
fn what_allows_the_same_values_is_safe() {
    fields_are(
        Severity::Safe,
        &[
            (
                json!({"type": "integer", "minimum": 1}),
                json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true}),
            ),
            (json!({"type": "integer", "maximum": 5}), json!({"type": "integer", "allOf": [{"maximum": 5}]})),
            (json!({"type": "string", "enum": ["a", "b"]}), json!({"type": "string", "enum": ["b", "a"]})),
            (json!({"type": "string"}), json!({"type": "string", "minimum": 0})),
            (json!({"type": "string"}), json!({"type": "string", "maxItems": 3, "maxProperties": 3})),
            (json!({"type": "integer"}), json!({"type": "integer", "maxLength": 3, "pattern": "^a$"})),
            (
                json!({"type": "string", "pattern": r"^\d+$"}),
                json!({"type": "string", "pattern": "^[0-9]+$"}),
            ),
            (json!({"type": "string", "pattern": "^(a|b)$"}), json!({"type": "string", "enum": ["a", "b"]})),
            (json!({"type": "string", "enum": ["a", "b"]}), json!({"type": "string", "pattern": "^[ab]$"})),
            (
                json!({"x-kubernetes-int-or-string": true}),
                json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
            ),
            (json!({"type": "integer", "format": "int64"}), json!({"type": "integer"})),
            (json!({"type": "string"}), json!({"type": "string", "format": "made-up"})),
            (json!({"type": "string"}), json!({"type": "string", "nullable": false})),
            (json!({"type": "number", "multipleOf": 1}), json!({"type": "integer"})),
        ],
    );
}

#[test]
fn what_the_old_schema_implied_already_is_safe() {
    fields_are(
        Severity::Safe,
        &[
            (
                json!({"type": "string", "enum": ["a", "bc"]}),
                json!({"type": "string", "enum": ["a", "bc"], "maxLength": 2, "pattern": "^[a-c]"}),
            ),
            (
                json!({"type": "integer", "enum": [1, 2]}),
                json!({"type": "integer", "enum": [1, 2], "maximum": 5, "minimum": 1, "multipleOf": 1}),
            ),
            (json!({"type": "integer", "multipleOf": 10}), json!({"type": "integer", "multipleOf": 5})),
            (
                json!({"type": "string", "pattern": "^[a-z]{1,5}$"}),
                json!({"type": "string", "pattern": "^[a-z]{1,5}$", "maxLength": 5, "minLength": 1}),
            ),
            (json!({"type": "string", "maxLength": 0}), json!({"type": "string", "enum": [""]})),
            (json!({"type": "boolean"}), json!({"type": "boolean", "enum": [true, false]})),
            (
                json!({"type": "integer", "minimum": 1, "maximum": 3}),
                json!({"type": "integer", "enum": [1, 2, 3]}),
            ),
            (
                json!({"type": "array", "maxItems": 0, "items": {"type": "string"}}),
                json!({"type": "array", "maxItems": 0, "items": {"type": "integer"}}),
            ),
            (
                json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "enum": ["a", "b"]}}),
                json!({"type": "array", "x-kubernetes-list-type": "set", "maxItems": 2, "items": {"type": "string", "enum": ["a", "b"]}}),
            ),
            (
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}),
                json!({"type": "object", "required": ["a"], "minProperties": 1, "maxProperties": 1, "properties": {"a": {"type": "string"}}}),
            ),
            (
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
                json!({"type": "object", "required": ["a"], "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
            ),
            (
                json!({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["a", "b"]}], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
            ),
            (
                json!({"type": "object", "not": {"required": ["a"]}, "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
                json!({"type": "object", "not": {"required": ["a", "b"]}, "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
            ),
            (
                json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
                json!({"type": "object", "oneOf": [{"required": ["b"], "minProperties": 0}, {"required": ["a"]}], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
            ),
        ],
    );
}

#[test]
fn what_is_loosened_is_safe() {
    fields_are(
        Severity::Safe,
        &[
            (
                json!({"type": "string", "maxLength": 3, "minLength": 2}),
                json!({"type": "string", "maxLength": 9, "minLength": 1}),
            ),
            (json!({"type": "string", "maxLength": 3, "minLength": 2}), json!({"type": "string"})),
            (
                json!({"type": "integer", "minimum": 2, "maximum": 5}),
                json!({"type": "integer", "minimum": 1, "maximum": 6}),
            ),
            (
                json!({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 3}),
                json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 4}),
            ),
            (
                json!({"type": "array", "items": {"type": "string"}, "maxItems": 3}),
                json!({"type": "array", "items": {"type": "string"}}),
            ),
            (
                json!({"type": "object", "minProperties": 2, "maxProperties": 3, "additionalProperties": {"type": "string"}}),
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
            ),
            (
                json!({"type": "object", "minProperties": 2, "maxProperties": 3, "additionalProperties": {"type": "string"}}),
                json!({"type": "object", "minProperties": 1, "maxProperties": 4, "additionalProperties": {"type": "string"}}),
            ),
            (json!({"type": "string", "pattern": "^a$"}), json!({"type": "string", "pattern": "a"})),
            (json!({"type": "string", "format": "ipv4"}), json!({"type": "string"})),
            (json!({"type": "integer", "multipleOf": 4}), json!({"type": "integer"})),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                json!({"type": "object", "additionalProperties": true}),
            ),
        ],
    );
}

#[test]
fn what_older_readers_do_not_expect_is_risky() {
    fields_are(
        Severity::Risky,
        &[
            (json!({"type": "integer"}), json!({"type": "number"})),
            (json!({"type": "string"}), json!({"x-kubernetes-int-or-string": true})),
            (json!({"type": "string", "enum": ["a"]}), json!({"type": "string", "enum": ["a", "b"]})),
            (json!({"type": "string", "enum": ["a"]}), json!({"type": "string"})),
            (json!({"type": "string", "default": "a"}), json!({"type": "string"})),
            (json!({"type": "string", "nullable": true}), json!({"type": "string"})),
            (json!({"type": "string", "nullable": true}), json!({"type": "string", "default": "a"})),
            (json!({"type": "string"}), json!({"type": "string", "x-unheard-of": 1})),
            (json!({"type": "string", "x-unheard-of": 1}), json!({"type": "string"})),
            (
                json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
                json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"}),
            ),
            (
                json!({"type": "array", "maxItems": 1, "items": {"type": "string"}}),
                json!({"type": "array", "maxItems": 1, "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}}}),
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}}}),
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            ),
        ],
    );
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table of cases is one thing")]
fn every_break_of_a_field_is_proven() {
    let ports = |extra: Value| {
        let mut ports = json!({"type": "array", "items": {"type": "object", "required": ["name", "port"],
            "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}});
        ports.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        ports
    };
    let cases = [
        (json!({"type": "string"}), json!({"type": "integer"}), "type-changed"),
        (json!({"type": "number"}), json!({"type": "integer"}), "type-changed"),
        (json!({"x-kubernetes-int-or-string": true}), json!({"type": "string"}), "type-changed"),
        (json!({"x-kubernetes-preserve-unknown-fields": true}), json!({"type": "object"}), "type-changed"),
        (
            json!({"type": "string", "minLength": 3}),
            json!({"type": "string", "minLength": 3, "maxLength": 8}),
            "max-length-tightened",
        ),
        (
            json!({"type": "string", "pattern": "^[a-z]+$"}),
            json!({"type": "string", "pattern": "^[a-z]+$", "minLength": 2}),
            "min-length-tightened",
        ),
        (
            json!({"type": "string", "pattern": "^[a-z]+$"}),
            json!({"type": "string", "pattern": "^[a-y]+$"}),
            "pattern-changed",
        ),
        (json!({"type": "integer"}), json!({"type": "integer", "format": "int32"}), "format-added"),
        (
            json!({"type": "string", "enum": ["1.2.3.4", "b"]}),
            json!({"type": "string", "enum": ["1.2.3.4", "b"], "format": "ipv4"}),
            "format-added",
        ),
        (
            json!({"type": "integer", "minimum": 0}),
            json!({"type": "integer", "minimum": 0, "enum": [0, 1]}),
            "enum-added",
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!({"x-kubernetes-int-or-string": true, "enum": [1, "a"]}),
            "enum-added",
        ),
        (json!({"type": "boolean"}), json!({"type": "boolean", "enum": [true]}), "enum-added"),
        (
            json!({"type": "integer", "enum": [1, 5, 9]}),
            json!({"type": "integer", "enum": [1, 5, 9], "maximum": 6}),
            "maximum-tightened",
        ),
        (
            json!({"type": "integer", "enum": [1, 5, 9]}),
            json!({"type": "integer", "enum": [1, 5, 9], "multipleOf": 5}),
            "multiple-of-tightened",
        ),
        (
            json!({"type": "array", "items": {"type": "string", "nullable": true}}),
            json!({"type": "array", "items": {"type": "string"}}),
            "nullable-removed",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string", "nullable": true}}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            "nullable-removed",
        ),
        (
            ports(json!({})),
            ports(json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]})),
            "list-type-changed",
        ),
        (
            ports(json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"]})),
            ports(json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"]})),
            "list-map-keys-changed",
        ),
        (ports(json!({"minItems": 2})), ports(json!({"minItems": 3})), "min-items-tightened"),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            "type-changed",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            "map-became-fields",
        ),
        (
            json!({"type": "object", "additionalProperties": true}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            "open-field-constrained",
        ),
        (
            json!({"type": "object", "additionalProperties": true}),
            json!({"type": "object"}),
            "map-values-removed",
        ),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "integer"}}}),
            "open-field-constrained",
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
            json!({"type": "object", "not": {"required": ["a", "b"]}, "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
            "condition-added",
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!({"type": "string", "enum": ["a", "b"], "anyOf": [{"enum": ["a"]}, {"enum": ["c"]}]}),
            "condition-added",
        ),
        (
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true, "required": ["spec"]}),
            "required-added",
        ),
        (
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"a": {"type": "string"}}}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            "embedded-resource-removed",
        ),
    ];
    for (old, new, id) in cases {
        let report = judge(&field(old.clone()), &field(new.clone()));
        let finding = find(&report, id);
        assert_eq!(finding.severity, Severity::Breaking, "{old} -> {new}: {}", finding.message);
        assert!(finding.witness.is_some(), "{old} -> {new}: {id}: {:?}", finding.witness_missing_reason);
    }
}

#[test]
fn a_required_field_harms_nobody_where_it_is_filled_in_or_its_parent_is_new() {
    let old = spec(json!({"properties": {"a": {"type": "string"}}}));
    let filled = spec(
        json!({"required": ["b"], "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}}}),
    );
    assert_eq!(find(&judge(&old, &filled), "required-added").severity, Severity::Safe);
    let inside = spec(
        json!({"properties": {"a": {"type": "string"}, "b": {"type": "object", "required": ["c"], "properties": {"c": {"type": "string"}}}}}),
    );
    assert_eq!(judge(&old, &inside).severity(), Severity::Safe);
    let root = |required: Value| {
        let mut value = definition(json!([version("v1", true, json!({"spec": {"type": "object"}}))]));
        value["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["required"] = required;
        crd(value)
    };
    assert_eq!(judge(&root(json!([])), &root(json!(["metadata", "kind"]))).severity(), Severity::Safe);
    let missing = judge(&root(json!([])), &root(json!(["spec"])));
    assert_eq!(find(&missing, "required-added").hits, [Hit::Create, Hit::Update]);
}

#[test]
fn losing_the_default_of_a_required_field_breaks() {
    let schema = |field: Value| spec(json!({"required": ["a"], "properties": {"a": field}}));
    let report =
        judge(&schema(json!({"type": "string", "default": "x"})), &schema(json!({"type": "string"})));
    let finding = find(&report, "default-removed");
    assert_eq!(finding.severity, Severity::Breaking);
    assert_eq!(finding.witness.as_ref().map(|witness| &witness.object["spec"]), Some(&json!({})));
}

#[test]
fn a_default_that_other_rules_refuse_breaks() {
    let schema =
        |a: Value| spec(json!({"properties": {"a": a, "b": {"type": "string"}}, "maxProperties": 1}));
    let report =
        judge(&schema(json!({"type": "string"})), &schema(json!({"type": "string", "default": "x"})));
    // An object that holds b alone is taken before; the default makes it one field too many.
    assert_ne!(find(&report, "default-added").severity, Severity::Safe);
    let either = |a: Value| {
        spec(json!({
            "properties": {"a": a, "b": {"type": "string"}}, "required": ["b"],
            "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
        }))
    };
    let report =
        judge(&either(json!({"type": "string"})), &either(json!({"type": "string", "default": "x"})));
    let finding = find(&report, "default-added");
    assert_eq!(finding.severity, Severity::Breaking, "{finding:?}");
    assert!(finding.message.contains("other rules"), "{}", finding.message);
}

#[test]
fn a_field_that_looks_renamed_is_said_to() {
    let old = spec(json!({"properties": {"serviceName": {"type": "string"}}}));
    let new = spec(json!({"properties": {"serviceNames": {"type": "string"}}}));
    let report = judge(&old, &new);
    let finding = find(&report, "field-removed");
    assert!(finding.message.contains("\"serviceNames\" looks like the same field"), "{}", finding.message);
    let witness = finding.witness.as_ref().expect("a witness");
    assert_eq!(witness.outcome, Outcome::Pruned);
    assert_eq!(witness.reasons, ["spec.serviceName"]);
}

#[test]
fn status_is_judged_by_who_writes_and_who_reads_it() {
    let old =
        status(json!({"properties": {"phase": {"type": "string", "enum": ["a"]}}, "required": ["phase"]}));
    let looser =
        status(json!({"properties": {"phase": {"type": "string", "enum": ["a"], "nullable": true}}}));
    let report = judge(&old, &looser);
    assert_eq!(find(&report, "required-removed").severity, Severity::Risky);
    assert_eq!(find(&report, "nullable-added").severity, Severity::Risky);
    let report = judge(&looser, &old);
    let finding = find(&report, "required-added");
    assert_eq!(finding.hits, [Hit::Status]);
    assert!(finding.witness.is_some(), "{:?}", finding.witness_missing_reason);
    let before_ratcheting = Options::default().with_kubernetes(KubernetesVersion::new(1, 29));
    let report = compare(&looser, &old, &before_ratcheting);
    assert_eq!(find(&report, "required-added").hits, [Hit::Update, Hit::Status]);
    let report = judge(&old, &status(json!({})));
    assert!(find(&report, "field-removed").message.contains("readers find nothing there"));
}

#[test]
fn rules_are_compared_by_what_they_say() {
    let ruled = |rules: Value| {
        spec(
            json!({"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "x-kubernetes-validations": rules}),
        )
    };
    let safe = [
        (json!([{"rule": "has(self.a) && self.a<5"}]), json!([{"rule": "has(self.a)  &&  (self.a < 5)"}])),
        (json!([{"rule": "has(self.a) && self.a < 5"}]), json!([{"rule": "has(self.a)"}])),
        (json!([{"rule": "!has(self.a) || self.a < 5"}]), json!([{"rule": "!has(self.a) || self.a < 6"}])),
        (json!([{"rule": "true"}]), json!([])),
        (json!([]), json!([{"rule": "true"}])),
        (json!([]), json!([{"rule": "!has(self.c) || self.c"}])),
        (
            json!([{"rule": "true", "message": "a"}]),
            json!([{"rule": "true", "message": "b", "reason": "FieldValueInvalid"}]),
        ),
    ];
    for (old, new) in safe {
        let report = judge(&ruled(old.clone()), &ruled(new.clone()));
        let found: Vec<_> = report.findings.iter().map(|finding| &finding.message).collect();
        assert_eq!(report.severity(), Severity::Safe, "{old} -> {new}: {found:?}");
    }
    let breaking = [
        (json!([]), json!([{"rule": "!has(self.a) || self.a != 7"}]), "cel-rule-added"),
        (
            json!([]),
            json!([{"rule": "has(self.a) == has(self.b)", "message": "both or none"}]),
            "cel-rule-added",
        ),
        (
            json!([{"rule": "!has(self.a) || self.a < 9"}]),
            json!([{"rule": "!has(self.a) || self.a < 4"}]),
            "cel-rule-changed",
        ),
    ];
    for (old, new, id) in breaking {
        let report = judge(&ruled(old), &ruled(new));
        let finding = find(&report, id);
        assert_eq!(finding.severity, Severity::Breaking);
        assert!(finding.witness.is_some(), "{}: {:?}", finding.message, finding.witness_missing_reason);
    }
    let report = judge(&ruled(json!([])), &ruled(json!([{"rule": "self.a == oldSelf.a"}])));
    let finding = find(&report, "cel-rule-added");
    assert_eq!(finding.hits, [Hit::UpdateField]);
    assert!(finding.witness_missing_reason.as_ref().is_some_and(|reason| reason.contains("what is stored")));
    let report =
        judge(&ruled(json!([{"rule": "true", "shiny": 1}])), &ruled(json!([{"rule": "true", "shiny": 2}])));
    assert_eq!(find(&report, "unrecognised-difference").severity, Severity::Risky);
    let text =
        |rules: Value| field(json!({"type": "string", "maxLength": 20, "x-kubernetes-validations": rules}));
    for rule in ["self.size() <= 4", "self != 'forbidden'", "self.startsWith('a')"] {
        let report = judge(&text(json!([])), &text(json!([{"rule": rule}])));
        let finding = find(&report, "cel-rule-added");
        assert!(finding.witness.is_some(), "{rule}: {:?}", finding.witness_missing_reason);
    }
    let nested = |rules: Value| {
        spec(json!({
            "properties": {"a": {"type": "object", "properties": {"mode": {"type": "string"}, "items": {"type": "array", "maxItems": 9, "items": {"type": "string", "maxLength": 9}}}}},
            "x-kubernetes-validations": rules,
        }))
    };
    for rule in [
        "!has(self.a) || !has(self.a.mode) || self.a.mode == 'x'",
        "!has(self.a) || !has(self.a.items) || self.a.items.size() < 3",
    ] {
        let report = judge(&nested(json!([])), &nested(json!([{"rule": rule}])));
        let finding = find(&report, "cel-rule-added");
        assert!(finding.witness.is_some(), "{rule}: {:?}", finding.witness_missing_reason);
    }
}

#[test]
fn objects_that_cross_over_between_versions_are_looked_at() {
    let size = |schema: Value| json!({"spec": {"type": "object", "properties": {"size": schema}}});
    let alpha = |storage| version("v1alpha1", storage, size(json!({"type": "integer"})));
    let old = crd(definition(json!([alpha(true)])));
    let strict = version("v1", false, size(json!({"type": "integer", "maximum": 5})));
    let report = judge(&old, &crd(definition(json!([alpha(true), strict.clone()]))));
    let finding = find(&report, "maximum-tightened");
    assert_eq!(finding.version.as_deref(), Some("v1alpha1 → v1"));
    let witness = finding.witness.as_ref().expect("a witness");
    assert_eq!(witness.written_as.as_deref(), Some("example.com/v1"));
    // What differed between versions before is not a change.
    let both = crd(definition(json!([alpha(true), strict.clone()])));
    assert_eq!(judge(&both, &both).severity(), Severity::Safe);
    let mut converted = definition(json!([alpha(true), strict]));
    converted["spec"]["conversion"] =
        json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}});
    let report = judge(&old, &crd(converted));
    assert!(!report.findings.iter().any(|finding| finding.id == "maximum-tightened"));
}

#[test]
fn many_versions_are_not_compared_each_with_each() {
    let versions = |count: usize| -> Value {
        (0..count)
            .map(|index| {
                version(
                    &format!("v{index}"),
                    index == 0,
                    json!({"spec": {"type": "object", "maxProperties": index}}),
                )
            })
            .collect()
    };
    let report = judge(&crd(definition(versions(12))), &crd(definition(versions(12))));
    assert!(find(&report, "unrecognised-difference").message.contains("too many versions"));
}

#[test]
fn a_stored_version_cannot_go() {
    let properties = || json!({"spec": {"type": "object"}});
    let old =
        crd(definition(json!([version("v1", true, properties()), version("v1beta1", false, properties())])));
    let new = crd(definition(json!([version("v1", true, properties())])));
    let options =
        Options { stored_versions: Some(vec!["v1beta1".into(), "v1".into()]), ..Options::default() };
    let report = compare(&old, &new, &options);
    assert_eq!(find(&report, "stored-version-removed").version.as_deref(), Some("v1beta1"));
    assert!(!judge(&old, &new).findings.iter().any(|finding| finding.id == "stored-version-removed"));
}

#[test]
fn definitions_are_paired_by_name() {
    let named = |name: &str| {
        let mut value = definition(json!([version("v1", true, json!({}))]));
        value["metadata"]["name"] = json!(format!("{name}.example.com"));
        value["spec"]["names"]["plural"] = json!(name);
        crd(value)
    };
    let report = compare_sets(&[named("as"), named("bs")], &[named("bs"), named("cs")], &Options::default());
    assert_eq!(report.verdict, Severity::Breaking);
    let summary: Vec<_> =
        report.crds.iter().map(|crd| (crd.name.as_str(), crd.severity(), crd.rollback.verdict)).collect();
    assert_eq!(
        summary,
        [
            ("bs.example.com", Severity::Safe, rollback::Verdict::Reversible),
            ("cs.example.com", Severity::Safe, rollback::Verdict::AfterMigration),
            ("as.example.com", Severity::Breaking, rollback::Verdict::OneWay),
        ]
    );
}

#[test]
fn a_definition_that_keeps_unknown_fields_prunes_nothing() {
    let keeping = |schema: Value| {
        let mut value = definition(json!([version("v1", true, json!({"spec": schema}))]));
        value["spec"]["preserveUnknownFields"] = json!(true);
        crd(value)
    };
    let old = keeping(json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    let report = judge(&old, &keeping(json!({"type": "object"})));
    assert_eq!(find(&report, "field-removed").severity, Severity::Safe);
}

#[test]
fn a_field_that_unknown_values_may_occupy_is_not_simply_new() {
    let keeping = |schema: Value| {
        let mut value = definition(json!([version("v1", true, json!({"spec": schema}))]));
        value["spec"]["preserveUnknownFields"] = json!(true);
        crd(value)
    };
    let old = keeping(json!({"type": "object"}));
    let report = judge(&old, &keeping(json!({"type": "object", "properties": {"a": {"type": "string"}}})));
    assert!(find(&report, "open-field-constrained").witness.is_some());
}

#[test]
fn a_listed_value_that_cannot_be_tried_is_not_called_fine() {
    let all_fit = json!({"type": "string", "enum": ["1.2.3.4", "5.6.7.8"]});
    let mut formatted = all_fit.clone();
    formatted["format"] = json!("ipv4");
    let report = judge(&field(all_fit), &field(formatted));
    assert_eq!(find(&report, "format-added").severity, Severity::Safe);
    // "b" is never accepted, because of the rule, so nothing is known about it.
    let ruled = json!({"type": "string", "enum": ["1.2.3.4", "b"], "x-kubernetes-validations": [{"rule": "self != 'b'"}]});
    let mut formatted = ruled.clone();
    formatted["format"] = json!("ipv4");
    let report = judge(&field(ruled), &field(formatted));
    assert_eq!(find(&report, "format-added").severity, Severity::Risky);
}

#[test]
fn a_schema_too_deep_to_follow_is_risky_and_harmless() {
    let deep = |leaf: &str| {
        let mut schema = json!({"type": leaf});
        for _ in 0..300 {
            schema = Value::Object(
                [("type".to_owned(), json!("object")), ("properties".to_owned(), json!({"a": schema}))]
                    .into_iter()
                    .collect(),
            );
        }
        schema
    };
    let wrapped = |leaf: &str| crd(definition(json!([version("v1", true, json!({"spec": deep(leaf)}))])));
    let report = judge(&wrapped("string"), &wrapped("integer"));
    assert!(find(&report, "schema-too-deep").severity >= Severity::Risky);
}

#[test]
fn going_back_is_judged_by_what_objects_may_hold() {
    let plain = field(json!({"type": "string", "enum": ["a"]}));
    let wider = field(json!({"type": "string", "enum": ["a", "b"]}));
    let back = judge(&plain, &wider).rollback;
    assert_eq!(back.verdict, rollback::Verdict::AfterMigration);
    assert!(back.reasons[0].contains("values the old schema refuses: .spec.field"), "{:?}", back.reasons);
    assert_eq!(judge(&wider, &plain).rollback.verdict, rollback::Verdict::Reversible);
    let more =
        spec(json!({"properties": {"field": {"type": "string", "enum": ["a"]}, "new": {"type": "string"}}}));
    assert!(judge(&plain, &more).rollback.reasons[0].contains("drops at the next write: .spec.new"));
    let lost = judge(&more, &plain).rollback;
    assert!(lost.reasons.iter().any(|reason| reason.contains("from a backup only: .spec.new")), "{lost:?}");
}

#[test]
fn live_objects_decide_whether_one_can_go_back() {
    let (old, new) = (field(json!({"type": "string", "enum": ["a"]})), field(json!({"type": "string"})));
    let object = |name: &str, value: &str| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "namespace": "ns"}, "spec": {"field": value}});
    let with = |objects: Vec<Value>| Options { live_objects: Some(objects), ..Options::default() };
    let fine = compare(&old, &new, &with(vec![object("x", "a")])).rollback;
    assert_eq!(fine.verdict, rollback::Verdict::Reversible);
    assert!(fine.reasons[0].contains("all 1 live objects"), "{fine:?}");
    let mut odd = object("y", "a");
    odd["spec"]["unheard"] = json!(1);
    let mut elsewhere = object("z", "a");
    elsewhere["apiVersion"] = json!("example.com/v9");
    let mut cluster = object("c", "z");
    cluster["metadata"] = json!({"name": "c"});
    let hit = compare(&old, &new, &with(vec![object("x", "b"), odd, elsewhere, cluster, json!({})])).rollback;
    assert_eq!(hit.verdict, rollback::Verdict::AfterMigration);
    assert!(
        hit.reasons[0].starts_with("the old definition does not take 5 of 5 live objects: ns/x: "),
        "{hit:?}"
    );
}

#[test]
fn versions_only_the_new_definition_has_bar_the_way_back() {
    let v1 = |storage| version("v1", storage, json!({"spec": {"type": "object"}}));
    let v2 = version("v2", true, json!({"spec": {"type": "object"}}));
    let old = crd(definition(json!([v1(true)])));
    let back = judge(&old, &crd(definition(json!([v1(false), v2.clone()])))).rollback;
    assert_eq!(back.verdict, rollback::Verdict::AfterMigration);
    assert!(back.reasons[0].contains("store them as v1 again"), "{back:?}");
    assert_eq!(judge(&old, &crd(definition(json!([v2])))).rollback.verdict, rollback::Verdict::OneWay);
    let mut cluster = definition(json!([v1(true)]));
    cluster["spec"]["scope"] = json!("Cluster");
    assert_eq!(judge(&old, &crd(cluster)).rollback.verdict, rollback::Verdict::OneWay);
}
