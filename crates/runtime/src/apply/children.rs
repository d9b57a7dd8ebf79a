//! The children that an object should have.

use kube::core::ApiResource;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde_json::Value;

use crate::cache::ObjectKey;
use crate::error::Error;

/// One object that should be there.
#[derive(Debug, Clone)]
pub struct Child {
    pub(super) api: ApiResource,
    pub(super) key: ObjectKey,
    pub(super) wanted: Value,
}

impl Child {
    /// Its name, with its kind, for people.
    pub(super) fn named(&self) -> String {
        format!("{} {}", self.api.kind, self.key)
    }
}

/// Everything that an object should have; what it has beyond that is removed.
#[derive(Debug, Clone, Default)]
pub struct Children {
    pub(super) children: Vec<Child>,
    pub(super) in_any_order: bool,
}

impl Children {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets them be written several at a time, as none needs another to be there: a Namespace must come before
    /// what is in it, a `ConfigMap` need not come before the pods that wait for it. They are written one after
    /// the other, as they were added, unless told.
    #[must_use]
    pub fn in_any_order(mut self) -> Self {
        self.in_any_order = true;
        self
    }

    /// Adds one. Say only what is meant: what is left out belongs to the API server and to others.
    pub fn add<C>(&mut self, child: &C) -> Result<&mut Self, Error>
    where
        C: Resource<DynamicType = ()> + Serialize,
    {
        let api = ApiResource::erase::<C>(&());
        let mut wanted = serde_json::to_value(child).map_err(|error| {
            Error::permanent(format!("writing {} {}", api.kind, child.name_any())).caused_by(error)
        })?;
        if let Value::Object(fields) = &mut wanted {
            fields.insert("apiVersion".to_owned(), api.api_version.clone().into());
            fields.insert("kind".to_owned(), api.kind.clone().into());
            // What the controller of the kind writes is not ours to say.
            fields.remove("status");
        }
        self.children.push(Child { api, key: ObjectKey::of(child), wanted });
        Ok(self)
    }

    /// Adds one, if there is one.
    pub fn add_some<C>(&mut self, child: Option<&C>) -> Result<&mut Self, Error>
    where
        C: Resource<DynamicType = ()> + Serialize,
    {
        match child {
            Some(child) => self.add(child),
            None => Ok(self),
        }
    }
}
