//! One object as it is held.

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::ApiResource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::ObjectKey;
use super::text::Facts;
use crate::apply::APPLIED;

/// An object: the facts that are asked of every one, and the rest as text.
pub struct Held {
    meta: Meta,
    body: Box<str>,
    /// The wish that the object was found to fulfil; zero before any was.
    fulfilled: AtomicU64,
}

/// The facts that are asked of every object.
#[derive(Debug, Clone)]
pub struct Meta {
    /// Namespace and name.
    pub key: ObjectKey,
    /// What tells it from another of the same name.
    pub uid: Box<str>,
    /// How new it is; grows with every write.
    pub version: u64,
    /// Grows with every change of what is wanted.
    pub generation: i64,
    /// Whether its deletion was asked for.
    pub deleting: bool,
    /// Its finalizers.
    pub finalizers: Box<[Box<str>]>,
    /// What owns it and controls it.
    pub controller: Option<Owner>,
    /// A number that changes with its labels.
    pub labels: u64,
    /// A number that changes with its annotations.
    pub annotations: u64,
    /// A number that changes with everything but its version and its status.
    pub content: u64,
    /// What the runtime noted when it last applied it.
    pub applied: Option<Box<str>>,
    /// Its `status.phase`.
    pub phase: Option<Box<str>>,
}

/// What owns and controls an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its API version.
    pub api_version: Arc<str>,
    /// Its kind.
    pub kind: Arc<str>,
    /// Its name.
    pub name: Box<str>,
    /// What tells it from another of the same name.
    pub uid: Box<str>,
}

impl Held {
    /// What is asked of every object.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Its name among those of its kind.
    pub fn key(&self) -> &ObjectKey {
        &self.meta.key
    }

    /// It as its type.
    pub fn decode<K: DeserializeOwned>(&self) -> Result<K, serde_json::Error> {
        serde_json::from_str(&self.body)
    }

    /// An object from the reply to a write.
    pub fn from_reply<K: serde::Serialize>(object: &K) -> Result<Self, serde_json::Error> {
        Self::from_json(&serde_json::to_string(object)?)
    }

    /// An object from its JSON.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        let facts = Facts::of(json)?;
        let (body, content) = facts.kept(json);
        Ok(Self { meta: Meta::of(facts, content), body, fulfilled: AtomicU64::new(0) })
    }

    /// Whether it was found to fulfil the wish with that number, as it is now.
    pub(crate) fn fulfils(&self, wish: u64) -> bool {
        wish != 0 && self.fulfilled.load(Ordering::Relaxed) == wish
    }

    /// Takes down that it fulfils a wish, so that nobody has to look again until one of both changes.
    pub(crate) fn found_to_fulfil(&self, wish: u64) {
        self.fulfilled.store(wish, Ordering::Relaxed);
    }

    /// Takes over what was found of the object before, where nothing but its status changed since.
    pub(super) fn follow(&self, before: &Self) {
        if self.meta.uid == before.meta.uid && self.meta.content == before.meta.content {
            self.found_to_fulfil(before.fulfilled.load(Ordering::Relaxed));
        }
    }
}

impl fmt::Debug for Held {
    /// Without its content, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held")
            .field("key", &self.meta.key)
            .field("version", &self.meta.version)
            .finish_non_exhaustive()
    }
}

/// An object as the watch gives it, with the little that the watch itself reads.
#[derive(Debug, Clone)]
pub(super) struct Arrived {
    pub(super) held: Arc<Held>,
    metadata: ObjectMeta,
}

impl<'de> Deserialize<'de> for Arrived {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: &RawValue = Deserialize::deserialize(deserializer)?;
        let held = Held::from_json(text.get()).map_err(serde::de::Error::custom)?;
        let metadata =
            ObjectMeta { resource_version: Some(held.meta.version.to_string()), ..ObjectMeta::default() };
        Ok(Self { held: Arc::new(held), metadata })
    }
}

impl Meta {
    fn of(facts: Facts<'_>, content: u64) -> Self {
        let (mut annotations, mut applied) = (DefaultHasher::new(), None);
        for (name, value) in facts.annotations() {
            // The runtime's own note is no news to the runtime.
            if name == APPLIED {
                applied = serde_json::from_str(value.get()).ok();
            } else {
                (name, value.get()).hash(&mut annotations);
            }
        }
        let phase = facts.phase();
        let metadata = facts.metadata;
        let controller = metadata
            .owner_references
            .unwrap_or_default()
            .into_iter()
            .find(|owner| owner.controller == Some(true))
            .map(|owner| Owner {
                api_version: owner.api_version.into(),
                kind: owner.kind.into(),
                name: owner.name.into(),
                uid: owner.uid.into(),
            });
        let mut labels = DefaultHasher::new();
        metadata.labels.map(RawValue::get).hash(&mut labels);
        Self {
            key: ObjectKey::new(metadata.namespace.as_deref(), &metadata.name),
            uid: metadata.uid.into(),
            // Every supported API server counts; a version that is no number is older than any.
            version: metadata.resource_version.parse().unwrap_or_default(),
            generation: metadata.generation,
            deleting: metadata.deletion_timestamp.is_some(),
            finalizers: metadata.finalizers.unwrap_or_default().into(),
            controller,
            labels: labels.finish(),
            annotations: annotations.finish(),
            content,
            applied,
            phase,
        }
    }
}

impl Resource for Arrived {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(api: &ApiResource) -> Cow<'_, str> {
        api.kind.as_str().into()
    }

    fn group(api: &ApiResource) -> Cow<'_, str> {
        api.group.as_str().into()
    }

    fn version(api: &ApiResource) -> Cow<'_, str> {
        api.version.as_str().into()
    }

    fn api_version(api: &ApiResource) -> Cow<'_, str> {
        api.api_version.as_str().into()
    }

    fn plural(api: &ApiResource) -> Cow<'_, str> {
        api.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_facts_are_read_and_the_rest_is_kept() {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "42", "generation": 3,
                "finalizers": ["f"], "annotations": {APPLIED: "h"},
                "ownerReferences": [
                    {"apiVersion": "x/v1", "kind": "Other", "name": "o", "uid": "1"},
                    {"apiVersion": "x/v1", "kind": "App", "name": "p", "uid": "2", "controller": true},
                ],
            },
            "data": {"k": "v"}, "status": {"phase": "Running", "more": [1]},
        });
        let held = Held::from_json(&object.to_string()).unwrap();
        let meta = held.meta();
        assert_eq!((meta.version, meta.generation, meta.deleting), (42, 3, false));
        assert_eq!(meta.key, ObjectKey::namespaced("n", "a"));
        assert_eq!(meta.controller.as_ref().map(|owner| &*owner.uid), Some("2"));
        assert_eq!(meta.phase.as_deref(), Some("Running"));
        assert_eq!(meta.applied.as_deref(), Some("h"));
        let map: ConfigMap = held.decode().unwrap();
        assert_eq!(map.data.unwrap()["k"], "v");
    }

    #[test]
    fn an_odd_status_stops_nothing() {
        for status in [json!(null), json!("text"), json!({"phase": 3}), json!([])] {
            let object = json!({"metadata": {"name": "a", "resourceVersion": "1"}, "status": status});
            let held = Held::from_json(&object.to_string()).unwrap();
            assert_eq!(held.meta().phase, None);
        }
    }

    #[test]
    fn what_was_found_holds_until_more_than_the_status_changes() {
        let object = |version: &str, replicas: i32, ready: i32| {
            let object = json!({
                "metadata": {"name": "a", "uid": "u", "resourceVersion": version},
                "spec": {"replicas": replicas}, "status": {"ready": ready},
            });
            Held::from_json(&object.to_string()).unwrap()
        };
        let first = object("1", 2, 0);
        assert!(!first.fulfils(0) && !first.fulfils(7));
        first.found_to_fulfil(7);
        let (ready, scaled) = (object("2", 2, 1), object("3", 3, 1));
        ready.follow(&first);
        assert!(ready.fulfils(7) && !ready.fulfils(8));
        scaled.follow(&ready);
        assert!(!scaled.fulfils(7));
    }

    #[test]
    fn objects_arrive_from_lists_and_watches() {
        let object = json!({"metadata": {"name": "a", "resourceVersion": "4"}});
        // In the order in which the API server writes it.
        let event = format!(r#"{{"type":"ADDED","object":{object}}}"#);
        let event: kube::core::WatchEvent<Arrived> = serde_json::from_str(&event).unwrap();
        assert!(matches!(event, kube::core::WatchEvent::Added(arrived) if arrived.held.meta.version == 4));
        let list = json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [object]}).to_string();
        let list: kube::core::ObjectList<Arrived> = serde_json::from_str(&list).unwrap();
        assert_eq!(list.items[0].held.meta.version, 4);
    }
}
