//! How deeply a value is nested, found out without recursion.

use serde_json::Value;

use crate::schema::MAX_DEPTH;

/// A level of a schema takes two of JSON, three with `allOf` and its list.
const MAX_JSON_DEPTH: usize = 3 * MAX_DEPTH + 8;

/// Whether a value is nested more deeply than recursion may follow.
pub(super) fn exceeds(value: &Value) -> bool {
    let mut left: Vec<(&Value, usize)> = vec![(value, 0)];
    while let Some((value, depth)) = left.pop() {
        if depth > MAX_JSON_DEPTH {
            return true;
        }
        match value {
            Value::Object(map) => {
                left.extend(map.values().filter(|value| nests(value)).map(|value| (value, depth + 1)));
            }
            Value::Array(list) => {
                left.extend(list.iter().filter(|value| nests(value)).map(|value| (value, depth + 1)));
            }
            _ => {}
        }
    }
    false
}

fn nests(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Array(_))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ten_thousand_levels_are_too_many() {
        let mut value = json!({"type": "object"});
        for _ in 0..10_000 {
            value = Value::Object([("properties".to_owned(), value)].into_iter().collect());
        }
        assert!(exceeds(&value));
        // Dropping it must not recurse ten thousand levels either.
        while let Some(inner) = value.get_mut("properties").map(Value::take) {
            value = inner;
        }
    }

    #[test]
    fn what_people_write_is_not() {
        assert!(!exceeds(&json!({"properties": {"spec": {"allOf": [{"not": {}}]}}})));
    }
}
