//! What a reconcile has at hand.

use std::marker::PhantomData;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::core::ApiResource;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;

use super::Surroundings;
use crate::apply::{Applied, Children, Parent};
use crate::cache::ObjectKey;
use crate::error::Error;
use crate::events::Note;
use crate::metrics::Metrics;

/// What a reconcile of one object has at hand.
pub struct Context<K> {
    pub(super) parent: Parent,
    pub(super) around: Arc<Surroundings>,
    pub(super) kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Context<K> {
    fn clone(&self) -> Self {
        Self { parent: self.parent.clone(), around: Arc::clone(&self.around), kind: PhantomData }
    }
}

impl<K> std::fmt::Debug for Context<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("object", &self.parent.key).finish_non_exhaustive()
    }
}

impl<K> Context<K> {
    pub(super) fn new(parent: Parent, around: Arc<Surroundings>) -> Self {
        Self { parent, around, kind: PhantomData }
    }

    /// The name of the object.
    pub fn key(&self) -> &ObjectKey {
        &self.parent.key
    }

    /// A client whose writes go through only while this process leads.
    pub fn client(&self) -> Client {
        self.around.client.clone()
    }

    /// The operator's metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.around.metrics
    }

    /// Brings the object's children to what they should be: makes what is missing, puts right what differs,
    /// removes what it had before and should have no more, and writes nothing where nothing differs.
    pub async fn apply(&self, children: Children) -> Result<Applied, Error> {
        let applied = self.around.applier.apply(&self.parent, children).await?;
        for correction in &applied.corrected {
            let what: Vec<_> = correction.differences.iter().take(3).map(ToString::to_string).collect();
            let who = if correction.by.is_empty() {
                String::new()
            } else {
                format!(", set by {}", correction.by.join(", "))
            };
            self.event(Note::warning(
                "DriftCorrected",
                format!(
                    "{} was changed by somebody else and put right: {}{who}",
                    correction.child,
                    what.join("; ")
                ),
            ));
        }
        Ok(applied)
    }

    /// A child or another watched object in the object's own namespace, as it was last heard of.
    pub fn get<C>(&self, name: &str) -> Result<Option<C>, Error>
    where
        C: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let key = ObjectKey { namespace: self.parent.key.namespace.clone(), name: name.into() };
        self.read(&key)
    }

    /// A watched object anywhere, as it was last heard of.
    pub fn read<C>(&self, key: &ObjectKey) -> Result<Option<C>, Error>
    where
        C: Resource<DynamicType = ()> + DeserializeOwned,
    {
        self.decoded::<C, C>(key)
    }

    fn decoded<C, T>(&self, key: &ObjectKey) -> Result<Option<T>, Error>
    where
        C: Resource<DynamicType = ()>,
        T: DeserializeOwned,
    {
        let api = ApiResource::erase::<C>(&());
        let store = self.around.store(&api).ok_or_else(|| not_watched(&api))?;
        let Some(held) = store.get(key) else { return Ok(None) };
        held.decode().map(Some).map_err(|error| {
            Error::transient(format!("reading {} {key} as what it should be", api.kind)).caused_by(error)
        })
    }

    /// A part of a child or another watched object of the kind `C` in the object's own namespace, as it was last
    /// heard of. `T` has the fields that matter; the others are passed over, which is cheaper than the whole.
    pub fn part<C, T>(&self, name: &str) -> Result<Option<T>, Error>
    where
        C: Resource<DynamicType = ()>,
        T: DeserializeOwned,
    {
        let key = ObjectKey { namespace: self.parent.key.namespace.clone(), name: name.into() };
        self.decoded::<C, T>(&key)
    }

    /// What the object controls of a kind, as it was last heard of.
    pub fn owned<C>(&self) -> Result<Vec<C>, Error>
    where
        C: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let api = ApiResource::erase::<C>(&());
        let store = self.around.store(&api).ok_or_else(|| not_watched(&api))?;
        let held = store.controlled_by(&self.parent.uid);
        Ok(held.iter().filter_map(|held| held.decode().ok()).collect())
    }

    /// Tells something about the object to whoever looks at it.
    pub fn event(&self, note: Note) {
        self.around.tell(&self.reference(), note);
    }

    /// The object, as an Event names it.
    pub fn reference(&self) -> ObjectReference {
        reference(&self.parent)
    }
}

pub(super) fn reference(parent: &Parent) -> ObjectReference {
    ObjectReference {
        api_version: Some(parent.api.api_version.clone()),
        kind: Some(parent.api.kind.clone()),
        name: Some(parent.key.name.to_string()),
        namespace: parent.key.namespace.as_deref().map(ToOwned::to_owned),
        uid: Some(parent.uid.to_string()),
        ..ObjectReference::default()
    }
}

fn not_watched(api: &ApiResource) -> Error {
    Error::permanent(format!(
        "the controller does not watch {kind}; add `.owns::<{kind}>()` or `.watches::<{kind}>(…)` to it",
        kind = api.kind
    ))
}
