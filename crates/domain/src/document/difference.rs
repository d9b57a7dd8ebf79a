//! What differs between two documents, field by field.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Where, such as `labels.team` or `weekly[0].from`.
    pub path: String,
    /// What is there; nothing for a field that is new.
    pub before: Option<Value>,
    /// What will be there; nothing for a field that goes.
    pub after: Option<Value>,
}

/// Every field that differs; objects and lists of equal length are looked into, anything else is told whole.
pub fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk("", before, after, &mut found);
    found
}

fn walk(path: &str, before: &Value, after: &Value, found: &mut Vec<Difference>) {
    match (before, after) {
        (Value::Object(was), Value::Object(is)) => {
            let mut keys: Vec<&String> =
                was.keys().chain(is.keys().filter(|key| !was.contains_key(*key))).collect();
            keys.sort();
            for key in keys {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match (was.get(key), is.get(key)) {
                    (Some(was), Some(is)) => walk(&path, was, is, found),
                    (was, is) => {
                        found.push(Difference { path, before: was.cloned(), after: is.cloned() });
                    }
                }
            }
        }
        (Value::Array(was), Value::Array(is)) if was.len() == is.len() => {
            for (index, (was, is)) in was.iter().zip(is).enumerate() {
                walk(&format!("{path}[{index}]"), was, is, found);
            }
        }
        (was, is) if was == is => {}
        (was, is) => found.push(Difference {
            path: path.to_owned(),
            before: Some(was.clone()),
            after: Some(is.clone()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_is_told_with_its_place() {
        let before = json!({"labels": {"team": "a", "old": "1"}, "list": [{"x": 1}, {"x": 2}], "same": [1]});
        let after = json!({"labels": {"team": "b", "new": "2"}, "list": [{"x": 1}, {"x": 3}], "same": [1]});
        let told: Vec<String> = differences(&before, &after)
            .iter()
            .map(|one| format!("{}: {:?} -> {:?}", one.path, one.before, one.after))
            .collect();
        assert_eq!(
            told,
            [
                "labels.new: None -> Some(String(\"2\"))",
                "labels.old: Some(String(\"1\")) -> None",
                "labels.team: Some(String(\"a\")) -> Some(String(\"b\"))",
                "list[1].x: Some(Number(2)) -> Some(Number(3))",
            ]
        );
        assert!(differences(&before, &before).is_empty());
        assert_eq!(differences(&json!([1]), &json!([1, 2])).len(), 1);
    }
}
