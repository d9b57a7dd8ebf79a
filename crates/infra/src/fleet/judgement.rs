//! What becomes of the objects that exist when their CRD becomes another.

use std::sync::Arc;

use serde_json::Value;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::live::{LiveObject, LiveOptions, Standing, check_objects};

use super::api::{Api, Trouble};
use super::custom::{Pages, name_of};
use super::kinds::Kind;

/// An object that fares worse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Which: `Boat sea/a`.
    pub(crate) object: String,
    /// Why, the first reason alone.
    pub(crate) reason: String,
    /// The fields, without indexes: `.spec.sails`.
    pub(crate) fields: Vec<String>,
}

/// How the objects of a CRD fare.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hits {
    /// How many were looked at.
    pub(crate) checked: usize,
    /// They would be refused.
    pub(crate) refused: Vec<Hit>,
    /// They would lose fields.
    pub(crate) cut: Vec<Hit>,
    /// Nobody can tell.
    pub(crate) unknown: Vec<Hit>,
}

impl Hits {
    /// Whether all objects stay as they are.
    pub(crate) fn is_none(&self) -> bool {
        self.refused.is_empty() && self.cut.is_empty() && self.unknown.is_empty()
    }
}

/// Judges all objects, read at a version of what is there, under another definition. What an object suffers
/// already does not count.
pub(crate) async fn judge(
    api: &Api,
    there: &Arc<Crd>,
    other: &Arc<Crd>,
    version: &str,
) -> Result<Hits, Trouble> {
    let mut hits = Hits::default();
    let kind = Kind::of_crd(there, version);
    let mut pages = Pages::of(api, &kind);
    while let Some(items) = pages.next().await? {
        let (there, other) = (Arc::clone(there), Arc::clone(other));
        // Judging a page takes a while; other work goes on meanwhile.
        let judged = tokio::task::spawn_blocking(move || page(&there, &other, &items));
        let judged =
            judged.await.map_err(|_| Trouble::Strange("judging objects was broken off".to_owned()))?;
        hits.checked += judged.checked;
        hits.refused.extend(judged.refused);
        hits.cut.extend(judged.cut);
        hits.unknown.extend(judged.unknown);
    }
    Ok(hits)
}

fn page(there: &Crd, other: &Crd, items: &[Value]) -> Hits {
    let options = LiveOptions::default();
    let report = check_objects(other, items, &options);
    let mut hits = Hits { checked: report.checked, ..Hits::default() };
    for found in &report.objects {
        let same = |item: &&Value| {
            let text = |key: &str| item.get("metadata").and_then(|metadata| metadata.get(key)?.as_str());
            text("name") == Some(&found.id.name) && text("namespace") == found.id.namespace.as_deref()
        };
        let Some(item) = items.iter().find(same) else { continue };
        let now = check_objects(there, [item], &options);
        if now.objects.first().is_some_and(|now| !is_worse(found, now)) {
            continue;
        }
        let hit = hit(name_of(other, item), found);
        match found.standing {
            Standing::Rejected => hits.refused.push(hit),
            Standing::Pruned => hits.cut.push(hit),
            Standing::Unknown => hits.unknown.push(hit),
            Standing::Fine => {}
        }
    }
    hits
}

/// Whether an object suffers anything that it does not suffer now.
fn is_worse(then: &LiveObject, now: &LiveObject) -> bool {
    then.violations.iter().any(|violation| !now.violations.contains(violation))
        || then.status_violations.iter().any(|violation| !now.status_violations.contains(violation))
        || then.pruned.iter().any(|path| !now.pruned.contains(path))
        || then.unknown.iter().any(|reason| !now.unknown.contains(reason))
}

fn hit(object: String, found: &LiveObject) -> Hit {
    let violations = || found.violations.iter().chain(&found.status_violations);
    let reason = violations()
        .map(|violation| format!("{}: {}", violation.path, violation.message))
        .chain(found.pruned.iter().map(|path| format!("{path} is lost")))
        .chain(found.unknown.iter().cloned())
        .next()
        .unwrap_or_default();
    let paths = violations().map(|violation| &violation.path).chain(&found.pruned);
    let mut fields: Vec<String> = paths.map(|path| field(path)).collect();
    fields.sort();
    fields.dedup();
    Hit { object, reason, fields }
}

/// A path as findings about definitions write it: `spec.list[0].name` is `.spec.list[].name`.
fn field(path: &str) -> String {
    let mut field = String::new();
    if !path.starts_with('.') {
        field.push('.');
    }
    let mut inside = false;
    for character in path.chars() {
        match character {
            '[' => {
                inside = true;
                field.push('[');
            }
            ']' => {
                inside = false;
                field.push(']');
            }
            digit if inside && digit.is_ascii_digit() => {}
            other => field.push(other),
        }
    }
    field
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd(spec: &Value) -> Crd {
        Crd::from_value(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "boats.sea.dev"},
            "spec": {"group": "sea.dev", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                    {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}}}]}}))
        .unwrap()
    }

    #[test]
    fn only_what_gets_worse_counts() {
        let old = crd(&json!({"sails": {"type": "integer", "maximum": 5}, "colour": {"type": "string"}}));
        let new = crd(&json!({"sails": {"type": "integer", "maximum": 3}}));
        let boat = |name: &str, spec: Value| {
            json!({"apiVersion": "sea.dev/v1", "kind": "Boat", "spec": spec,
                "metadata": {"name": name, "namespace": "sea"}})
        };
        let items = [
            boat("fine", json!({"sails": 1})),
            boat("wide", json!({"sails": 4})),
            boat("red", json!({"sails": 1, "colour": "red"})),
            boat("unknown-before", json!({"sails": 1, "keel": 1})),
        ];
        let hits = page(&old, &new, &items);
        assert_eq!(hits.checked, 4);
        let names = |hits: &[Hit]| hits.iter().map(|hit| hit.object.clone()).collect::<Vec<_>>();
        assert_eq!(names(&hits.refused), ["Boat sea/wide"]);
        assert_eq!(hits.refused[0].fields, [".spec.sails"]);
        assert_eq!(names(&hits.cut), ["Boat sea/red"]);
        assert!(page(&old, &old, &items).is_none());
    }

    #[test]
    fn a_path_loses_its_indexes() {
        assert_eq!(field("spec.ports[12].name"), ".spec.ports[].name");
        assert_eq!(field(".spec.labels[\"a.b\"]"), ".spec.labels[\"a.b\"]");
    }
}
