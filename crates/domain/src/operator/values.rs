//! What may be written about an operator: labels, values, names of definitions.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::secrets::is_reference;
use crate::problem::Problems;

/// Why values are not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadValues {
    /// More than is sensible.
    #[error("are larger than 256 KiB")]
    TooLarge,
    /// Deeper than is sensible.
    #[error("are nested deeper than 32 levels")]
    TooDeep,
}

const MOST_VALUES: usize = 256 * 1024;
const DEEPEST: usize = 32;
const MOST_LABELS: usize = 64;

/// Checks helm values: their size and depth.
pub fn check_values(values: &Map<String, Value>) -> Result<(), BadValues> {
    let deepest = values.values().map(depth).max().unwrap_or(0);
    if deepest > DEEPEST {
        return Err(BadValues::TooDeep);
    }
    // Counted rather than written out: it is only about the order of magnitude.
    if values.iter().map(|(key, value)| key.len() + size(value)).sum::<usize>() > MOST_VALUES {
        return Err(BadValues::TooLarge);
    }
    Ok(())
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 1,
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 2,
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| key.len() + 3 + size(value)).sum::<usize>() + 2
        }
        _ => 8,
    }
}

/// Lays values over others, as helm does: objects are merged, everything else is replaced, references as a whole.
/// A null stays one, since it takes the chart's own value away.
pub fn lay(below: &mut Map<String, Value>, above: &Map<String, Value>) {
    for (key, value) in above {
        match below.get_mut(key) {
            Some(under) if under.is_object() && !is_reference(under) && !is_reference(value) => {
                match (under, value) {
                    (Value::Object(under), Value::Object(over)) => lay(under, over),
                    (under, value) => *under = value.clone(),
                }
            }
            Some(under) => *under = value.clone(),
            None => {
                below.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Checks labels as Kubernetes does, below `labels`.
pub fn check_labels(labels: &BTreeMap<String, String>) -> Problems {
    let mut problems = Problems::new();
    if labels.len() > MOST_LABELS {
        problems.add("labels", format!("are more than {MOST_LABELS}"));
    }
    for (key, value) in labels {
        let (prefix, name) = key.split_once('/').map_or((None, key.as_str()), |(a, b)| (Some(a), b));
        if !is_label_word(name) || name.is_empty() || prefix.is_some_and(|prefix| !is_subdomain(prefix)) {
            problems.add(
                format!("labels.{key}"),
                "is not the key of a label: up to 63 letters, digits, dashes, dots and underscores, with a domain and a slash before it at most",
            );
        }
        if !is_label_word(value) {
            problems.add(
                format!("labels.{key}"),
                "has to be up to 63 letters, digits, dashes, dots and underscores, beginning and ending with a letter or digit",
            );
        }
    }
    problems
}

/// Checks the name of a definition: `<plural>.<group>`.
pub fn check_crd_name(name: &str) -> Result<(), &'static str> {
    if is_subdomain(name) && name.contains('.') {
        Ok(())
    } else {
        Err("is not the name of a definition such as certificates.cert-manager.io")
    }
}

/// Checks a description.
pub fn check_description(description: &str) -> Result<(), &'static str> {
    if description.chars().count() > 2000 { Err("is longer than 2000 characters") } else { Ok(()) }
}

fn is_label_word(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && edge(text.chars().next())
        && edge(text.chars().last())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn is_subdomain(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part.len() <= 63
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-'))
    };
    text.len() <= 253 && text.split('.').all(part)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_lie_over_each_other_as_helm_lays_them() {
        let map = |value: Value| value.as_object().cloned().unwrap_or_default();
        let mut values = map(json!({"image": {"tag": "1", "name": "a"}, "list": [1, 2], "gone": {"a": 1},
            "plain": {"a": 1}, "kept": {"$secret": {"name": "x", "key": "y"}}}));
        let above = json!({"image": {"tag": "2"}, "list": [3], "gone": null, "new": 1,
            "plain": {"$secret": {"name": "x", "key": "y"}}, "kept": {"a": 2}});
        lay(&mut values, &map(above));
        let merged = json!({"image": {"tag": "2", "name": "a"}, "list": [3], "gone": null, "new": 1,
            "plain": {"$secret": {"name": "x", "key": "y"}}, "kept": {"a": 2}});
        assert_eq!(Value::Object(values), merged);
    }
}
