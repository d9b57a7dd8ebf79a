//! What helm rendered, taken apart: manifests, hooks and CRDs.

use serde_json::Value;

use super::{Manifest, RenderedCrd};
use crate::fleet::object::{ObjectRef, annotation, read_all};

/// What a chart renders.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) manifests: Vec<Manifest>,
    pub(super) hooks: Vec<Manifest>,
    pub(super) crds: Vec<RenderedCrd>,
}

/// Takes a text of helm apart.
pub(super) fn parts(text: &str) -> Result<Parts, String> {
    let mut parts = Parts::default();
    for (source, text) in documents(text) {
        let objects = read_all(&text).map_err(|error| format!("{source}: {error}"))?;
        let one =
            objects.len() == 1 && slipway_manifests::read(&text).is_ok_and(|all| all[0].value == objects[0]);
        for value in objects {
            if is_crd(&value) {
                parts.crds.push(RenderedCrd { value });
                continue;
            }
            if is_folder(&source) {
                // helm would take it for a CRD and apply it once; it is none, and is left alone.
                continue;
            }
            // As it was written, unless it was part of a list.
            let text = if one { text.clone() } else { value.to_string() };
            let hook = annotation(&value, "helm.sh/hook").is_some();
            let into = if hook { &mut parts.hooks } else { &mut parts.manifests };
            into.push(Manifest { text, value });
        }
    }
    Ok(parts)
}

/// Whether an object is a CRD.
pub(crate) fn is_crd(value: &Value) -> bool {
    ObjectRef::of(value)
        .is_some_and(|it| it.kind == "CustomResourceDefinition" && it.group == "apiextensions.k8s.io")
}

/// The documents with their sources. A file of CRDs names its source once, for all that follow.
pub(crate) fn documents(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut source = String::new();
    let mut current = String::new();
    for line in text.lines() {
        let mark = line.strip_prefix("---").filter(|rest| rest.trim().is_empty() || rest.starts_with(' '));
        if mark.is_some() {
            found.push((source.clone(), std::mem::take(&mut current)));
            continue;
        }
        if current.trim().is_empty()
            && let Some(named) = line.strip_prefix("# Source: ")
        {
            named.trim().clone_into(&mut source);
            continue;
        }
        current.push_str(line);
        current.push('\n');
    }
    found.push((source, current));
    found.retain(|(_, text)| !text.trim().is_empty());
    found
}

/// Whether a source is in a folder `crds/` of the chart or of a part of it.
fn is_folder(source: &str) -> bool {
    let mut parts = source.split('/').skip(1).peekable();
    while parts.peek() == Some(&"charts") {
        parts.next();
        parts.next();
    }
    parts.next() == Some("crds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_hooks_and_definitions_are_kept_apart() {
        let text = "---
# Source: c/crds/a.yaml
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: a.b}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: b.b}

---
# Source: c/templates/crds/c.yaml
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: c.b}
---
# Source: c/templates/a.yaml
# keep: this comment
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {text: '{{ braces }}'}
---
# Source: c/templates/a.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: h, annotations: {helm.sh/hook: pre-upgrade}}
---
# Source: c/templates/list.yaml
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: d.b}}
---
# Source: c/templates/nothing.yaml
";
        let parts = parts(text).unwrap();
        let names: Vec<_> = parts.crds.iter().map(|crd| crd.value["metadata"]["name"].as_str()).collect();
        assert_eq!(names, [Some("a.b"), Some("b.b"), Some("c.b"), Some("d.b")]);
        assert_eq!(parts.hooks.len(), 1);
        let [first, second] = parts.manifests.as_slice() else { panic!("{:?}", parts.manifests) };
        assert!(first.text.contains("# keep: this comment") && first.text.contains("{{ braces }}"));
        assert_eq!(second.value["metadata"]["name"], "b");
        assert!(is_folder("c/charts/d/charts/e/crds/x.yaml") && !is_folder("c/charts/crds/templates/x.yaml"));
    }
}
