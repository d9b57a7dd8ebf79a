//! Reads the objects of a kind that a controller watches, without asking the API server.

use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::cache::{ObjectKey, Store};

/// The objects of one kind, as they were last heard of.
pub struct Lister<K> {
    store: Arc<Store>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Lister<K> {
    fn clone(&self) -> Self {
        Self { store: Arc::clone(&self.store), kind: PhantomData }
    }
}

impl<K> std::fmt::Debug for Lister<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lister").field("objects", &self.store.len()).finish()
    }
}

impl<K: DeserializeOwned> Lister<K> {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store, kind: PhantomData }
    }

    /// The object of that name. One that does not fit its type is none.
    pub fn get(&self, key: &ObjectKey) -> Option<K> {
        self.store.get(key)?.decode().ok()
    }

    /// Every object that fits its type.
    pub fn all(&self) -> Vec<K> {
        self.store.all().iter().filter_map(|held| held.decode().ok()).collect()
    }

    /// Every object of a namespace that fits its type.
    pub fn in_namespace(&self, namespace: &str) -> Vec<K> {
        let held = self.store.all();
        let here = held.iter().filter(|held| held.key().namespace.as_deref() == Some(namespace));
        here.filter_map(|held| held.decode().ok()).collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.store.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.store.is_empty()
    }
}
