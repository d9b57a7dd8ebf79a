//! Whether values fit what a chart says about them in its `values.schema.json`.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

/// The largest file that is read.
const LARGEST: u64 = 8 << 20;

/// What a chart says about its values.
#[derive(Debug, Default)]
pub(super) struct Told {
    defaults: Map<String, Value>,
    schema: Option<Value>,
}

/// What came of checking.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// The chart has no schema.
    NoSchema,
    /// They fit.
    Fits,
    /// They do not.
    Not(Vec<Misfit>),
    /// The schema cannot be used.
    Unusable(String),
}

/// A value that does not fit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// Where it is; empty for the whole.
    pub(super) keys: Vec<String>,
    /// What is wrong, with the path and without the value.
    pub(super) text: String,
}

impl Told {
    /// Of what a chart holds.
    pub(super) fn new(defaults: Map<String, Value>, schema: Option<Value>) -> Self {
        Self { defaults, schema }
    }

    /// Of a packed chart.
    pub(super) fn read(archive: &[u8]) -> Result<Self, String> {
        let broken = |error: std::io::Error| format!("the archive cannot be read: {error}");
        let mut told = Self::default();
        for entry in tar::Archive::new(MultiGzDecoder::new(archive)).entries().map_err(broken)? {
            let mut entry = entry.map_err(broken)?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let Some((_, file)) = path.trim_start_matches("./").split_once('/') else { continue };
            if !matches!(file, "values.yaml" | "values.schema.json") {
                continue;
            }
            let mut text = String::new();
            (&mut entry).take(LARGEST).read_to_string(&mut text).map_err(broken)?;
            if file == "values.yaml" {
                let read = slipway_manifests::read(&text).map_err(|error| format!("values.yaml: {error}"))?;
                if let Some(Value::Object(values)) = read.into_iter().next().map(|document| document.value) {
                    told.defaults = values;
                }
            } else {
                let schema =
                    serde_json::from_str(&text).map_err(|error| format!("values.schema.json: {error}"))?;
                told.schema = Some(schema);
            }
        }
        Ok(told)
    }

    /// Whether values fit, on top of the chart's own. Nothing is fetched that the schema refers to.
    pub(super) fn check(&self, values: &Map<String, Value>) -> Fit {
        let Some(schema) = &self.schema else { return Fit::NoSchema };
        let validator = match jsonschema::validator_for(schema) {
            Ok(validator) => validator,
            Err(error) => return Fit::Unusable(error.masked().to_string()),
        };
        let whole = Value::Object(merged(&self.defaults, values));
        let problems: Vec<Misfit> = validator
            .iter_errors(&whole)
            .map(|error| {
                let mut keys = keys(error.instance_path().as_str());
                let path = keys.join(".");
                // It is told of what holds it.
                if let ValidationErrorKind::AdditionalProperties { unexpected } = error.kind() {
                    keys.extend(unexpected.first().cloned());
                }
                // The value itself may be secret.
                let what = error.masked();
                let text = if path.is_empty() { what.to_string() } else { format!("{path}: {what}") };
                Misfit { keys, text }
            })
            .collect();
        if problems.is_empty() { Fit::Fits } else { Fit::Not(problems) }
    }
}

/// The keys of a JSON pointer.
fn keys(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|key| key.replace("~1", "/").replace("~0", "~")).collect()
}

/// The chart's own values with others over them, as helm does it: `null` takes a value away.
pub(super) fn merged(defaults: &Map<String, Value>, values: &Map<String, Value>) -> Map<String, Value> {
    let mut all = defaults.clone();
    for (key, value) in values {
        match (all.get(key), value) {
            (_, Value::Null) => {
                all.remove(key);
            }
            (Some(Value::Object(inner)), Value::Object(value)) => {
                let inner = merged(inner, value);
                all.insert(key.clone(), Value::Object(inner));
            }
            (_, value) => {
                all.insert(key.clone(), value.clone());
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn every_problem_is_told_with_its_path_and_without_its_value() {
        let told = Told {
            defaults: map(json!({"replicas": 1, "image": {"tag": "a"}, "gone": 1})),
            schema: Some(json!({"type": "object", "required": ["image"], "properties": {
                "replicas": {"type": "integer"}, "gone": {"type": "string"},
                "image": {"type": "object", "properties": {"tag": {"type": "string"}}}}})),
        };
        assert_eq!(told.check(&map(json!({"gone": null}))), Fit::Fits);
        let Fit::Not(problems) =
            told.check(&map(json!({"replicas": "hunter2", "image": {"tag": 3}, "gone": "x"})))
        else {
            panic!("they do not fit")
        };
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems.iter().any(|problem| problem.text.starts_with("replicas: ")), "{problems:?}");
        let tag = problems.iter().find(|problem| problem.text.starts_with("image.tag: ")).expect("the tag");
        assert_eq!(tag.keys, ["image", "tag"]);
        assert!(!problems.iter().any(|problem| problem.text.contains("hunter2")), "{problems:?}");
        assert_eq!(Told::default().check(&Map::new()), Fit::NoSchema);
    }

    #[test]
    fn a_value_that_nobody_knows_is_found_where_it_is() {
        let schema =
            Some(json!({"properties": {"a/b": {"properties": {"size": {}}, "additionalProperties": false}}}));
        let told = Told { schema, ..Told::default() };
        let Fit::Not(problems) = told.check(&map(json!({"a/b": {"colour": 1}}))) else { panic!("unknown") };
        assert_eq!(problems[0].keys, ["a/b", "colour"]);
    }

    #[test]
    fn a_schema_that_refers_elsewhere_is_not_followed() {
        let schema = Some(json!({"$ref": "https://127.0.0.1:1/schema.json"}));
        let told = Told { schema, ..Told::default() };
        assert!(matches!(told.check(&Map::new()), Fit::Unusable(_)));
    }
}
