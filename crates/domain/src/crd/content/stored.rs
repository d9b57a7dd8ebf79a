//! A definition as an API server stores it: filled in, and without what means the same as nothing.
//!
//! The server reads a definition into Go structs and writes those; most of their fields are left out when
//! they are empty (`omitempty`). Charts are written by people and say such things.

use serde_json::{Map, Value, json};

/// Brings the `spec` of a definition into the form in which an API server gives it back.
pub(super) fn as_stored(spec: &mut Map<String, Value>) {
    drop_nulls(spec);
    drop_where(spec, &["preserveUnknownFields"], is_false);
    names(spec);
    conversion(spec);
    for version in items(spec, "versions") {
        one_version(version);
    }
}

fn names(spec: &mut Map<String, Value>) {
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else { return };
    drop_nulls(names);
    drop_where(names, &["shortNames", "categories", "listKind", "singular"], is_empty);
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    names.entry("listKind").or_insert_with(|| Value::String(format!("{kind}List")));
    names.entry("singular").or_insert_with(|| Value::String(kind.to_lowercase()));
}

fn conversion(spec: &mut Map<String, Value>) {
    let conversion = spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    if let Some(conversion) = conversion.as_object_mut() {
        drop_nulls(conversion);
        conversion.entry("strategy").or_insert_with(|| Value::String("None".to_owned()));
    }
    let Some(client) = conversion.pointer_mut("/webhook/clientConfig").and_then(Value::as_object_mut) else {
        return;
    };
    drop_nulls(client);
    // Somebody on the cluster puts it there.
    client.remove("caBundle");
    if let Some(service) = client.get_mut("service").and_then(Value::as_object_mut) {
        drop_nulls(service);
        service.entry("port").or_insert_with(|| json!(443));
    }
}

fn one_version(version: &mut Map<String, Value>) {
    drop_nulls(version);
    drop_where(version, &["deprecated"], is_false);
    drop_where(version, &["additionalPrinterColumns", "selectableFields"], is_empty);
    for flag in ["served", "storage"] {
        version.entry(flag).or_insert(Value::Bool(false));
    }
    for column in items(version, "additionalPrinterColumns") {
        drop_nulls(column);
        drop_where(column, &["format", "description"], is_empty);
        drop_where(column, &["priority"], |priority| priority.as_f64() == Some(0.0));
    }
    if let Some(subresources) = version.get_mut("subresources").and_then(Value::as_object_mut) {
        drop_nulls(subresources);
        if let Some(scale) = subresources.get_mut("scale").and_then(Value::as_object_mut) {
            drop_nulls(scale);
        }
    }
    if let Some(schema) = version.get_mut("schema").and_then(Value::as_object_mut) {
        drop_nulls(schema);
        schema.get_mut("openAPIV3Schema").into_iter().for_each(one_schema);
    }
}

/// Fields of a schema that are left out when they are empty.
const EMPTY: [&str; 18] = [
    "id",
    "$schema",
    "description",
    "type",
    "format",
    "title",
    "pattern",
    "enum",
    "required",
    "allOf",
    "oneOf",
    "anyOf",
    "properties",
    "patternProperties",
    "dependencies",
    "definitions",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-validations",
];

/// Fields of a schema that are left out when they are false.
const FALSE: [&str; 6] = [
    "exclusiveMaximum",
    "exclusiveMinimum",
    "uniqueItems",
    "nullable",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
];

fn one_schema(value: &mut Value) {
    let Some(schema) = value.as_object_mut() else { return };
    drop_nulls(schema);
    drop_where(schema, &EMPTY, is_empty);
    drop_where(schema, &FALSE, is_false);
    for (key, inner) in schema.iter_mut() {
        match key.as_str() {
            "maximum" | "minimum" | "multipleOf" => bound(inner),
            "default" | "example" | "enum" => plain_numbers(inner),
            "items" | "not" | "additionalProperties" | "additionalItems" | "allOf" | "oneOf" | "anyOf" => {
                match inner {
                    Value::Array(several) => several.iter_mut().for_each(one_schema),
                    one => one_schema(one),
                }
            }
            "properties" | "patternProperties" | "definitions" | "dependencies" => {
                inner.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(one_schema);
            }
            "externalDocs" => {
                if let Some(docs) = inner.as_object_mut() {
                    drop_nulls(docs);
                    drop_where(docs, &["description", "url"], is_empty);
                }
            }
            _ => {}
        }
    }
    for rule in items(schema, "x-kubernetes-validations") {
        drop_nulls(rule);
        drop_where(rule, &["message", "messageExpression", "fieldPath"], is_empty);
    }
}

/// A bound is a 64-bit floating point number to the server, however it was written.
fn bound(value: &mut Value) {
    if let Some(number) = value.as_f64() {
        *value = number_of(number);
    }
}

/// Numbers without a fraction are written without one, wherever they stand.
fn plain_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => bound(value),
        Value::Array(items) => items.iter_mut().for_each(plain_numbers),
        Value::Object(fields) => fields.values_mut().for_each(plain_numbers),
        _ => {}
    }
}

fn number_of(number: f64) -> Value {
    /// Up to here every whole number is one of these, too.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        // Whole, and small enough: nothing is lost.
        #[allow(clippy::cast_possible_truncation, reason = "checked just above")]
        return json!(number as i64);
    }
    json!(number)
}

fn drop_nulls(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| !value.is_null());
}

fn drop_where(fields: &mut Map<String, Value>, keys: &[&str], nothing: impl Fn(&Value) -> bool) {
    for key in keys {
        if fields.get(*key).is_some_and(&nothing) {
            fields.remove(*key);
        }
    }
}

fn is_false(value: &Value) -> bool {
    value == &Value::Bool(false)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// The objects of a list.
fn items<'a>(
    fields: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let list = fields.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(version: &Value) -> Value {
        let mut spec = json!({"names": {"kind": "Widget"}, "versions": [version]});
        as_stored(spec.as_object_mut().unwrap());
        spec["versions"][0].take()
    }

    #[test]
    fn what_go_leaves_out_is_left_out() {
        let written = json!({
            "name": "v1", "served": true, "storage": true, "deprecated": false, "selectableFields": [],
            "deprecationWarning": null,
            "additionalPrinterColumns": [
                {"name": "Age", "type": "date", "jsonPath": ".x", "priority": 0, "description": "", "format": ""},
            ],
            "schema": {"openAPIV3Schema": {
                "type": "object", "description": "", "title": "", "nullable": false, "required": [],
                "properties": {
                    "description": {"type": "string", "format": "", "pattern": "", "minLength": 0},
                    "list": {"type": "array", "items": {"type": "string", "uniqueItems": false, "enum": []}},
                    "map": {"type": "object", "additionalProperties": {"type": "number", "maximum": 10.0, "title": ""}},
                    "closed": {"type": "object", "additionalProperties": false},
                    "any": {"anyOf": [{"description": ""}, {"not": {"required": []}}]},
                    "wide": {"type": "integer", "maximum": 9_223_372_036_854_775_807_i64, "default": 1.0},
                    "ruled": {"type": "object", "x-kubernetes-validations": [{"rule": "true", "message": ""}]},
                },
            }},
        });
        let given_back = json!({
            "name": "v1", "served": true, "storage": true,
            "additionalPrinterColumns": [{"name": "Age", "type": "date", "jsonPath": ".x"}],
            "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "description": {"type": "string", "minLength": 0},
                    "list": {"type": "array", "items": {"type": "string"}},
                    "map": {"type": "object", "additionalProperties": {"type": "number", "maximum": 10}},
                    "closed": {"type": "object", "additionalProperties": false},
                    "any": {"anyOf": [{}, {"not": {}}]},
                    "wide": {"type": "integer", "maximum": 9_223_372_036_854_775_807_f64, "default": 1},
                    "ruled": {"type": "object", "x-kubernetes-validations": [{"rule": "true"}]},
                },
            }},
        });
        assert_eq!(stored(&written), given_back);
        assert_eq!(stored(&given_back), given_back);
    }

    #[test]
    fn what_means_something_stays() {
        let version = json!({
            "name": "v1", "served": false, "storage": false, "deprecated": true,
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".a", "statusReplicasPath": ".b"}},
            "additionalPrinterColumns": [{"name": "Age", "type": "date", "jsonPath": ".x", "priority": 1}],
            "schema": {"openAPIV3Schema": {
                "type": "object", "nullable": true, "default": {"a": "", "b": [], "c": false, "d": 1.5},
                "enum": ["", false, 0], "minProperties": 0, "minimum": 0, "unknown-to-us": "",
                "additionalProperties": true, "x-kubernetes-preserve-unknown-fields": true,
            }},
        });
        assert_eq!(stored(&version), version);
    }
}
