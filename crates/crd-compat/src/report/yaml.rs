//! Small objects as YAML, as a person would write them: short values on one line.

use std::fmt::Write;

use serde_json::{Map, Value};

/// What fits on one line.
const WIDTH: usize = 84;

/// The object as YAML, one line for each element.
pub(super) fn lines(object: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    match object {
        Value::Object(map) => {
            // Kubernetes objects are written in this order.
            let order = ["apiVersion", "kind", "metadata", "spec"];
            let first = order.iter().filter_map(|key| map.get_key_value(*key));
            let rest = map.iter().filter(|(key, _)| !order.contains(&key.as_str()));
            for (key, value) in first.chain(rest) {
                entry(&mut lines, 0, "", key, value);
            }
        }
        other => lines.push(flow(other)),
    }
    lines
}

fn entry(lines: &mut Vec<String>, indent: usize, lead: &str, key: &str, value: &Value) {
    let space = " ".repeat(indent);
    let key = scalar(key);
    let inline = flow(value);
    if indent + lead.len() + key.len() + inline.len() + 2 <= WIDTH || !nested(value) {
        lines.push(format!("{space}{lead}{key}: {}", cut(&inline)));
        return;
    }
    lines.push(format!("{space}{lead}{key}:"));
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                entry(lines, indent + lead.len() + 2, "", key, value);
            }
        }
        Value::Array(items) => {
            for item in items.iter().take(8) {
                element(lines, indent + lead.len(), item);
            }
            if items.len() > 8 {
                lines.push(format!("{space}# {} more items", items.len() - 8));
            }
        }
        _ => {}
    }
}

fn element(lines: &mut Vec<String>, indent: usize, item: &Value) {
    let inline = flow(item);
    match item {
        Value::Object(map) if indent + inline.len() + 2 > WIDTH && !map.is_empty() => {
            for (index, (key, value)) in map.iter().enumerate() {
                let lead = if index == 0 { "- " } else { "  " };
                entry(lines, indent, lead, key, value);
            }
        }
        _ => lines.push(format!("{}- {}", " ".repeat(indent), cut(&inline))),
    }
}

fn nested(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) => flow_map(map),
        Value::Array(items) => {
            let shown: Vec<String> = items.iter().take(12).map(flow).collect();
            let more = items.len().saturating_sub(12);
            let tail = if more > 0 { format!(", # {more} more\n") } else { String::new() };
            format!("[{}{}]", shown.join(", "), tail.trim_end())
        }
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

fn flow_map(map: &Map<String, Value>) -> String {
    let mut out = String::from("{");
    for (index, (key, value)) in map.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        let _ = write!(out, "{comma}{}: {}", scalar(key), flow(value));
    }
    out.push('}');
    out
}

/// A text without quotes where YAML needs none.
fn scalar(text: &str) -> String {
    let plain = text.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '/')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'))
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
        );
    if plain { text.to_owned() } else { Value::from(text).to_string() }
}

/// Long texts are cut in the middle of nowhere in particular: they are there for their length.
fn cut(text: &str) -> String {
    let count = text.chars().count();
    if count <= 160 {
        return text.to_owned();
    }
    let start: String = text.chars().take(60).collect();
    format!("{start}…  # {count} characters")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_values_stay_on_one_line_in_the_usual_order() {
        let object = json!({"spec": {"a": [1, "x y", true], "b": {}}, "kind": "A", "status": {}, "apiVersion": "g/v1"});
        assert_eq!(
            lines(&object),
            ["apiVersion: g/v1", "kind: A", "spec: {a: [1, \"x y\", true], b: {}}", "status: {}"]
        );
        assert_eq!(lines(&json!([1])), ["[1]"]);
    }

    #[test]
    fn long_values_are_broken_into_blocks() {
        let long = "word".repeat(20);
        let object = json!({"spec": {"list": [{"first": long, "second": {"deep": long, "other": 1}}, 7], "text": long}});
        assert_eq!(
            lines(&object),
            [
                "spec:".to_owned(),
                "  list:".to_owned(),
                format!("  - first: {long}"),
                "    second:".to_owned(),
                format!("      deep: {long}"),
                "      other: 1".to_owned(),
                "  - 7".to_owned(),
                format!("  text: {long}"),
            ]
        );
    }

    #[test]
    fn what_is_long_for_its_own_sake_is_cut() {
        let text = lines(&json!({"a": "x".repeat(500)}));
        assert!(text[0].ends_with("…  # 500 characters"), "{text:?}");
        let many: Vec<String> = (0..40).map(|index| format!("item number {index}")).collect();
        let text = lines(&json!({"a": many}));
        assert_eq!(text.last().map(String::as_str), Some("# 32 more items"));
        assert_eq!(
            flow(&json!((0..20).collect::<Vec<_>>())),
            "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, # 8 more]"
        );
    }

    #[test]
    fn texts_that_would_be_read_as_something_else_are_quoted() {
        for text in ["", "true", "No", "1", "-a", "a: b", "null", "é"] {
            assert!(scalar(text).starts_with('"'), "{text}");
        }
        assert_eq!(scalar("apps/v1"), "apps/v1");
    }
}
