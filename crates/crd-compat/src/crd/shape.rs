//! The check a document must pass before the accessors of [`super::Crd`] may rely on it.

use serde_json::{Map, Value};

use super::CrdError;

const API_GROUP: &str = "apiextensions.k8s.io";

pub(super) fn check(value: &Value) -> Result<(), CrdError> {
    let Value::Object(root) = value else {
        return Err(CrdError::NotACrd(format!("the document is {}", kind_of(value))));
    };
    check_type(root)?;
    let root = Node { path: String::new(), map: root };
    let name = root.object("metadata")?.text("name")?;
    if name.is_empty() {
        return Err(CrdError::Shape { path: "metadata.name".into(), problem: "is empty".into() });
    }
    let spec = root.object("spec")?;
    spec.text("group")?;
    let scope = spec.text("scope")?;
    if !matches!(scope, "Namespaced" | "Cluster") {
        return Err(spec.wrong("scope", &format!("must be Namespaced or Cluster, not {scope:?}")));
    }
    let names = spec.object("names")?;
    names.text("kind")?;
    names.text("plural")?;
    for key in ["singular", "listKind"] {
        names.optional(key, "a string", Value::is_string)?;
    }
    for key in ["shortNames", "categories"] {
        names.strings(key)?;
    }
    spec.optional("preserveUnknownFields", "a boolean", Value::is_boolean)?;
    spec.optional("conversion", "an object", Value::is_object)?;
    check_versions(&spec)?;
    if let Some(status) = root.optional("status", "an object", Value::is_object)?.and_then(Value::as_object) {
        Node { path: "status".into(), map: status }.strings("storedVersions")?;
    }
    Ok(())
}

fn check_type(root: &Map<String, Value>) -> Result<(), CrdError> {
    let text = |key: &str| match root.get(key) {
        None | Some(Value::Null) => Err(CrdError::NotACrd(format!("it has no {key}"))),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => Err(CrdError::NotACrd(format!("{key} is {}, not a string", kind_of(other)))),
    };
    let api_version = text("apiVersion")?;
    let kind = text("kind")?;
    if kind != "CustomResourceDefinition" || api_version.split('/').next() != Some(API_GROUP) {
        return Err(CrdError::NotACrd(format!("it is {api_version} {kind}")));
    }
    match api_version.strip_prefix(API_GROUP) {
        Some("/v1") => Ok(()),
        Some("/v1beta1") => Err(CrdError::OldApiVersion(api_version.to_owned())),
        _ => Err(CrdError::NotACrd(format!("apiVersion {api_version} is unknown, expected {API_GROUP}/v1"))),
    }
}

fn check_versions(spec: &Node<'_>) -> Result<(), CrdError> {
    let versions = match spec.required("versions")? {
        Value::Array(versions) if !versions.is_empty() => versions,
        Value::Array(_) => return Err(spec.wrong("versions", "has no entry")),
        other => return Err(spec.expected("versions", "an array", other)),
    };
    let mut names = std::collections::BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        let path = format!("{}[{index}]", spec.child("versions"));
        let Value::Object(map) = version else {
            return Err(CrdError::Shape { path, problem: must_be("an object", version) });
        };
        let version = Node { path, map };
        let name = version.text("name")?;
        if !names.insert(name) {
            return Err(version.wrong("name", &format!("{name:?} appears twice")));
        }
        for key in ["served", "storage", "deprecated"] {
            version.optional(key, "a boolean", Value::is_boolean)?;
        }
        version.optional("deprecationWarning", "a string", Value::is_string)?;
        for key in ["additionalPrinterColumns", "selectableFields"] {
            version.optional(key, "an array", Value::is_array)?;
        }
        for (key, child) in
            [("schema", ["openAPIV3Schema", "openAPIV3Schema"]), ("subresources", ["status", "scale"])]
        {
            let Some(Value::Object(map)) = version.optional(key, "an object", Value::is_object)? else {
                continue;
            };
            let node = Node { path: version.child(key), map };
            for key in child {
                node.optional(key, "an object", Value::is_object)?;
            }
        }
    }
    Ok(())
}

/// An object of the document, and where it stands.
struct Node<'a> {
    path: String,
    map: &'a Map<String, Value>,
}

impl<'a> Node<'a> {
    fn child(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn wrong(&self, key: &str, problem: &str) -> CrdError {
        CrdError::Shape { path: self.child(key), problem: problem.to_owned() }
    }

    fn expected(&self, key: &str, what: &str, found: &Value) -> CrdError {
        self.wrong(key, &must_be(what, found))
    }

    fn required(&self, key: &str) -> Result<&'a Value, CrdError> {
        self.map.get(key).filter(|value| !value.is_null()).ok_or_else(|| self.wrong(key, "is missing"))
    }

    fn object(&self, key: &str) -> Result<Node<'a>, CrdError> {
        match self.required(key)? {
            Value::Object(map) => Ok(Node { path: self.child(key), map }),
            other => Err(self.expected(key, "an object", other)),
        }
    }

    fn text(&self, key: &str) -> Result<&'a str, CrdError> {
        match self.required(key)? {
            Value::String(text) => Ok(text),
            other => Err(self.expected(key, "a string", other)),
        }
    }

    fn optional(
        &self,
        key: &str,
        what: &str,
        fits: fn(&Value) -> bool,
    ) -> Result<Option<&'a Value>, CrdError> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) if fits(value) => Ok(Some(value)),
            Some(other) => Err(self.expected(key, what, other)),
        }
    }

    fn strings(&self, key: &str) -> Result<(), CrdError> {
        let Some(Value::Array(items)) = self.optional(key, "an array", Value::is_array)? else {
            return Ok(());
        };
        match items.iter().enumerate().find(|(_, item)| !item.is_string()) {
            None => Ok(()),
            Some((index, item)) => Err(self.expected(&format!("{key}[{index}]"), "a string", item)),
        }
    }
}

fn must_be(what: &str, found: &Value) -> String {
    format!("must be {what}, not {}", kind_of(found))
}

/// The JSON type of a value, with its article.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
