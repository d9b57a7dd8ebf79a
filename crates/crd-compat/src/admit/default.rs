//! Filling in defaults.

use serde_json::{Map, Value};

use super::{embedded, number, prune};
use crate::schema::{AdditionalProperties, Schema};

/// Fills the defaults of `schema` into a value that is there.
pub(super) fn fill(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(object) => fill_object(object, schema),
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else { return };
            for item in items {
                fill_null(item, schema);
                fill(item, schema);
            }
        }
        _ => {}
    }
}

pub(super) fn fill_object(object: &mut Map<String, Value>, schema: &Schema) {
    for (name, property) in schema.properties.iter() {
        let Some(default) = &property.default else { continue };
        match object.get_mut(name) {
            None => {
                object.insert(name.to_owned(), default.clone());
            }
            Some(value) => fill_null(value, property),
        }
    }
    for (key, value) in object {
        if let Some(property) = schema.properties.get(key) {
            fill(value, property);
        } else if let Some(schema) = schema.value_schema() {
            fill_null(value, schema);
            fill(value, schema);
        }
    }
}

fn fill_null(value: &mut Value, schema: &Schema) {
    if value.is_null()
        && !schema.nullable
        && let Some(default) = &schema.default
    {
        *value = default.clone();
    }
}

/// Prepares the defaults of a schema as the API server does before it serves a definition: read back from
/// storage and pruned by the schema they stand in.
pub(super) fn prepare(schema: &mut Schema) {
    if let Some(mut default) = schema.default.take() {
        default = number::stored(&default);
        embedded::coerce_leniently(&mut default, schema);
        prune::value(&mut default, schema, &mut Vec::new());
        schema.default = Some(default);
    }
    for (_, property) in schema.properties.iter_mut() {
        prepare(property);
    }
    if let Some(items) = &mut schema.items {
        prepare(items);
    }
    if let Some(AdditionalProperties::Schema(values)) = &mut schema.additional_properties {
        prepare(values);
    }
}
