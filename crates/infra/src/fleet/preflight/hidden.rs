//! What must not be shown: values that came out of a keyring or a Secret, and what is called like a secret.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use slipway_domain::preflight::ValueSource;
use slipway_orchestrator::ports::fleet::Layer;

/// What names of secrets hold.
const SECRET: &[&str] =
    &["password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "privatekey", "credential"];

/// What names of things about secrets end in.
const ABOUT: &[&str] = &["name", "ref", "path", "namespace", "enabled", "mount", "file", "class"];

/// Shorter texts than this would hide everything.
const SHORTEST: usize = 4;

/// What must not be shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Hidden {
    texts: BTreeSet<String>,
}

impl Hidden {
    /// From values as a chart gets them, and the same with references in place of secrets.
    pub(super) fn of(values: &Map<String, Value>, given: &Map<String, Value>) -> Self {
        let mut texts = BTreeSet::new();
        for (key, value) in values {
            differing(value, given.get(key), &mut texts);
        }
        Self { texts }
    }

    /// Whether a value, as text, must not be shown where it stands.
    pub(super) fn conceals(&self, path: &str, text: &str) -> bool {
        is_secret_name(path) || self.texts.iter().any(|secret| text.contains(secret.as_str()))
    }
}

fn differing(value: &Value, given: Option<&Value>, texts: &mut BTreeSet<String>) {
    match value {
        _ if given == Some(value) => {}
        Value::Object(fields) => {
            for (key, value) in fields {
                differing(value, given.and_then(|given| given.get(key)), texts);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                differing(value, given.and_then(|given| given.get(index)), texts);
            }
        }
        Value::String(text) if text.len() >= SHORTEST => {
            texts.insert(text.clone());
        }
        _ => {}
    }
}

/// Whether a path leads to something that is called like a secret: its last name, or the name of the item
/// before it, as of an environment variable.
fn is_secret_name(path: &str) -> bool {
    let words = path.rsplit(['.', '[']).map(|part| part.trim_end_matches(']').to_lowercase());
    let mut words = words.take(2);
    let is_secret = |word: &str| {
        SECRET.iter().any(|name| word.contains(name)) && !ABOUT.iter().any(|end| word.ends_with(end))
    };
    match (words.next(), words.next()) {
        (Some(last), Some(before)) if last == "value" => is_secret(&before),
        (Some(last), _) => is_secret(&last),
        _ => false,
    }
}

/// Where each value comes from: the strongest layer that has it.
pub(super) fn sources(layers: &[Layer], given: &Map<String, Value>, hidden: &Hidden) -> Vec<ValueSource> {
    let mut found = Vec::new();
    for (key, value) in given {
        leaves(key, value, &mut |path, keys, value| {
            let has = |layer: &&Layer| reaches(&layer.values, keys);
            let source = layers.iter().rev().find(has).map_or("operator", |layer| layer.source);
            let value = if hidden.conceals(path, &value.to_string()) { "***".into() } else { value.clone() };
            found.push(ValueSource { path: path.to_owned(), value, source: source.to_owned() });
        });
    }
    found
}

fn leaves(key: &str, value: &Value, found: &mut impl FnMut(&str, &[String], &Value)) {
    fn walk(keys: &mut Vec<String>, value: &Value, found: &mut impl FnMut(&str, &[String], &Value)) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                for (key, value) in fields {
                    keys.push(key.clone());
                    walk(keys, value, found);
                    keys.pop();
                }
            }
            leaf => found(&keys.join("."), keys, leaf),
        }
    }
    walk(&mut vec![key.to_owned()], value, found);
}

/// Whether a layer says something about a value, or about the whole that it is a part of.
fn reaches(values: &Map<String, Value>, keys: &[String]) -> bool {
    let Some((first, rest)) = keys.split_first() else { return true };
    match values.get(first) {
        Some(Value::Object(inner)) if !rest.is_empty() => reaches(inner, rest),
        Some(_) => true,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_came_by_reference_and_what_is_called_a_secret_is_hidden() {
        let hidden = Hidden::of(
            &map(json!({"db": {"url": "postgres://me:hunter2@db", "size": 3}})),
            &map(json!({"db": {"url": {"$secret": "db"}, "size": 3}})),
        );
        assert!(hidden.conceals("spec.args[0]", "\"--url=postgres://me:hunter2@db\""));
        assert!(!hidden.conceals("spec.replicas", "3"));
        for path in ["auth.password", "env[API_TOKEN].value", "clientSecret"] {
            assert!(hidden.conceals(path, "x"), "{path}");
        }
        for path in ["imagePullSecrets[0].name", "tls.secretName", "serviceAccountTokenPath"] {
            assert!(!hidden.conceals(path, "x"), "{path}");
        }
    }

    #[test]
    fn a_value_comes_from_the_strongest_layer_that_has_it() {
        let layer = |source, values| Layer { source, values: map(values) };
        let layers = [
            layer("operator", json!({"image": {"tag": "1"}, "replicas": 1, "auth": {"password": "x"}})),
            layer("cluster", json!({"image": {"tag": "2"}})),
        ];
        let given = map(json!({"image": {"tag": "2"}, "replicas": 1, "auth": {"password": "x"}}));
        let found = sources(&layers, &given, &Hidden::default());
        let told: Vec<String> =
            found.iter().map(|one| format!("{} {} {}", one.path, one.value, one.source)).collect();
        for expected in ["image.tag \"2\" cluster", "replicas 1 operator", "auth.password \"***\" operator"] {
            assert!(told.iter().any(|one| one == expected), "{told:?}");
        }
    }
}
