use serde_json::{Value, json};

use super::{Validator, Verdict};
use crate::crd::Crd;

/// A validator for `v1` of a namespaced kind whose `spec` has this schema.
pub(crate) fn with_spec(spec: &Value) -> Validator {
    with_schema(&json!({"type": "object", "properties": {"spec": spec}}), &json!({}))
}

pub(crate) fn with_schema(schema: &Value, subresources: &Value) -> Validator {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": subresources,
                          "schema": {"openAPIV3Schema": schema}}],
        },
    });
    Validator::new(&Crd::from_value(crd).unwrap(), "v1").unwrap()
}

pub(crate) fn widget(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
}

/// The paths and keywords an object is refused for; none when it is accepted.
pub(crate) fn refusals(verdict: &Verdict) -> Vec<(&str, &str)> {
    if let Verdict::Unknown(reasons) = verdict {
        panic!("unknown: {reasons:?}");
    }
    verdict.violations().iter().map(|violation| (violation.path.as_str(), violation.keyword)).collect()
}

#[test]
fn an_unknown_field_is_pruned_and_named() {
    let validator =
        with_spec(&json!({"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}));
    let admission = validator.create(&widget(&json!({"a": {"b": 1}, "c": [1]})));
    assert_eq!(admission.verdict, Verdict::Accepted);
    assert_eq!(admission.pruned, ["spec.a.b", "spec.c"]);
    assert_eq!(admission.object["spec"], json!({"a": {}}));
}

#[test]
fn defaults_fill_only_objects_that_are_there() {
    let validator = with_spec(&json!({"type": "object", "properties": {
        "a": {"type": "object", "properties": {"b": {"type": "integer", "default": 3}}},
        "c": {"type": "object", "default": {}, "properties": {"d": {"type": "string", "default": "x"}}}}}));
    assert_eq!(validator.create(&widget(&json!({}))).object["spec"], json!({"c": {"d": "x"}}));
    assert_eq!(
        validator.create(&widget(&json!({"a": {}}))).object["spec"],
        json!({"a": {"b": 3}, "c": {"d": "x"}})
    );
}

#[test]
fn a_reader_sees_the_object_pruned_defaulted_and_without_stray_nulls() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "string"}, "b": {"type": "integer", "default": 2},
        "e": {"type": "object", "x-kubernetes-embedded-resource": true,
              "x-kubernetes-preserve-unknown-fields": true}}}}});
    let validator = with_schema(&schema, &json!({}));
    let stored = json!({"apiVersion": "example.com/v1alpha1", "kind": "Widget",
        "metadata": {"name": "w", "labels": {"a": 5}, "ownerReferences": "none", "odd": true},
        "spec": {"a": null, "c": 1, "e": {"apiVersion": 1, "kind": "Pod", "metadata": {"name": 7, "odd": 1}}}});
    let reading = validator.read(&stored);
    assert_eq!(
        reading.object,
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
               "spec": {"b": 2, "e": {"kind": "Pod", "metadata": {}}}})
    );
    assert_eq!(reading.pruned, ["metadata.odd", "spec.c", "spec.e.metadata.odd"]);
}

#[test]
fn a_reader_sees_what_is_not_of_the_kind_as_it_is() {
    let validator = with_spec(&json!({"type": "object"}));
    for stored in [json!(7), json!({"kind": "Other", "apiVersion": "v1", "spec": {"a": 1}})] {
        assert_eq!(validator.read(&stored).object, stored);
    }
}

#[test]
fn metadata_that_is_no_object_is_dropped_by_a_reader_only_where_it_can_be() {
    let validator = with_spec(&json!({"type": "object"}));
    let stored = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": "text"});
    assert_eq!(validator.read(&stored).object["metadata"], "text");
}

#[test]
fn an_object_nested_too_deep_is_unknown_not_an_overflow() {
    let validator = with_spec(&json!({"x-kubernetes-preserve-unknown-fields": true}));
    let mut object = widget(&json!(null));
    object["spec"] = (0..2_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let reason = "the object is nested deeper than 300 levels".to_owned();
    assert_eq!(validator.create(&object).verdict, Verdict::Unknown(vec![reason.clone()]));
    assert_eq!(validator.update_status(&object).verdict, Verdict::Unknown(vec![reason]));
    assert_eq!(validator.read(&object).object, Value::Null);
}

#[test]
fn what_is_no_object_is_refused() {
    let validator = with_spec(&json!({"type": "object"}));
    assert_eq!(refusals(&validator.create(&json!([])).verdict), [("", "type")]);
    assert_eq!(refusals(&validator.update_status(&json!("x")).verdict), [("", "type")]);
}

#[test]
fn a_definition_without_that_version_or_with_a_bad_schema_is_an_error() {
    let crd = |schema: &Value| {
        Crd::from_value(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "Widget", "plural": "widgets"},
                     "preserveUnknownFields": true,
                     "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]},
        }))
        .unwrap()
    };
    let error = Validator::new(&crd(&json!(null)), "v2").unwrap_err();
    assert_eq!(error.to_string(), "widgets.example.com has no version v2");
    let error = Validator::new(&crd(&json!({"openAPIV3Schema": {"type": 1}})), "v1").unwrap_err();
    assert_eq!(error.to_string(), "schema of widgets.example.com version v1");
    assert_eq!(
        std::error::Error::source(&error).unwrap().to_string(),
        "type: must be a string, not a number"
    );
    // A definition from the time before schemas keeps everything.
    let validator = Validator::new(&crd(&json!(null)), "v1").unwrap();
    let admission = validator.create(&widget(&json!({"a": null})));
    assert_eq!((admission.verdict, &admission.object["spec"]), (Verdict::Accepted, &json!({"a": null})));
    assert_eq!(validator.schema(), &crate::schema::Schema::default());
}

#[test]
fn keywords_the_api_server_forbids_in_definitions_are_judged_all_the_same() {
    let validator = with_spec(&json!({"type": "object", "additionalProperties": false,
        "properties": {"l": {"type": "array", "uniqueItems": true, "items": {"type": "integer"}}}}));
    let verdict = validator.create(&widget(&json!({"l": [1, 2, 1], "x": 1}))).verdict;
    assert_eq!(refusals(&verdict), [("spec.l", "uniqueItems"), ("spec.x", "additionalProperties")]);
    assert!(validator.create(&widget(&json!({"l": [1, 1.0]}))).verdict.is_accepted());
}

#[test]
fn a_pattern_that_cannot_be_evaluated_leaves_the_object_unknown_unless_something_else_decides() {
    let odd = json!({"pattern": "(?=a)"});
    let with = |field: Value| with_spec(&json!({"type": "object", "properties": {"f": field}}));
    let verdict = |field: Value, value: &str| with(field).create(&widget(&json!({"f": value}))).verdict;
    let is_unknown = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(reasons) if reasons[0].starts_with("spec.f: pattern"));
    for field in [
        json!({"type": "string", "pattern": "(?=a)"}),
        json!({"type": "string", "not": odd}),
        json!({"type": "string", "anyOf": [odd, {"maxLength": 1}]}),
        json!({"type": "string", "oneOf": [odd, {"maxLength": 9}]}),
        json!({"type": "string", "allOf": [odd]}),
    ] {
        assert!(is_unknown(&verdict(field.clone(), "abc")), "{field}");
    }
    assert!(verdict(json!({"type": "string", "anyOf": [odd, {"maxLength": 9}]}), "abc").is_accepted());
    let twice = json!({"type": "string", "oneOf": [odd, {"maxLength": 9}, {"minLength": 1}]});
    assert_eq!(refusals(&verdict(twice, "abc")), [("spec.f", "oneOf")]);
    let certain = json!({"type": "string", "pattern": "(?=a)", "enum": ["x"]});
    assert_eq!(refusals(&verdict(certain, "abc")), [("spec.f", "enum")]);
    assert!(verdict(json!({"type": "string", "pattern": "(?=a)"}), "x").violations().is_empty());
}

#[test]
fn replicas_and_selectors_must_be_what_the_scale_subresource_needs() {
    let loose = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let scale = json!({"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                                 "labelSelectorPath": ".status.selector.text"}});
    let validator = with_schema(&loose, &scale);
    let mut object = widget(&json!("text"));
    object["status"] = json!({"replicas": -1, "selector": 5});
    assert_eq!(
        refusals(&validator.create(&object).verdict),
        [(".spec.replicas", "scale"), (".status.replicas", "scale"), (".status.selector.text", "scale")]
    );
    object["status"] = json!({"replicas": 2_147_483_648_i64, "selector": {"text": 5}});
    assert_eq!(
        refusals(&validator.update_status(&object).verdict),
        [(".status.replicas", "scale"), (".status.selector.text", "scale")]
    );
}

#[test]
fn metadata_is_judged_by_its_own_rules() {
    let validator = with_spec(&json!({"type": "object", "properties": {
        "e": {"type": "object", "x-kubernetes-embedded-resource": true}}}));
    let judged = |metadata: Value| {
        let mut object = widget(&json!({}));
        object["metadata"] = metadata;
        let verdict = validator.create(&object).verdict;
        refusals(&verdict).into_iter().map(|(path, _)| path.to_owned()).collect::<Vec<_>>()
    };
    let big = "x".repeat(300_000);
    assert_eq!(judged(json!({"name": "w", "annotations": {"a": big}})), ["metadata.annotations"]);
    assert_eq!(
        judged(json!({"name": "w", "ownerReferences": [{"apiVersion": "v1"}]})),
        ["metadata.ownerReferences.kind", "metadata.ownerReferences.name", "metadata.ownerReferences.uid"]
    );
    for odd in [
        json!({"ownerReferences": [{"controller": "yes"}]}),
        json!({"creationTimestamp": 5}),
        json!({"finalizers": "one"}),
        json!({"ownerReferences": ["x"]}),
        json!({"generation": "two"}),
    ] {
        assert_eq!(judged(odd), ["metadata"]);
    }
    let embedded = json!({"e": {"apiVersion": "v1", "kind": "Pod", "metadata": {"generation": -1}}});
    assert_eq!(
        refusals(&validator.create(&widget(&embedded)).verdict),
        [("spec.e.metadata.generation", "metadata")]
    );
}

#[test]
fn a_name_made_up_by_the_server_is_judged_but_not_shown() {
    let schema = json!({"type": "object", "properties": {
        "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}}}}});
    let validator = with_schema(&schema, &json!({}));
    let named = |prefix: &str| {
        let mut object = widget(&json!(null));
        object["metadata"] = json!({"generateName": prefix});
        validator.create(&object)
    };
    let fits = named("ab-");
    assert_eq!(
        (fits.verdict, &fits.object["metadata"]),
        (Verdict::Accepted, &json!({"generateName": "ab-"}))
    );
    assert_eq!(refusals(&named("abcd-").verdict), [("metadata.name", "maxLength")]);
    assert_eq!(refusals(&named(&"ä".repeat(40)).verdict).len(), 3);
}

#[test]
fn defaults_are_pruned_by_the_schema_they_stand_in() {
    let validator = with_spec(&json!({"type": "object", "properties": {
        "o": {"type": "object", "default": {"a": 1.0, "lost": 2}, "properties": {"a": {"type": "integer"}}},
        "l": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "integer", "default": 1.0}}}},
        "m": {"type": "object", "additionalProperties": {"type": "object", "default": {"lost": 1}, "properties": {}}}}}));
    let admission = validator.create(&widget(&json!({"l": [{}], "m": {"k": null}})));
    assert_eq!(admission.object["spec"], json!({"o": {"a": 1}, "l": [{"b": 1}], "m": {"k": {}}}));
}
