//! The values of a release: layers laid over each other as helm does, and references to Secrets filled in.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use slipway_domain::operator::{SECRET_REFERENCE, lay};
use slipway_orchestrator::ports::fleet::{Layer, Subject};

use super::api::Api;
use super::fault::Fault;
use super::site::made;

/// The values of all layers of a subject, references left as they are.
pub(crate) fn merged(subject: &Subject) -> Map<String, Value> {
    let mut values = Map::new();
    for layer in &subject.layers {
        lay(&mut values, &layer.values);
    }
    // Whoever asks for a second release may have coloured it already.
    if let Some(beside) = &subject.placement.beside
        && !subject.layers.iter().any(|layer: &Layer| layer.source == "colour")
    {
        lay(&mut values, &subject.profile.values_of(beside.colour));
    }
    values
}

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Reference {
    namespace: String,
    name: String,
    key: String,
}

impl Reference {
    fn of(value: &Value, namespace: &str, path: &str) -> Option<Result<Self, Fault>> {
        let fields = value.as_object().filter(|fields| fields.contains_key(SECRET_REFERENCE))?;
        let inner = fields.get(SECRET_REFERENCE).and_then(Value::as_object);
        let text = |key: &str| inner.and_then(|inner| inner.get(key)).and_then(Value::as_str);
        let found = match (text("name"), text("key"), fields.len()) {
            (Some(name), Some(key), 1) => Ok(Self {
                namespace: text("namespace").unwrap_or(namespace).to_owned(),
                name: name.to_owned(),
                key: key.to_owned(),
            }),
            _ => Err(Fault::Failed(format!(
                "the value {path} is no reference to a Secret: write {{\"$secret\": {{\"name\": …, \"key\": …}}}}"
            ))),
        };
        Some(found)
    }
}

/// The values with references filled in from the cluster. They must not be kept or shown.
pub(crate) async fn filled(
    api: &Api,
    subject: &Subject,
    values: &Map<String, Value>,
) -> Result<Map<String, Value>, Fault> {
    let namespace = &made(subject).namespace;
    let mut wanted = BTreeMap::new();
    collect(&Value::Object(values.clone()), namespace, "", &mut wanted)?;
    let mut found = BTreeMap::new();
    for (reference, path) in wanted {
        let text = secret(api, &reference, &path).await?;
        found.insert(reference, text);
    }
    let mut filled = Value::Object(values.clone());
    fill(&mut filled, namespace, &found);
    match filled {
        Value::Object(filled) => Ok(filled),
        _ => Ok(Map::new()),
    }
}

fn collect(
    value: &Value,
    namespace: &str,
    path: &str,
    wanted: &mut BTreeMap<Reference, String>,
) -> Result<(), Fault> {
    if let Some(reference) = Reference::of(value, namespace, path) {
        wanted.entry(reference?).or_insert_with(|| path.to_owned());
        return Ok(());
    }
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => {
            fields.iter().try_for_each(|(key, value)| collect(value, namespace, &below(key), wanted))
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(at, value)| collect(value, namespace, &format!("{path}[{at}]"), wanted)),
        _ => Ok(()),
    }
}

fn fill(value: &mut Value, namespace: &str, found: &BTreeMap<Reference, String>) {
    if let Some(Ok(reference)) = Reference::of(value, namespace, "") {
        *value = found.get(&reference).map_or(Value::Null, |text| Value::String(text.clone()));
        return;
    }
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|value| fill(value, namespace, found)),
        Value::Array(items) => items.iter_mut().for_each(|value| fill(value, namespace, found)),
        _ => {}
    }
}

async fn secret(api: &Api, reference: &Reference, path: &str) -> Result<String, Fault> {
    let Reference { namespace, name, key } = reference;
    let refused = |why: &str| {
        Fault::Failed(format!(
            "the value {path} refers to the key {key} of the Secret {namespace}/{name} on cluster {}, {why}",
            api.cluster()
        ))
    };
    let found = api.find(&format!("/api/v1/namespaces/{namespace}/secrets/{name}")).await?;
    let found = found.ok_or_else(|| refused("which is not there; make it first"))?;
    let data = found.get("data").and_then(|data| data.get(key)).and_then(Value::as_str);
    let data = data.ok_or_else(|| refused("which has no such key; add it first"))?;
    let text = STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| refused("which holds no text"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_found_wherever_they_are_and_bad_ones_are_named() {
        let values = json!({"a": [{"b": {"$secret": {"name": "n", "key": "k"}}}],
            "c": {"$secret": {"name": "n", "key": "k", "namespace": "other"}}});
        let mut wanted = BTreeMap::new();
        collect(&values, "apps", "", &mut wanted).unwrap();
        let places: Vec<_> = wanted.iter().map(|(it, path)| (it.namespace.as_str(), path.as_str())).collect();
        assert_eq!(places, [("apps", "a[0].b"), ("other", "c")]);
        let mut filled = values;
        let found = wanted.keys().map(|it| (it.clone(), "hunter2".to_owned())).collect();
        fill(&mut filled, "apps", &found);
        assert_eq!(filled, json!({"a": [{"b": "hunter2"}], "c": "hunter2"}));
        let bad = json!({"x": {"y": {"$secret": {"name": "n"}}}});
        let why = collect(&bad, "apps", "", &mut BTreeMap::new()).unwrap_err();
        assert!(why.to_string().contains("x.y"), "{why}");
    }
}
