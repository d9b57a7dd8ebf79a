//! Dropping what the schema does not know, and nulls it does not allow.

use serde_json::{Map, Value};

use super::path::FieldPath;
use crate::schema::{AdditionalProperties, Schema};

/// Fields every resource has whether its schema names them or not.
const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Prunes an object at the root of a resource.
pub(super) fn root(object: &mut Map<String, Value>, schema: &Schema, pruned: &mut Vec<String>) {
    let mut walk = Pruner { path: FieldPath::default(), pruned };
    if schema.preserve_unknown_fields {
        walk.keep_object(object, schema, true);
    } else {
        walk.object(object, Some(schema), true);
    }
}

/// Prunes a value inside a resource, such as a default.
pub(super) fn value(value: &mut Value, schema: &Schema, pruned: &mut Vec<String>) {
    Pruner { path: FieldPath::default(), pruned }.value(value, Some(schema));
}

struct Pruner<'a> {
    path: FieldPath,
    pruned: &'a mut Vec<String>,
}

impl Pruner<'_> {
    fn value(&mut self, value: &mut Value, schema: Option<&Schema>) {
        if let Some(schema) = schema.filter(|schema| schema.preserve_unknown_fields) {
            return self.keep(value, schema);
        }
        match value {
            Value::Object(object) => {
                self.object(object, schema, schema.is_some_and(|schema| schema.embedded_resource));
            }
            Value::Array(items) => {
                let schema = schema.and_then(|schema| schema.items.as_deref());
                for (index, item) in items.iter_mut().enumerate() {
                    let mark = self.path.push_index(index);
                    self.value(item, schema);
                    self.path.cut(mark);
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, object: &mut Map<String, Value>, schema: Option<&Schema>, resource: bool) {
        object.retain(|key, value| {
            if resource && META_FIELDS.contains(&key.as_str()) {
                return true;
            }
            let mark = self.path.push_key(key);
            let child = schema.and_then(|schema| child(schema, key));
            if let Some(child) = child {
                self.value(value, child);
            } else {
                self.pruned.push(self.path.to_string());
            }
            self.path.cut(mark);
            child.is_some()
        });
    }

    /// Below preserve-unknown-fields, only what the schema specifies is looked into.
    fn keep(&mut self, value: &mut Value, schema: &Schema) {
        match value {
            Value::Object(object) => self.keep_object(object, schema, schema.embedded_resource),
            Value::Array(items) => {
                let Some(schema) = schema.items.as_deref() else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    let mark = self.path.push_index(index);
                    self.keep(item, schema);
                    self.path.cut(mark);
                }
            }
            _ => {}
        }
    }

    fn keep_object(&mut self, object: &mut Map<String, Value>, schema: &Schema, resource: bool) {
        for (key, value) in object {
            if resource && META_FIELDS.contains(&key.as_str()) {
                continue;
            }
            if let Some(child) = child(schema, key) {
                let mark = self.path.push_key(key);
                self.value(value, child);
                self.path.cut(mark);
            }
        }
    }
}

/// The schema of a key: `None` when the key is unknown, `Some(None)` when it is known but unspecified.
#[allow(clippy::option_option, reason = "unknown and unspecified are treated differently")]
fn child<'a>(schema: &'a Schema, key: &str) -> Option<Option<&'a Schema>> {
    if let Some(property) = schema.properties.get(key) {
        return Some(Some(property));
    }
    match &schema.additional_properties {
        Some(AdditionalProperties::Schema(schema)) => Some(Some(schema)),
        Some(AdditionalProperties::Allowed(_)) => Some(None),
        None => None,
    }
}

/// Removes null values from objects where the schema neither allows null nor has a default to put there.
pub(super) fn nulls(value: &mut Value, schema: &Schema) {
    match value {
        Value::Object(object) => nulls_in_object(object, schema),
        Value::Array(items) => {
            if let Some(schema) = schema.items.as_deref() {
                for item in items {
                    nulls(item, schema);
                }
            }
        }
        _ => {}
    }
}

pub(super) fn nulls_in_object(object: &mut Map<String, Value>, schema: &Schema) {
    object.retain(|key, value| match schema.properties.get(key).or_else(|| schema.value_schema()) {
        Some(schema) if value.is_null() => schema.nullable || schema.default.is_some(),
        Some(schema) => {
            nulls(value, schema);
            true
        }
        None => true,
    });
}
