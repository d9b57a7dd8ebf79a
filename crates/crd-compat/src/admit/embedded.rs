//! Resources embedded in a custom resource.

use serde_json::{Map, Value};

use super::path::FieldPath;
use super::{Findings, metadata, names};
use crate::schema::Schema;

/// Decodes the metadata of embedded resources in a request: what cannot be decoded refuses the request.
pub(super) fn coerce(
    object: &mut Map<String, Value>,
    schema: &Schema,
    pruned: &mut Vec<String>,
    out: &mut Findings,
) {
    let mut walk = Coercion { path: FieldPath::default(), pruned, out, lenient: false };
    walk.object(object, schema, false);
}

/// Decodes the metadata of embedded resources in an object that was stored; what cannot be decoded is dropped.
pub(super) fn coerce_stored(object: &mut Map<String, Value>, schema: &Schema, pruned: &mut Vec<String>) {
    let mut walk =
        Coercion { path: FieldPath::default(), pruned, out: &mut Findings::default(), lenient: true };
    walk.object(object, schema, false);
}

/// Decodes the metadata of embedded resources in a default.
pub(super) fn coerce_leniently(value: &mut Value, schema: &Schema) {
    let out = &mut Findings::default();
    Coercion { path: FieldPath::default(), pruned: &mut Vec::new(), out, lenient: true }.value(value, schema);
}

struct Coercion<'a> {
    path: FieldPath,
    pruned: &'a mut Vec<String>,
    out: &'a mut Findings,
    lenient: bool,
}

impl Coercion<'_> {
    fn value(&mut self, value: &mut Value, schema: &Schema) {
        match value {
            Value::Object(object) => self.object(object, schema, schema.embedded_resource),
            Value::Array(items) => {
                let Some(schema) = schema.items.as_deref() else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    let mark = self.path.push_index(index);
                    self.value(item, schema);
                    self.path.cut(mark);
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, object: &mut Map<String, Value>, schema: &Schema, resource: bool) {
        if resource {
            self.resource(object);
        }
        for (key, value) in object {
            if let Some(property) = schema.properties.get(key) {
                let mark = self.path.push_key(key);
                self.value(value, property);
                self.path.cut(mark);
            } else if let Some(schema) = schema.value_schema() {
                let mark = self.path.push_map_key(key);
                self.value(value, schema);
                self.path.cut(mark);
            }
        }
    }

    fn resource(&mut self, object: &mut Map<String, Value>) {
        for key in ["apiVersion", "kind"] {
            if object.get(key).is_some_and(|value| !value.is_string()) {
                if self.lenient {
                    object.remove(key);
                } else {
                    self.out.violate_at(
                        self.path.child(key),
                        "x-kubernetes-embedded-resource",
                        "must be a string",
                    );
                }
            }
        }
        let Some(metadata) = object.get_mut("metadata") else { return };
        let coerced = match metadata::coerce(metadata) {
            Ok(coerced) => Some(coerced),
            Err(_) if self.lenient => metadata::coerce_leniently(metadata),
            Err(problem) => {
                let path = self.path.child("metadata");
                self.out.violate_at(
                    path,
                    "x-kubernetes-embedded-resource",
                    format!("Invalid value: {problem}"),
                );
                None
            }
        };
        if let Some(coerced) = coerced {
            self.pruned.extend(coerced.unknown.iter().map(|unknown| self.path.child(unknown)));
            *metadata = coerced.metadata;
        }
    }
}

/// Checks type and metadata of every embedded resource.
pub(super) fn check(value: &Value, schema: &Schema, path: &mut FieldPath, out: &mut Findings) {
    match value {
        Value::Object(object) => {
            if schema.embedded_resource {
                check_resource(object, path, out);
            }
            check_fields(object, schema, path, out);
        }
        Value::Array(items) => {
            let Some(schema) = schema.items.as_deref() else { return };
            for (index, item) in items.iter().enumerate() {
                let mark = path.push_index(index);
                check(item, schema, path, out);
                path.cut(mark);
            }
        }
        _ => {}
    }
}

pub(super) fn check_fields(
    object: &Map<String, Value>,
    schema: &Schema,
    path: &mut FieldPath,
    out: &mut Findings,
) {
    for (key, value) in object {
        if let Some(property) = schema.properties.get(key) {
            let mark = path.push_key(key);
            check(value, property, path, out);
            path.cut(mark);
        } else if let Some(schema) = schema.value_schema() {
            let mark = path.push_map_key(key);
            check(value, schema, path, out);
            path.cut(mark);
        }
    }
}

fn check_resource(object: &Map<String, Value>, path: &mut FieldPath, out: &mut Findings) {
    const KEYWORD: &str = "x-kubernetes-embedded-resource";
    for key in ["apiVersion", "kind"] {
        match object.get(key) {
            None => out.violate_at(path.child(key), KEYWORD, "Required value"),
            Some(Value::String(text)) if text.is_empty() => {
                out.violate_at(path.child(key), KEYWORD, "Invalid value: \"\": must not be empty");
            }
            Some(Value::String(text)) if key == "apiVersion" => {
                if text.matches('/').count() > 1 {
                    let message = format!("Invalid value: {text:?}: unexpected GroupVersion string: {text}");
                    out.violate_at(path.child(key), KEYWORD, message);
                }
            }
            Some(Value::String(text)) => {
                for problem in names::dns_1035_label(&text.to_lowercase()) {
                    let message = format!(
                        "Invalid value: {text:?}: may have mixed case, but should otherwise match: {problem}"
                    );
                    out.violate_at(path.child(key), KEYWORD, message);
                }
            }
            Some(other) => {
                out.violate_at(path.child(key), KEYWORD, format!("Invalid value: {other}: must be a string"));
            }
        }
    }
    if let Some(metadata) = object.get("metadata") {
        metadata::check(metadata, metadata::NameRule::PathSegment, path, out);
    }
}
