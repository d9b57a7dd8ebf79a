//! What a mutator changed, carried over to the object as it came.
//!
//! An author's type may know fewer fields than the object has, or write defaults that nobody set.
//! So the difference is taken between the type before and after, and only that reaches the object.

use json_patch::Patch;
use serde_json::{Map, Value};

/// The object as it came, with what changed between `before` and `after`, the author's view of it.
pub(crate) fn carry_over(raw: &Value, before: &Value, after: &Value) -> Value {
    if before == after {
        return raw.clone();
    }
    match (raw, before, after) {
        (Value::Object(raw), Value::Object(before), Value::Object(after)) => {
            Value::Object(objects(raw, before, after))
        }
        (Value::Array(raw), Value::Array(before), Value::Array(after)) if raw.len() == before.len() => {
            Value::Array(arrays(raw, before, after))
        }
        _ => after.clone(),
    }
}

/// The JSON Patch from one object to the other; none when they are the same.
pub(crate) fn between(before: &Value, after: &Value) -> Option<Patch> {
    let patch = json_patch::diff(before, after);
    if patch.0.is_empty() { None } else { Some(patch) }
}

/// Adds a finalizer unless it is there.
pub(crate) fn add_finalizer(object: &mut Value, finalizer: &str) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let finalizers = metadata.entry("finalizers").or_insert(Value::Null);
    if finalizers.is_null() {
        *finalizers = Value::Array(Vec::new());
    }
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|present| present == finalizer)
    {
        finalizers.push(finalizer.into());
    }
}

fn objects(
    raw: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Map<String, Value> {
    let mut result = raw.clone();
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        result.remove(key);
    }
    for (key, after) in after {
        match (raw.get(key), before.get(key)) {
            // Written by the type both times, but never by anybody: a default stays unwritten.
            (None, Some(before)) if before == after => {}
            (Some(raw), Some(before)) => {
                result.insert(key.clone(), carry_over(raw, before, after));
            }
            _ => {
                result.insert(key.clone(), after.clone());
            }
        }
    }
    result
}

/// Finds for each element of `after` the element it was, so that unknown fields move with it:
/// an equal one, else one of the same `name`, else the one at the same place.
fn arrays(raw: &[Value], before: &[Value], after: &[Value]) -> Vec<Value> {
    let mut origin: Vec<Option<usize>> = vec![None; after.len()];
    let mut free: Vec<bool> = vec![true; before.len()];
    let mut pair = |matches: &dyn Fn(usize, usize) -> bool| {
        for (to, origin) in origin.iter_mut().enumerate().filter(|(_, origin)| origin.is_none()) {
            if let Some(from) = (0..before.len()).find(|&from| free[from] && matches(from, to)) {
                free[from] = false;
                *origin = Some(from);
            }
        }
    };
    pair(&|from, to| from == to && before[from] == after[to]);
    pair(&|from, to| before[from] == after[to]);
    pair(&|from, to| name(&before[from]).is_some() && name(&before[from]) == name(&after[to]));
    pair(&|from, to| from == to && name(&before[from]).is_none() && name(&after[to]).is_none());
    after
        .iter()
        .zip(origin)
        .map(|(after, origin)| match origin {
            Some(from) => carry_over(&raw[from], &before[from], after),
            None => after.clone(),
        })
        .collect()
}

fn name(element: &Value) -> Option<&str> {
    element.get("name").and_then(Value::as_str)
}

#[cfg(test)]
mod tests;
