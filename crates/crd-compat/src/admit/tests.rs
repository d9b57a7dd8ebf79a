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
