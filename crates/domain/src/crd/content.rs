//! What a definition says, apart from what clusters add to it: so that the schema of a chart and the one
//! that a cluster runs can be told to be the same.

mod stored;

use std::fmt;
use std::fmt::Write as _;
use std::str::FromStr;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The SHA-256 of what a definition says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Of a definition, as [`canonical`] has it.
    pub fn of(definition: &Value) -> Self {
        Self::of_canonical(&canonical(definition))
    }

    /// Of a definition that is canonical already.
    pub fn of_canonical(canonical: &Value) -> Self {
        let mut text = String::new();
        write_sorted(&mut text, canonical);
        Self(Sha256::digest(text.as_bytes()).into())
    }
}

/// What of a definition counts: its name and `spec` as an API server stores it, without the certificate that
/// somebody injects into its webhook. Labels, annotations and status are left out.
pub fn canonical(definition: &Value) -> Value {
    let name = definition.pointer("/metadata/name").cloned().unwrap_or(Value::Null);
    let mut spec = definition.get("spec").cloned().unwrap_or(Value::Null);
    if let Some(spec) = spec.as_object_mut() {
        stored::as_stored(spec);
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": spec,
    })
}

/// Writes JSON with the keys of every object in order, so that equal values are equal texts.
fn write_sorted(text: &mut String, value: &Value) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            text.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                // A string takes every write.
                let _ = write!(text, "{}:", Value::String(key.clone()));
                write_sorted(text, value);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_sorted(text, item);
            }
            text.push(']');
        }
        plain => {
            let _ = write!(text, "{plain}");
        }
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

impl FromStr for ContentHash {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("{text:?} is not a SHA-256 in hexadecimal digits");
        if text.len() != 64 || !text.is_ascii() {
            return Err(bad());
        }
        let mut bytes = [0; 32];
        for (index, byte) in bytes.iter_mut().enumerate() {
            let digits = text.get(2 * index..2 * index + 2).ok_or_else(bad)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| bad())?;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com", "annotations": {"a": "b"}},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"kind": "Widget", "plural": "widgets"},
                "versions": [{"name": "v1", "served": true, "storage": true}],
                "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {
                    "service": {"name": "s", "namespace": "n"},
                }}},
            },
        })
    }

    #[test]
    fn what_a_cluster_adds_changes_nothing() {
        let mut live = written();
        live["metadata"] = json!({"name": "widgets.example.com", "uid": "u", "generation": 3});
        live["status"] = json!({"storedVersions": ["v1"]});
        live["spec"]["names"]["listKind"] = json!("WidgetList");
        live["spec"]["names"]["singular"] = json!("widget");
        live["spec"]["preserveUnknownFields"] = json!(false);
        live["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = json!("aaaa");
        live["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"] = json!(443);
        assert_eq!(ContentHash::of(&live), ContentHash::of(&written()));
        assert!(!canonical(&live).to_string().contains("aaaa"), "no certificate is kept");
    }

    #[test]
    fn what_a_definition_says_counts() {
        let mut other = written();
        other["spec"]["versions"][0]["served"] = json!(false);
        assert_ne!(ContentHash::of(&other), ContentHash::of(&written()));
        let hash = ContentHash::of(&other);
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for bad in ["", "zz", &"x".repeat(64), &"ä".repeat(32)] {
            assert!(bad.parse::<ContentHash>().is_err(), "{bad}");
        }
    }
}
