//! Any rule is evaluated, or said to be unknown.
//!
//! The first line is the rule; what follows is the value it is about.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use slipway_crd_compat::admit::Validator;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::generate;

fuzz_target!(|text: &str| {
    let (rule, value) = text.split_once('\n').unwrap_or((text, ""));
    let value: Value = serde_json::from_str(value).unwrap_or_else(|_| {
        json!({"text": value, "number": 7, "list": ["a", "b"], "map": {"k": 1.5}, "when": "2024-02-29T12:00:00Z"})
    });
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-validations": [{"rule": rule, "messageExpression": rule}],
        "properties": {
            "text": {"type": "string"}, "number": {"type": "integer"},
            "list": {"type": "array", "items": {"type": "string"}},
            "map": {"type": "object", "additionalProperties": {"type": "number"}},
            "when": {"type": "string", "format": "date-time"},
        },
    }}});
    let crd = Crd::from_value(generate::definition(&schema)).expect("a definition");
    let Ok(validator) = Validator::new(&crd, "v1") else { return };
    let object = json!({
        "apiVersion": "generated.example.com/v1", "kind": "Sample", "metadata": {"name": "a"}, "spec": value,
    });
    let _ = validator.create(&object);
});
