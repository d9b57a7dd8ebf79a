//! Custom resources: all of a CRD, page by page, and a hash of what people wrote in each.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use slipway_crd_compat::crd::Crd;
use slipway_domain::crd::ContentHash;

use super::api::{Api, Trouble, quoted};
use super::kinds::Kind;

/// So many objects come at once.
const PAGE: usize = 250;

/// The version at which all objects of a live CRD can be read: the stored one, or another that is served.
pub(crate) fn readable(crd: &Crd) -> Option<String> {
    let versions = crd.versions();
    let stored = versions.iter().find(|version| version.storage() && version.served());
    let any = || versions.iter().find(|version| version.served());
    stored.or_else(any).map(|version| version.name().to_owned())
}

/// All objects of a kind, a page at a time, as they are now.
pub(crate) struct Pages<'a> {
    api: &'a Api,
    kind: &'a Kind,
    /// The token of the next page; nothing once all were read.
    next: Option<String>,
}

impl<'a> Pages<'a> {
    /// From the beginning.
    pub(crate) fn of(api: &'a Api, kind: &'a Kind) -> Self {
        Self { api, kind, next: Some(String::new()) }
    }

    /// The next page; nothing after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Value>>, Trouble> {
        while let Some(token) = self.next.take() {
            let mut path = format!("{}?limit={PAGE}", self.kind.collection(None));
            if !token.is_empty() {
                let _ = write!(path, "&continue={}", quoted(&token));
            }
            let mut list = match self.api.get(&path).await {
                // The list went on for longer than the API server remembers it. It may be gone on with at what
                // is there now, which is all that is wanted here: nothing that stays is left out.
                Err(Trouble::Refused(status)) if status.code == 410 => {
                    let other = status.metadata.as_ref().and_then(|list| list.continue_.clone());
                    self.next = other.filter(|other| !other.is_empty() && *other != token);
                    if self.next.is_none() {
                        return Err(Trouble::Refused(status));
                    }
                    continue;
                }
                other => other?,
            };
            let next = list.pointer("/metadata/continue").and_then(Value::as_str);
            self.next = next.filter(|token| !token.is_empty()).map(str::to_owned);
            return match list.get_mut("items").map(Value::take) {
                Some(Value::Array(items)) => Ok(Some(items)),
                _ => Ok(Some(Vec::new())),
            };
        }
        Ok(None)
    }
}

/// A text of a field of the metadata.
pub(crate) fn text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get(key)?.as_str()
}

/// What people call it: `Certificate shop/web`.
pub(crate) fn name_of(crd: &Crd, object: &Value) -> String {
    let name = text(object, "name").unwrap_or_default();
    match text(object, "namespace") {
        Some(namespace) => format!("{} {namespace}/{name}", crd.kind()),
        None => format!("{} {name}", crd.kind()),
    }
}

/// The hash of what people wrote in an object, with the object's name behind it: once it is gone, nothing else
/// could name it.
pub(crate) fn kept(crd: &Crd, object: &Value) -> String {
    let spec = object.get("spec").cloned().unwrap_or_else(|| rest(object));
    format!("{} {}", ContentHash::of_canonical(&spec), name_of(crd, object))
}

/// All but what the server and controllers write, for kinds without a `spec`.
fn rest(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        for key in ["apiVersion", "kind", "metadata", "status"] {
            fields.remove(key);
        }
    }
    object
}

/// The name behind a hash.
pub(crate) fn name_in(kept: &str) -> &str {
    kept.split_once(' ').map_or("an object", |(_, name)| name)
}

/// The hashes of all objects of a CRD at a version, by uid.
pub(crate) async fn hashes(api: &Api, crd: &Crd, version: &str) -> Result<BTreeMap<String, String>, Trouble> {
    let kind = Kind::of_crd(crd, version);
    let mut all = BTreeMap::new();
    let mut pages = Pages::of(api, &kind);
    while let Some(items) = pages.next().await? {
        for item in &items {
            if let Some(uid) = text(item, "uid") {
                all.insert(uid.to_owned(), kept(crd, item));
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd() -> Crd {
        Crd::from_value(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "boats.sea.dev"},
            "spec": {"group": "sea.dev", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
                "versions": [{"name": "v1", "served": true, "storage": false,
                    "schema": {"openAPIV3Schema": {"type": "object"}}},
                    {"name": "v2", "served": false, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}]}}))
        .unwrap()
    }

    #[test]
    fn a_hash_is_of_what_people_wrote_and_keeps_the_name() {
        let boat = |status: i32, sails: i32| {
            json!({"apiVersion": "sea.dev/v1", "kind": "Boat", "spec": {"sails": sails, "b": 1},
                "metadata": {"name": "a", "namespace": "sea", "resourceVersion": status.to_string()},
                "status": {"knots": status}})
        };
        assert_eq!(kept(&crd(), &boat(1, 2)), kept(&crd(), &boat(2, 2)));
        assert_ne!(kept(&crd(), &boat(1, 2)), kept(&crd(), &boat(1, 3)));
        assert_eq!(name_in(&kept(&crd(), &boat(1, 2))), "Boat sea/a");
        let plain = |x: i32| json!({"metadata": {"name": "a"}, "data": x});
        assert_ne!(kept(&crd(), &plain(1)), kept(&crd(), &plain(2)));
        assert_eq!(readable(&crd()).as_deref(), Some("v1"), "the stored one is not served");
    }
}
