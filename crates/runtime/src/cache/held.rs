//! One object as it is held.

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use kube::Resource;
use kube::core::ApiResource;
use serde::de::{DeserializeOwned, DeserializeSeed};
use serde::{Deserialize, Deserializer};

use super::ObjectKey;
use super::transcode::Transcode;
use crate::apply::APPLIED;

/// An object: the facts that are asked of every one, and the rest as bytes.
#[derive(Clone)]
pub struct Held {
    meta: Meta,
    body: Box<[u8]>,
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

/// The few fields that are read of every object; unknown ones are skipped without being kept.
#[derive(Deserialize)]
struct Facts<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
    #[serde(default)]
    status: Phase,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(borrow, default)]
    resource_version: Cow<'a, str>,
    #[serde(default)]
    generation: i64,
    #[serde(default)]
    deletion_timestamp: Option<Time>,
    #[serde(default)]
    finalizers: Option<Vec<Box<str>>>,
    #[serde(default)]
    owner_references: Option<Vec<OwnerReference>>,
    #[serde(default)]
    labels: Option<std::collections::BTreeMap<String, String>>,
    #[serde(default)]
    annotations: Option<std::collections::BTreeMap<String, String>>,
}

/// A phase that is no text is none.
#[derive(Default)]
struct Phase(Option<Box<str>>);

impl<'de> Deserialize<'de> for Phase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Any {
            Text(Box<str>),
            Other(serde::de::IgnoredAny),
        }
        #[derive(Deserialize)]
        struct Status {
            phase: Option<Any>,
        }
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Whole {
            Status(Status),
            Other(serde::de::IgnoredAny),
        }
        Ok(match Whole::deserialize(deserializer)? {
            Whole::Status(Status { phase: Some(Any::Text(phase)) }) => Self(Some(phase)),
            Whole::Status(Status { phase: Some(Any::Other(_)) | None }) | Whole::Other(_) => Self(None),
        })
    }
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
        serde_json::from_slice(&self.body)
    }

    /// An object from the reply to a write.
    pub fn from_reply<K: serde::Serialize>(object: &K) -> Result<Self, serde_json::Error> {
        Self::from_json(&serde_json::to_vec(object)?)
    }

    /// An object from its JSON.
    pub fn from_json(json: &[u8]) -> Result<Self, serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_slice(json);
        Arrived::deserialize(&mut reader).map(|arrived| arrived.held)
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
    pub(super) held: Held,
    metadata: ObjectMeta,
}

impl<'de> Deserialize<'de> for Arrived {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut body = Vec::with_capacity(2048);
        Transcode::object(&mut body).deserialize(deserializer)?;
        let facts: Facts<'_> = serde_json::from_slice(&body).map_err(serde::de::Error::custom)?;
        let meta = Meta::of(facts);
        let metadata =
            ObjectMeta { resource_version: Some(meta.version.to_string()), ..ObjectMeta::default() };
        Ok(Self { held: Held { meta, body: body.into_boxed_slice() }, metadata })
    }
}

impl Meta {
    fn of(Facts { metadata, status }: Facts<'_>) -> Self {
        let annotations = metadata.annotations.unwrap_or_default();
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
        // The runtime's own note is no news to the runtime.
        let told = annotations.iter().filter(|(name, _)| name.as_str() != APPLIED);
        Self {
            key: ObjectKey::new(metadata.namespace.as_deref(), &metadata.name),
            uid: metadata.uid.into(),
            // Every supported API server counts; a version that is no number is older than any.
            version: metadata.resource_version.parse().unwrap_or_default(),
            generation: metadata.generation,
            deleting: metadata.deletion_timestamp.is_some(),
            finalizers: metadata.finalizers.unwrap_or_default().into(),
            controller,
            labels: number_of(metadata.labels.unwrap_or_default().iter()),
            annotations: number_of(told),
            applied: annotations.get(APPLIED).map(|noted| noted.as_str().into()),
            phase: status.0,
        }
    }
}

fn number_of<'a>(entries: impl Iterator<Item = (&'a String, &'a String)>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for entry in entries {
        entry.hash(&mut hasher);
    }
    hasher.finish()
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
        let held = Held::from_json(object.to_string().as_bytes()).unwrap();
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
            let held = Held::from_json(object.to_string().as_bytes()).unwrap();
            assert_eq!(held.meta().phase, None);
        }
    }
}
