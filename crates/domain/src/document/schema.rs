//! The JSON Schema of each kind of document, for editors and other programs.

use schemars::{Schema, schema_for};
use serde_json::{Value, json};

use super::{API_VERSION, Kind};
use crate::settings::{ApprovalRule, Policy, Window};

/// The schema of each kind that can be applied.
pub fn all() -> Vec<(Kind, Value)> {
    Kind::ALL.into_iter().filter_map(|kind| Some((kind, whole(kind, spec(kind)?)))).collect()
}

/// The schema of a document of a kind, from that of its `spec`.
fn whole(kind: Kind, mut spec: Value) -> Value {
    // Definitions are looked up from the root.
    let definitions = spec.as_object_mut().and_then(|spec| spec.remove("$defs"));
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("$schema");
        spec.remove("title");
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.as_str(),
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "additionalProperties": false,
        "properties": {
            "apiVersion": {"const": API_VERSION},
            "kind": {"const": kind.as_str()},
            "metadata": {
                "type": "object",
                "required": ["name"],
                "additionalProperties": false,
                "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 253}},
            },
            "spec": spec,
        },
    });
    if let Some(definitions) = definitions {
        schema["$defs"] = definitions;
    }
    schema
}

fn spec(kind: Kind) -> Option<Value> {
    let derived = |schema: Schema| Some(schema.to_value());
    match kind {
        Kind::Policy => derived(schema_for!(Policy)),
        Kind::ApprovalRule => derived(schema_for!(ApprovalRule)),
        Kind::Window => derived(schema_for!(Window)),
        Kind::Cluster => Some(json!({
            "type": "object",
            "description": "What of a cluster is for people; the cluster itself is registered with: slipway cluster add",
            "required": ["environment"],
            "additionalProperties": false,
            "properties": {
                "environment": {"enum": ["Development", "Staging", "Production"]},
                "description": {"type": "string", "maxLength": crate::cluster::DESCRIPTION},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "disabled": {"type": "boolean", "description": "Whether it is left alone."},
            },
        })),
        Kind::User | Kind::Profile | Kind::Operator => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_name_their_kind_and_refuse_what_they_do_not_know() {
        for (kind, schema) in all() {
            assert_eq!(schema["properties"]["kind"]["const"], kind.as_str());
            let spec = &schema["properties"]["spec"];
            let closed = spec.get("additionalProperties").or_else(|| spec.get("unevaluatedProperties"));
            assert_eq!(closed, Some(&json!(false)), "{kind}: {spec:#}");
            let text = schema.to_string();
            for reference in text.split("\"$ref\":\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let pointer = reference.trim_start_matches('#');
                assert!(schema.pointer(pointer).is_some(), "{kind}: {reference} leads nowhere");
            }
        }
    }
}
