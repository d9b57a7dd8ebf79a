//! Uniqueness in lists declared as sets or maps.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::path::FieldPath;
use super::{Findings, number::Num};
use crate::schema::{ListType, Schema};

pub(super) fn check_object(
    object: &Map<String, Value>,
    schema: &Schema,
    path: &mut FieldPath,
    out: &mut Findings,
) {
    for (key, value) in object {
        if let Some(values) = schema.value_schema() {
            let mark = path.push_map_key(key);
            check(value, values, path, out);
            path.cut(mark);
        }
        if let Some(property) = schema.properties.get(key) {
            let mark = path.push_key(key);
            check(value, property, path, out);
            path.cut(mark);
        }
    }
}

pub(super) fn check(value: &Value, schema: &Schema, path: &mut FieldPath, out: &mut Findings) {
    match value {
        Value::Object(object) => check_object(object, schema, path, out),
        Value::Array(items) => check_list(items, schema, path, out),
        _ => {}
    }
}

fn check_list(items: &[Value], schema: &Schema, path: &mut FieldPath, out: &mut Findings) {
    match schema.list_type {
        Some(ListType::Set) => {
            for index in duplicates(items.iter().map(|item| Some(identity(item)))) {
                let shown = items.get(index).map(Value::to_string).unwrap_or_default();
                duplicate(path, index, &shown, out);
            }
        }
        Some(ListType::Map) => check_map_list(items, &schema.list_map_keys, path, out),
        Some(ListType::Atomic) | None => {}
    }
    if let Some(schema) = schema.items.as_deref() {
        for (index, item) in items.iter().enumerate() {
            let mark = path.push_index(index);
            check(item, schema, path, out);
            path.cut(mark);
        }
    }
}

fn check_map_list(items: &[Value], keys: &[String], path: &mut FieldPath, out: &mut Findings) {
    if let Some((index, item)) =
        items.iter().enumerate().find(|(_, item)| !item.is_null() && !item.is_object())
    {
        let mark = path.push_index(index);
        out.violate(
            path,
            "x-kubernetes-list-type",
            format!("Invalid value: {item}: must be an object for an array of list-type map"),
        );
        path.cut(mark);
        return;
    }
    let key_of = |item: &Value| -> Map<String, Value> {
        keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone()))).collect()
    };
    // With one key, an item without it is told apart from one where it is null.
    let identities = items.iter().map(|item| match keys {
        [key] => item.get(key).map(identity),
        _ => Some(identity(&Value::Object(key_of(item)))),
    });
    for index in duplicates(identities) {
        let shown = items.get(index).map(|item| Value::Object(key_of(item)).to_string()).unwrap_or_default();
        duplicate(path, index, &shown, out);
    }
}

fn duplicate(path: &mut FieldPath, index: usize, shown: &str, out: &mut Findings) {
    let mark = path.push_index(index);
    out.violate(path, "x-kubernetes-list-type", format!("Duplicate value: {shown}"));
    path.cut(mark);
}

/// The index of the second occurrence of every identity that occurs more than once.
fn duplicates(identities: impl Iterator<Item = Option<String>>) -> Vec<usize> {
    let mut seen: HashMap<Option<String>, usize> = HashMap::new();
    let mut second = Vec::new();
    for (index, identity) in identities.enumerate() {
        let times = seen.entry(identity).or_default();
        *times += 1;
        if *times == 2 {
            second.push(index);
        }
    }
    second
}

/// A text two values share exactly when the API server holds them for the same. Scalars are told apart by
/// their Go type; inside objects and lists, by how they are written as JSON.
fn identity(value: &Value) -> String {
    match value {
        Value::Number(number) => match Num::of(number) {
            Num::Int(int) => format!("i{int}"),
            Num::Float(float) => format!("f{float}"),
        },
        Value::String(text) => format!("s{text}"),
        other => super::number::stored(other).to_string(),
    }
}
