//! What must not be shown: values that came out of a keyring or a Secret, and what is called like a secret.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use slipway_domain::operator::{is_secret_name, place};
use slipway_domain::preflight::ValueSource;
use slipway_orchestrator::ports::fleet::Layer;

/// Shorter texts than this would hide everything.
const SHORTEST: usize = 4;

/// What must not be shown.
#[derive(Debug, Clone, Default)]
pub(in crate::fleet) struct Hidden {
    texts: BTreeSet<String>,
    every: bool,
}

impl Hidden {
    /// From values as a chart gets them, and the same with references in place of secrets.
    pub(in crate::fleet) fn of(values: &Map<String, Value>, given: &Map<String, Value>) -> Self {
        let mut texts = BTreeSet::new();
        for (key, value) in values {
            differing(value, given.get(key), &mut texts);
        }
        Self { texts, every: false }
    }

    /// Every text, since it is not known which came out of a Secret; the names of images are none.
    pub(in crate::fleet) fn every_text() -> Self {
        Self { texts: BTreeSet::new(), every: true }
    }

    /// Whether a value, as text, must not be shown where it stands.
    pub(in crate::fleet) fn conceals(&self, path: &str, text: &str) -> bool {
        let hides = self.every && text.starts_with('"') && path.rsplit('.').next() != Some("image");
        hides || is_secret_name(path) || self.texts.iter().any(|secret| text.contains(secret.as_str()))
    }

    /// A value without what must not be shown.
    fn shown(&self, path: &str, value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let shown = |(key, value): (&String, &Value)| {
                    (key.clone(), self.shown(&format!("{path}.{key}"), value))
                };
                Value::Object(fields.iter().map(shown).collect())
            }
            Value::Array(items) => {
                let shown =
                    items.iter().enumerate().map(|(at, item)| self.shown(&place(path, at, item), item));
                Value::Array(shown.collect())
            }
            leaf if self.conceals(path, &leaf.to_string()) => "***".into(),
            leaf => leaf.clone(),
        }
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

/// Where each value comes from: the strongest layer that has it.
pub(in crate::fleet) fn sources(
    layers: &[Layer],
    given: &Map<String, Value>,
    hidden: &Hidden,
) -> Vec<ValueSource> {
    let mut found = Vec::new();
    for (key, value) in given {
        leaves(key, value, &mut |path, keys, value| {
            let layer = strongest(layers, keys);
            found.push(ValueSource {
                path: path.to_owned(),
                value: hidden.shown(path, value),
                source: layer.map_or("operator", |layer| layer.source).to_owned(),
                document: layer.and_then(|layer| layer.document.clone()),
            });
        });
    }
    found
}

/// The strongest layer that says something about a value; nothing where that is the chart's own.
pub(in crate::fleet) fn strongest<'a>(layers: &'a [Layer], keys: &[String]) -> Option<&'a Layer> {
    layers.iter().rev().find(|layer| reaches(&layer.values, keys))
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
        assert!(hidden.conceals("auth.password", "x") && !hidden.conceals("tls.secretName", "x"));
        let listed = json!([{"name": "API_TOKEN", "value": "x"}, {"name": "PLACE", "value": "sea"}]);
        assert_eq!(
            hidden.shown("env", &listed),
            json!([{"name": "API_TOKEN", "value": "***"}, {"name": "PLACE", "value": "sea"}])
        );
    }

    #[test]
    fn a_value_comes_from_the_strongest_layer_that_has_it() {
        let operator = json!({"image": {"tag": "1"}, "replicas": 1, "auth": {"password": "x"}});
        let cluster = Layer {
            source: "cluster",
            document: Some("eu-1".to_owned()),
            values: map(json!({"image": {"tag": "2"}})),
        };
        let layers = [Layer::new("operator", map(operator)), cluster];
        let given = map(json!({"image": {"tag": "2"}, "replicas": 1, "auth": {"password": "x"}}));
        let found = sources(&layers, &given, &Hidden::default());
        let told: Vec<String> =
            found.iter().map(|one| format!("{} {} {}", one.path, one.value, one.source)).collect();
        for expected in ["image.tag \"2\" cluster", "replicas 1 operator", "auth.password \"***\" operator"] {
            assert!(told.iter().any(|one| one == expected), "{told:?}");
        }
        let tag = found.iter().find(|one| one.path == "image.tag").expect("the tag");
        assert_eq!(tag.document.as_deref(), Some("eu-1"));
    }
}
