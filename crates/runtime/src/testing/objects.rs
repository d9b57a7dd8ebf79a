//! Objects in memory, changed by the rules of an API server that reconcilers rely on.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::place::Place;
use super::selector;
use crate::cache::ObjectKey;

/// All objects of a [`FakeServer`](super::FakeServer).
#[derive(Debug, Default)]
pub(super) struct Objects {
    kinds: BTreeMap<(String, String), BTreeMap<ObjectKey, Stored>>,
    version: u64,
    uids: u64,
}

#[derive(Debug, Default)]
struct Stored {
    object: Value,
    /// What each field manager said last, so that an apply can take back what it leaves out.
    said: HashMap<String, Value>,
}

/// What the server does not do, as an API server says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

/// How an object is to be changed.
#[derive(Debug)]
pub(super) enum Change {
    Replace(Value),
    Merge(Value),
    Json(json_patch::Patch),
    Apply { manager: String, wanted: Value },
}

/// Metadata that nobody but the API server sets.
const KEPT: [&str; 6] = ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "generation"];

impl Refusal {
    pub(super) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into() }
    }

    fn not_found(place: &Place) -> Self {
        let Place { resource, name, .. } = place;
        Self::new(404, "NotFound", format!("{resource} {:?} not found", name.as_deref().unwrap_or_default()))
    }

    fn conflict(place: &Place, why: &str) -> Self {
        let Place { resource, name, .. } = place;
        let name = name.as_deref().unwrap_or_default();
        let message = format!("Operation cannot be fulfilled on {resource} {name:?}: {why}");
        Self::new(409, "Conflict", message)
    }
}

impl Objects {
    pub(super) fn get(&self, place: &Place) -> Result<Value, Refusal> {
        self.stored(place).map(|stored| stored.object.clone()).ok_or_else(|| Refusal::not_found(place))
    }

    pub(super) fn list(&self, place: &Place, labels: &str) -> Result<Value, Refusal> {
        let mut items = Vec::new();
        for (key, stored) in self.kinds.get(&kind(place)).into_iter().flatten() {
            if place.namespace.is_some() && key.namespace.as_deref() != place.namespace.as_deref() {
                continue;
            }
            let matches = selector::matches(labels, &stored.object).ok_or_else(|| {
                let message = format!("the selector {labels:?} is more than this stand-in understands");
                Refusal::new(400, "BadRequest", message)
            })?;
            if matches {
                items.push(stored.object.clone());
            }
        }
        Ok(json!({
            "apiVersion": place.api_version(), "kind": "List",
            "metadata": {"resourceVersion": self.version.to_string()}, "items": items,
        }))
    }

    pub(super) fn create(
        &mut self,
        place: &Place,
        manager: &str,
        mut object: Value,
    ) -> Result<Value, Refusal> {
        if !object.is_object() {
            return Err(Refusal::new(400, "BadRequest", "the body is no object"));
        }
        self.uids += 1;
        let said = object.clone();
        let given =
            object["metadata"]["name"].as_str().filter(|name| !name.is_empty()).map(ToOwned::to_owned);
        let prefix = object["metadata"]["generateName"].as_str().map(ToOwned::to_owned);
        let name = match (given, prefix) {
            (Some(name), _) => name,
            (None, Some(prefix)) => format!("{prefix}{:05}", self.uids),
            (None, None) => {
                let message = "name or generateName is required";
                return Err(Refusal::new(422, "Invalid", message));
            }
        };
        let key = ObjectKey::new(place.namespace.as_deref(), &name);
        if self.kinds.get(&kind(place)).is_some_and(|known| known.contains_key(&key)) {
            let message = format!("{} {name:?} already exists", place.resource);
            return Err(Refusal::new(409, "AlreadyExists", message));
        }
        self.version += 1;
        if let Value::Object(fields) = &mut object {
            // A status is written through its own door.
            fields.remove("status");
        }
        let metadata = &mut object["metadata"];
        metadata["name"] = name.into();
        if let Some(namespace) = &place.namespace {
            metadata["namespace"] = namespace.as_str().into();
        }
        metadata["uid"] = format!("uid-{}", self.uids).into();
        metadata["resourceVersion"] = self.version.to_string().into();
        metadata["generation"] = 1.into();
        metadata["creationTimestamp"] = now().into();
        let stored = Stored { object: object.clone(), said: HashMap::from([(manager.to_owned(), said)]) };
        self.kinds.entry(kind(place)).or_default().insert(key, stored);
        Ok(object)
    }

    pub(super) fn change(&mut self, place: &Place, change: Change) -> Result<Value, Refusal> {
        let Some(stored) = self.stored(place) else {
            return match change {
                Change::Apply { manager, wanted } if wanted["metadata"]["uid"].is_null() => {
                    self.create(place, &manager, wanted)
                }
                Change::Apply { .. } => Err(Refusal::conflict(place, "it does not exist any more")),
                _ => Err(Refusal::not_found(place)),
            };
        };
        let old = stored.object.clone();
        let mut new = old.clone();
        match &change {
            Change::Replace(wanted) => {
                fits(place, &old, wanted)?;
                new = wanted.clone();
            }
            Change::Merge(patch) => {
                fits(place, &old, patch)?;
                json_patch::merge(&mut new, patch);
            }
            Change::Json(patch) => json_patch::patch(&mut new, patch).map_err(|error| {
                Refusal::new(422, "Invalid", format!("the patch does not apply: {error}"))
            })?,
            Change::Apply { manager, wanted } => {
                fits(place, &old, wanted)?;
                if let Some(said) = stored.said.get(manager) {
                    take_back(&mut new, said, wanted);
                }
                json_patch::merge(&mut new, wanted);
            }
        }
        let new = self.settle(place, &old, new);
        if let (Change::Apply { manager, wanted }, Some(stored)) = (change, self.stored_mut(place)) {
            stored.said.insert(manager, wanted);
        }
        Ok(new)
    }

    pub(super) fn delete(&mut self, place: &Place, options: &Value) -> Result<Value, Refusal> {
        let old = self.get(place)?;
        fits(place, &old, &json!({"metadata": options["preconditions"]}))?;
        let held = old["metadata"]["finalizers"].as_array().is_some_and(|names| !names.is_empty());
        if !held {
            self.version += 1;
            self.kinds.entry(kind(place)).or_default().remove(&key(place));
            return Ok(json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Success"}));
        }
        let mut new = old.clone();
        if new["metadata"]["deletionTimestamp"].is_null() {
            self.version += 1;
            new["metadata"]["deletionTimestamp"] = now().into();
            new["metadata"]["resourceVersion"] = self.version.to_string().into();
            if let Some(stored) = self.stored_mut(place) {
                stored.object = new.clone();
            }
        }
        Ok(new)
    }

    /// Keeps what is not to be changed this way, counts, and lets go what waited for its last finalizer.
    fn settle(&mut self, place: &Place, old: &Value, mut new: Value) -> Value {
        if place.subresource.as_deref() == Some("status") {
            let status = new["status"].take();
            new = old.clone();
            new["status"] = status;
        } else {
            new["status"] = old["status"].clone();
        }
        for name in KEPT {
            new["metadata"][name] = old["metadata"][name].clone();
        }
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
        drop_nulls(&mut new);
        if new == *old {
            return new;
        }
        if wish(&new) != wish(old) {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
            new["metadata"]["generation"] = (generation + 1).into();
        }
        self.version += 1;
        new["metadata"]["resourceVersion"] = self.version.to_string().into();
        let free = new["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty);
        if free && !new["metadata"]["deletionTimestamp"].is_null() {
            self.kinds.entry(kind(place)).or_default().remove(&key(place));
        } else if let Some(stored) = self.stored_mut(place) {
            stored.object = new.clone();
        }
        new
    }

    fn stored(&self, place: &Place) -> Option<&Stored> {
        self.kinds.get(&kind(place))?.get(&key(place))
    }

    fn stored_mut(&mut self, place: &Place) -> Option<&mut Stored> {
        self.kinds.get_mut(&kind(place))?.get_mut(&key(place))
    }
}

fn kind(place: &Place) -> (String, String) {
    (place.group.clone(), place.resource.clone())
}

fn key(place: &Place) -> ObjectKey {
    ObjectKey::new(place.namespace.as_deref(), place.name.as_deref().unwrap_or_default())
}

fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Whether a change was made from the object as it is, where it says what it was made from.
fn fits(place: &Place, old: &Value, change: &Value) -> Result<(), Refusal> {
    for (name, why) in [
        ("uid", "the object is another one of the same name"),
        ("resourceVersion", "the object has been modified; please apply your changes to the latest version"),
    ] {
        let said = change["metadata"][name].as_str().filter(|said| !said.is_empty());
        if said.is_some_and(|said| old["metadata"][name] != said) {
            return Err(Refusal::conflict(place, why));
        }
    }
    Ok(())
}

/// Removes what was said and is not wanted any more.
fn take_back(live: &mut Value, said: &Value, wanted: &Value) {
    let (Value::Object(live), Value::Object(said)) = (live, said) else { return };
    for (name, below) in said {
        match (live.get_mut(name), wanted.get(name)) {
            (Some(live), Some(wanted)) => take_back(live, below, wanted),
            (Some(_), None) => {
                live.remove(name);
            }
            (None, _) => {}
        }
    }
}

/// What counts for the generation: all but metadata and status.
fn wish(object: &Value) -> Map<String, Value> {
    let mut fields = object.as_object().cloned().unwrap_or_default();
    fields.remove("metadata");
    fields.remove("status");
    fields
}

/// Setting a field to what it was not leaves a null, which an API server does not keep.
fn drop_nulls(object: &mut Value) {
    if let Value::Object(fields) = object {
        fields.retain(|_, value| !value.is_null());
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.retain(|_, value| !value.is_null());
        }
    }
}

#[cfg(test)]
#[path = "objects_tests.rs"]
mod tests;
