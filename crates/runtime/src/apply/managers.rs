//! The API server's books on who set which field.
//!
//! What a `POST` set is booked under the same manager as what it applies, but as an update, and an apply
//! that leaves such a field out does not remove it. Here is found whether that matters, and how to mend it.

use serde_json::{Map, Value, json};

/// The entry of `manager` for what it set with `operation`, itself and not below a subresource.
fn entry<'a>(live: &'a Value, manager: &str, operation: &str) -> Option<&'a Value> {
    live["metadata"]["managedFields"].as_array()?.iter().find(|entry| {
        entry["manager"] == manager
            && entry["operation"] == operation
            && entry["subresource"].as_str().unwrap_or_default().is_empty()
    })
}

/// Whether the live object has fields that `manager` set when it created it and that are not wanted now.
pub(super) fn holds_more_than(live: &Value, manager: &str, wanted: &Value) -> bool {
    entry(live, manager, "Update").is_some_and(|entry| exceeds(&entry["fieldsV1"], Some(wanted)))
}

/// Whether a set of fields goes beyond a value.
fn exceeds(fields: &Value, wanted: Option<&Value>) -> bool {
    let Value::Object(fields) = fields else { return false };
    let Some(wanted) = wanted else { return true };
    fields.iter().any(|(name, below)| {
        if name == "." {
            return false;
        }
        let found = if let Some(field) = name.strip_prefix("f:") {
            wanted.get(field)
        } else if let Some(key) = name.strip_prefix("k:") {
            let Ok(Value::Object(key)) = serde_json::from_str::<Value>(key) else { return true };
            wanted.as_array().and_then(|items| items.iter().find(|item| has_key(item, &key)))
        } else if let Some(value) = name.strip_prefix("v:") {
            let Ok(value) = serde_json::from_str::<Value>(value) else { return true };
            wanted.as_array().and_then(|items| items.iter().find(|item| **item == value))
        } else {
            return true;
        };
        match found {
            None | Some(Value::Null) => true,
            found => exceeds(below, found),
        }
    })
}

/// Whether a list's item has that key; the protocol of a port is TCP where it is not said.
fn has_key(item: &Value, key: &Map<String, Value>) -> bool {
    key.iter().all(|(name, value)| match item.get(name) {
        Some(own) => own == value,
        None => name == "protocol" && value == "TCP",
    })
}

/// The change of the books that makes what `manager` created its applied fields.
pub(super) fn as_applied(live: &Value, manager: &str) -> Option<Value> {
    let created = entry(live, manager, "Update")?;
    let mut fields = created["fieldsV1"].clone();
    if let Some(applied) = entry(live, manager, "Apply") {
        unite(&mut fields, &applied["fieldsV1"]);
    }
    let mut merged = created.clone();
    merged["operation"] = json!("Apply");
    merged["fieldsV1"] = fields;
    let others = live["metadata"]["managedFields"].as_array()?.iter().filter(|entry| {
        !(entry["manager"] == manager && entry["subresource"].as_str().unwrap_or_default().is_empty())
    });
    let books: Vec<Value> = others.cloned().chain([merged]).collect();
    // The version is set, not tested: a newer object then is a conflict to try again, while a test that
    // fails looks like a request that makes no sense.
    Some(json!([
        {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
        {"op": "replace", "path": "/metadata/managedFields", "value": books},
    ]))
}

fn unite(fields: &mut Value, more: &Value) {
    if let (Value::Object(fields), Value::Object(more)) = (fields, more) {
        for (name, below) in more {
            match fields.get_mut(name) {
                Some(known) => unite(known, below),
                None => {
                    fields.insert(name.clone(), below.clone());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live() -> Value {
        json!({"metadata": {"uid": "u", "resourceVersion": "7", "managedFields": [
            {"manager": "other", "operation": "Update", "fieldsV1": {"f:status": {}}, "subresource": "status"},
            {"manager": "me", "operation": "Update", "fieldsV1": {
                "f:data": {".": {}, "f:a": {}, "f:b": {}},
                "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
                "f:metadata": {"f:finalizers": {"v:\"x\"": {}}},
            }},
            {"manager": "me", "operation": "Apply", "fieldsV1": {"f:data": {"f:a": {}, "f:c": {}}}},
        ]}})
    }

    #[test]
    fn a_field_that_was_created_and_is_not_wanted_any_more_is_seen() {
        let all =
            json!({"data": {"a": 1, "b": 2}, "ports": [{"port": 80}], "metadata": {"finalizers": ["x"]}});
        assert!(!holds_more_than(&live(), "me", &all));
        for pointer in ["/data", "/ports", "/metadata"] {
            let mut less = all.clone();
            less.as_object_mut().unwrap().remove(pointer.trim_start_matches('/'));
            assert!(holds_more_than(&live(), "me", &less), "{pointer}");
        }
        let other_port =
            json!({"data": {"a": 1, "b": 2}, "ports": [{"port": 81}], "metadata": {"finalizers": ["x"]}});
        assert!(holds_more_than(&live(), "me", &other_port));
        assert!(!holds_more_than(&live(), "stranger", &json!({})));
    }

    #[test]
    fn the_books_are_united_under_apply_and_others_keep_theirs() {
        let patch = as_applied(&live(), "me").unwrap();
        let books = patch[1]["value"].as_array().unwrap();
        assert_eq!(books.len(), 2);
        assert_eq!(books[1]["operation"], "Apply");
        assert_eq!(books[1]["fieldsV1"]["f:data"], json!({".": {}, "f:a": {}, "f:b": {}, "f:c": {}}));
        assert_eq!(patch[0], json!({"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}));
    }
}
