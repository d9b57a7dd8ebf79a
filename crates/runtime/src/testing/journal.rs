//! What was sent to an API server.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use http::Method;
use serde_json::Value;

use super::place::Place;
use crate::client::RequestInfo;

/// One request, and how it was answered.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Sent {
    /// `get`, `list`, `watch`, `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource with its subresource, such as `configmaps` or `greetings/status`.
    pub resource: String,
    /// The namespace, if one is named.
    pub namespace: Option<String>,
    /// The object's name; that in the body when it is created.
    pub name: Option<String>,
    /// What was sent; null if nothing was.
    pub body: Value,
    /// The HTTP status of the answer; 0 when none came.
    pub status: u16,
}

impl Sent {
    pub(super) fn new(method: &Method, path: &str, query: Option<&str>, body: &[u8]) -> Self {
        let RequestInfo { verb, group, resource } = RequestInfo::of(method, path, query);
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let place = Place::of(path);
        let named = place.as_ref().and_then(|place| place.name.clone());
        Self {
            verb,
            group,
            resource,
            namespace: place.and_then(|place| place.namespace),
            name: named.or_else(|| body["metadata"]["name"].as_str().map(ToOwned::to_owned)),
            body,
            status: 0,
        }
    }

    /// Whether it asks for a change.
    pub fn is_write(&self) -> bool {
        matches!(self.verb, "create" | "update" | "patch" | "delete")
    }

    /// Events are written on the side, when there is time; in a record they would come and go.
    fn is_event(&self) -> bool {
        self.resource == "events"
    }
}

/// Such as `create configmaps default/world → 201`.
impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}")?,
            (Some(namespace), None) => write!(f, " in {namespace}")?,
            (None, Some(name)) => write!(f, " {name}")?,
            (None, None) => {}
        }
        write!(f, " → {}", self.status)
    }
}

/// The requests of a while. Clones are the same journal.
#[derive(Debug, Clone, Default)]
pub(super) struct Journal {
    sent: Arc<Mutex<Vec<Sent>>>,
}

impl Journal {
    pub(super) fn add(&self, sent: Sent) {
        if !sent.is_event() {
            self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
        }
    }

    pub(super) fn all(&self) -> Vec<Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn take(&self) -> Vec<Sent> {
        std::mem::take(&mut self.sent.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
