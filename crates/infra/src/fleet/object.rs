//! Objects as manifests name them.

use std::fmt;

use serde_json::Value;

/// Which object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectRef {
    /// The group; nothing for the core.
    pub(crate) group: String,
    /// Its kind.
    pub(crate) kind: String,
    /// Its namespace; none where the kind has none.
    pub(crate) namespace: Option<String>,
    /// Its name.
    pub(crate) name: String,
}

impl ObjectRef {
    /// Of a manifest, as it names itself; nothing where it is none.
    pub(crate) fn of(manifest: &Value) -> Option<Self> {
        let text =
            |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
        let (group, _) = group_and_version(text("/apiVersion")?);
        Some(Self {
            group: group.to_owned(),
            kind: text("/kind")?.to_owned(),
            namespace: text("/metadata/namespace").map(str::to_owned),
            name: text("/metadata/name")?.to_owned(),
        })
    }

    /// Whether its content must not be shown.
    pub(crate) fn is_secret(&self) -> bool {
        self.group.is_empty() && self.kind == "Secret"
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// The two halves of an `apiVersion`.
pub(crate) fn group_and_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// What a manifest says for a key of its labels or annotations.
pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// Whether helm leaves an object where it is, whatever becomes of its release.
pub(crate) fn is_kept(object: &Value) -> bool {
    annotation(object, "helm.sh/resource-policy").is_some_and(|policy| policy.trim() == "keep")
}

/// The documents of a manifest, lists taken apart, in order.
pub(crate) fn read_all(manifest: &str) -> Result<Vec<Value>, String> {
    let documents = slipway_manifests::read(manifest).map_err(|error| error.to_string())?;
    let mut all = Vec::new();
    for document in documents {
        take(document.value, &mut all);
    }
    Ok(all)
}

fn take(mut value: Value, all: &mut Vec<Value>) {
    let is_list = value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    if is_list && let Some(Value::Array(items)) = value.get_mut("items").map(Value::take) {
        for item in items {
            take(item, all);
        }
        return;
    }
    if value.is_object() && ObjectRef::of(&value).is_some() {
        all.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_taken_apart_and_objects_named() {
        let manifest = "
apiVersion: v1
kind: ConfigMapList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: b, annotations: {helm.sh/resource-policy: keep}}
---
# nothing
";
        let all = read_all(manifest).unwrap();
        let names: Vec<String> = all.iter().filter_map(ObjectRef::of).map(|it| it.to_string()).collect();
        assert_eq!(names, ["ConfigMap shop/a", "ClusterRole b"]);
        assert!(is_kept(&all[1]) && !is_kept(&all[0]));
    }
}
