//! The JSON Schema of each kind of document, for editors and other programs.

use schemars::{Schema, schema_for};
use serde_json::{Value, json};

use super::{API_VERSION, Kind};
use crate::profile::Profile;
use crate::settings::{ApprovalRule, Policy, Values, Window};

/// The schema of each kind.
pub fn all() -> Vec<(Kind, Value)> {
    Kind::ALL.into_iter().map(|kind| (kind, whole(kind, spec(kind)))).collect()
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

fn spec(kind: Kind) -> Value {
    let derived = |schema: Schema| schema.to_value();
    match kind {
        Kind::Policy => derived(schema_for!(Policy)),
        Kind::ApprovalRule => derived(schema_for!(ApprovalRule)),
        Kind::Window => derived(schema_for!(Window)),
        Kind::Values => derived(schema_for!(Values)),
        Kind::Cluster => json!({
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
        }),
        Kind::User => user(),
        Kind::Operator => operator(),
    }
}

fn user() -> Value {
    json!({
        "type": "object",
        "description": "Who may log in with a password of Slipway, and as what. The password itself is given with: slipway user reset-password",
        "required": ["role"],
        "additionalProperties": false,
        "properties": {
            "role": {"enum": ["Admin", "Operator", "Viewer", "EnvironmentOwner"]},
            "environments": {
                "type": "array",
                "description": "What an EnvironmentOwner decides for; only for that role.",
                "items": {"enum": ["Development", "Staging", "Production"]},
            },
            "fullName": {"type": "string", "minLength": 1, "maxLength": 128},
            "email": {"type": "string", "description": "Where mails go.", "maxLength": 254},
            "disabled": {"type": "boolean", "description": "Whether they are kept out."},
        },
    })
}

fn operator() -> Value {
    let mut profile = Profile::json_schema();
    let mut definitions = Value::Object(serde_json::Map::new());
    if let Some(profile) = profile.as_object_mut() {
        profile.remove("$schema");
        profile.remove("title");
        definitions = profile.remove("$defs").unwrap_or(definitions);
    }
    json!({
        "type": "object",
        "description": "An operator, where its chart comes from, and what has to be known to roll it out.",
        "required": ["chartRepository"],
        "additionalProperties": false,
        "$defs": definitions,
        "properties": {
            "chartRepository": {
                "type": "string",
                "description": "The address of the chart repository: https://, http:// or oci://. It cannot be changed later.",
                "pattern": "^(https?|oci)://",
            },
            "chartName": {
                "type": "string",
                "description": "The chart there; the operator's name where nothing is said. It cannot be changed later.",
            },
            "namespace": {
                "type": "string",
                "description": "Where it is installed on clusters; the operator's name where nothing is said. It cannot be changed later.",
                "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            },
            "description": {"type": "string", "maxLength": 2000},
            "currentVersion": {
                "type": "string",
                "description": "The version that the fleet is on. Left out, it stays as rollouts set it.",
                "pattern": "^v?\\d+\\.\\d+\\.\\d+",
            },
            "crdNames": {
                "type": "array",
                "description": "The definitions that belong to it. Left out, they are those of the chart; only for a new operator.",
                "items": {"type": "string"},
                "uniqueItems": true,
            },
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "defaultValues": {
                "type": "object",
                "description": "The helm values that every installation starts from.",
            },
            "caCertificate": {
                "type": "string",
                "description": "The authority that vouches for the repository, as PEM.",
            },
            "profile": profile,
        },
    })
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
