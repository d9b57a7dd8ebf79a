//! What a webhook is asked about.

use kube::core::{GroupVersionKind, GroupVersionResource};
use serde::{Deserialize, Serialize};

/// What somebody wants to do with an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// Create it.
    Create,
    /// Change it.
    Update,
    /// Delete it.
    Delete,
    /// Connect to it, as `kubectl exec` does.
    Connect,
}

impl Operation {
    /// As Kubernetes writes it: `CREATE`, `UPDATE`, `DELETE`, `CONNECT`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// Who wants it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// The user's name, such as `system:serviceaccount:apps:deployer`.
    pub name: String,
    /// The user's groups.
    pub groups: Vec<String>,
}

/// A request that a webhook judges, with the object decoded as `K`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Review<K> {
    /// What is to be done.
    pub operation: Operation,
    /// The object as it would become; none when it is deleted.
    pub object: Option<K>,
    /// The object as it is; none when it is created.
    pub old: Option<K>,
    /// The namespace, if the object has one.
    pub namespace: Option<String>,
    /// The name; empty while the API server has yet to generate it.
    pub name: String,
    /// Who asks.
    pub user: User,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// The kind of the object.
    pub kind: GroupVersionKind,
    /// The resource of the object.
    pub resource: GroupVersionResource,
    /// The subresource, such as `status`, if one is addressed.
    pub subresource: Option<String>,
}

impl<K: kube::Resource<DynamicType = ()>> Review<K> {
    /// A request to create an object, for tests of a webhook.
    pub fn create(object: K) -> Self {
        Self::of(Operation::Create, Some(object), None)
    }

    /// A request to change an object, for tests of a webhook.
    pub fn update(old: K, object: K) -> Self {
        Self::of(Operation::Update, Some(object), Some(old))
    }

    /// A request to delete an object, for tests of a webhook.
    pub fn delete(old: K) -> Self {
        Self::of(Operation::Delete, None, Some(old))
    }

    fn of(operation: Operation, object: Option<K>, old: Option<K>) -> Self {
        let meta = object.as_ref().or(old.as_ref()).map(kube::Resource::meta);
        let (group, version) = (K::group(&()).into_owned(), K::version(&()).into_owned());
        Self {
            operation,
            namespace: meta.and_then(|meta| meta.namespace.clone()),
            name: meta.and_then(|meta| meta.name.clone()).unwrap_or_default(),
            user: User::default(),
            dry_run: false,
            kind: GroupVersionKind::gvk(&group, &version, &K::kind(&())),
            resource: GroupVersionResource::gvr(&group, &version, &K::plural(&())),
            subresource: None,
            object,
            old,
        }
    }
}
