//! The digest of a plan: of everything that would be there, without what moves by itself.
//!
//! Left out are the contents of Secrets and the checksums that charts make of them, injected certificates, and
//! whatever two renderings of the same chart do not agree on. Values and the chart itself are in it, so a change
//! of any of those shows all the same.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::object::ObjectRef;

const MOVED: &str = "…";

/// Takes what belongs to a plan, piece by piece.
#[derive(Default)]
pub(crate) struct Plan {
    text: String,
}

impl Plan {
    /// A fact that is no object.
    pub(crate) fn fact(&mut self, name: &str, value: &Value) {
        let _ = writeln!(self.text, "{name} {}", canonical(value));
    }

    /// Objects; `again` are those of a second rendering, where there was one.
    pub(crate) fn objects(&mut self, name: &str, objects: &[&Value], again: Option<&[&Value]>) {
        let mut lines: Vec<String> = objects
            .iter()
            .map(|object| {
                let key = ObjectRef::of(object);
                let mut shown = (*object).clone();
                if let Some(again) = again {
                    match again.iter().find(|other| ObjectRef::of(other) == key) {
                        Some(other) => settle(&mut shown, other),
                        // Even its name moves.
                        None => shown = Value::from(key.map(|key| key.kind).unwrap_or_default()),
                    }
                }
                veil(&mut shown);
                canonical(&shown)
            })
            .collect();
        lines.sort();
        for line in lines {
            let _ = writeln!(self.text, "{name} {line}");
        }
    }

    /// The digest.
    pub(crate) fn digest(&self) -> String {
        Sha256::digest(self.text.as_bytes()).iter().fold("sha256:".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// Blanks what differs from the other rendering.
fn settle(value: &mut Value, other: &Value) {
    match (&mut *value, other) {
        (Value::Object(fields), Value::Object(others)) => {
            for (key, value) in fields.iter_mut() {
                match others.get(key) {
                    Some(other) => settle(value, other),
                    None => *value = MOVED.into(),
                }
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            items.iter_mut().zip(others).for_each(|(value, other)| settle(value, other));
        }
        (value, other) if *value != *other => *value = MOVED.into(),
        _ => {}
    }
}

/// Blanks what no plan is about.
fn veil(object: &mut Value) {
    if ObjectRef::of(object).is_some_and(|it| it.is_secret()) {
        for key in ["data", "stringData"] {
            if let Some(Value::Object(fields)) = object.get_mut(key) {
                fields.values_mut().for_each(|value| *value = MOVED.into());
            }
        }
    }
    veil_below(object);
}

fn veil_below(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                if key == "caBundle" || key.starts_with("checksum/") {
                    *value = MOVED.into();
                } else {
                    veil_below(value);
                }
            }
            fields.remove("caBundle");
        }
        Value::Array(items) => items.iter_mut().for_each(veil_below),
        _ => {}
    }
}

/// The same text for the same value, whatever order its fields are in.
fn canonical(value: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let mut keys: Vec<&String> = fields.keys().collect();
                keys.sort();
                let all = keys.into_iter().map(|key| (key.clone(), sorted(&fields[key])));
                Value::Object(all.collect::<Map<_, _>>())
            }
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }
    sorted(value).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(object: &Value, again: Option<&Value>) -> String {
        let mut plan = Plan::default();
        let again = again.map(|again| vec![again]);
        plan.objects("object", &[object], again.as_deref());
        plan.digest()
    }

    #[test]
    fn what_moves_by_itself_is_not_in_it_and_everything_else_is() {
        let map = |text: &str, time: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {"text": text, "time": time}})
        };
        let one = digest(&map("a", "1"), Some(&map("a", "2")));
        assert_eq!(one, digest(&map("a", "3"), Some(&map("a", "4"))));
        assert_ne!(one, digest(&map("b", "1"), Some(&map("b", "2"))));
        let secret = |text: &str| {
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"},
            "stringData": {"text": text}})
        };
        assert_eq!(digest(&secret("a"), None), digest(&secret("b"), None));
        let hook = |bundle: Option<&str>, url: &str| {
            let mut config = json!({"url": url});
            if let Some(bundle) = bundle {
                config["caBundle"] = bundle.into();
            }
            json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "a"}, "webhooks": [{"clientConfig": config}]})
        };
        assert_eq!(digest(&hook(None, "a"), None), digest(&hook(Some("b"), "a"), None));
        assert_ne!(digest(&hook(None, "a"), None), digest(&hook(None, "b"), None));
    }

    #[test]
    fn an_object_whose_name_moves_counts_by_its_kind() {
        let job = |name: &str| json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}});
        assert_eq!(digest(&job("a-1"), Some(&job("a-2"))), digest(&job("a-5"), Some(&job("a-6"))));
        assert_ne!(digest(&job("a-1"), Some(&job("a-2"))), digest(&job("a-1"), Some(&job("a-1"))));
    }
}
