//! Fields that look renamed: one is gone, another of the same shape and a similar name is new.

use serde_json::{Map, Value};

/// The new field that looks like `name` under another name, if exactly one does.
pub(super) fn look_alike<'a>(
    name: &str,
    before: &'a Map<String, Value>,
    after: &'a Map<String, Value>,
) -> Option<&'a str> {
    let was = before.get(name)?;
    let mut alike = after
        .iter()
        .filter(|(other, is)| !before.contains_key(*other) && similar(name, other) && shape(was) == shape(is))
        .map(|(other, _)| other.as_str());
    let found = alike.next()?;
    alike.next().is_none().then_some(found)
}

/// Type, names of the fields and type of the items: what stays when a field is renamed.
fn shape(schema: &Value) -> (Option<&str>, Vec<&str>, Option<&str>) {
    let fields = schema.get("properties").and_then(Value::as_object);
    let mut fields: Vec<&str> =
        fields.into_iter().flat_map(|fields| fields.keys().map(String::as_str)).collect();
    fields.sort_unstable();
    (
        schema.get("type").and_then(Value::as_str),
        fields,
        schema.get("items").and_then(|items| items.get("type")).and_then(Value::as_str),
    )
}

/// Whether one name is part of the other, or few letters differ.
fn similar(one: &str, other: &str) -> bool {
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    let shorter = one.len().min(other.len());
    if shorter >= 3 && (one.contains(&other) || other.contains(&one)) {
        return true;
    }
    let longer = one.chars().count().max(other.chars().count());
    distance(&one, &other) * 3 <= longer
}

/// How many letters must be added, dropped or replaced.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (j, b) in other.iter().enumerate() {
            let above = row.get(j + 1).copied().unwrap_or_default();
            let cell = (diagonal + usize::from(a != *b)).min(above + 1).min(left + 1);
            diagonal = above;
            if let Some(slot) = row.get_mut(j) {
                *slot = left;
            }
            left = cell;
        }
        if let Some(slot) = row.last_mut() {
            *slot = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: &Value) -> &Map<String, Value> {
        value.as_object().unwrap()
    }

    #[test]
    fn a_renamed_field_is_recognised() {
        let before = json!({"serviceName": {"type": "string"}, "size": {"type": "integer"}});
        let after = json!({"serviceNames": {"type": "string"}, "color": {"type": "integer"}});
        assert_eq!(look_alike("serviceName", fields(&before), fields(&after)), Some("serviceNames"));
        assert_eq!(look_alike("size", fields(&before), fields(&after)), None);
    }

    #[test]
    fn another_type_is_another_field() {
        let before = json!({"name": {"type": "string"}});
        let after = json!({"names": {"type": "array", "items": {"type": "string"}}});
        assert_eq!(look_alike("name", fields(&before), fields(&after)), None);
    }

    #[test]
    fn two_candidates_are_none() {
        let before = json!({"name": {"type": "string"}});
        let after = json!({"nameA": {"type": "string"}, "nameB": {"type": "string"}});
        assert_eq!(look_alike("name", fields(&before), fields(&after)), None);
    }

    #[test]
    fn letters_are_counted() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
        assert!(similar("color", "colour"));
        assert!(!similar("size", "color"));
    }
}
