//! The name of an object among those of its kind.

use std::fmt;
use std::sync::Arc;

use kube::{Resource, ResourceExt};

/// Namespace and name of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Its namespace; none for what belongs to the whole cluster.
    pub namespace: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// The key of an object in a namespace.
    pub fn namespaced(namespace: &str, name: &str) -> Self {
        Self { namespace: Some(namespace.into()), name: name.into() }
    }

    /// The key of an object that belongs to the whole cluster.
    pub fn cluster(name: &str) -> Self {
        Self { namespace: None, name: name.into() }
    }

    /// The key of an object.
    pub fn of<K: Resource>(object: &K) -> Self {
        Self::new(object.namespace().as_deref(), &object.name_any())
    }

    /// The key with that namespace, if there is one.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        Self {
            namespace: namespace.filter(|namespace| !namespace.is_empty()).map(Into::into),
            name: name.into(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
