//! Brings the children of one object to what they should be.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube::core::ApiResource;
use serde_json::{Value, json};

use super::children::Child;
use super::compare::{Difference, differences};
use super::note::Note;
use super::{APPLIED, Children, Requests, managers};
use crate::cache::{Held, Meta, ObjectKey, Store};
use crate::error::{Category, Error};

/// How often a write is tried again on fresh data before the object takes its place in the queue again.
const ATTEMPTS: usize = 4;
/// When to look again at a child whose deletion takes its time, should no event tell.
const DELETION_LOOK: Duration = Duration::from_secs(5);

/// How many children of one object are written at the same time, where their order does not matter.
const AT_ONCE: usize = 4;

/// Of how many children it is remembered what the API server keeps in its own words.
const QUIRKS: usize = 10_000;

/// Brings children to what they should be, in the name of one controller.
pub struct Applier {
    requests: Requests,
    stores: HashMap<ApiKey, (ApiResource, Arc<Store>)>,
    labels: BTreeMap<String, String>,
    /// What the API server keeps in its own words, by the uid of the child: no reason to write again.
    quirks: Mutex<Quirks>,
}

/// What is believed of how a child came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// What the note on it says.
    Note,
    /// Nothing but the books of its field managers: somebody may have written the note.
    Books,
}

/// What came of a look at a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// It is what it should be.
    Fulfilled,
    /// It was written.
    Written,
}

/// By the uid of a child: what was wanted when it was last written, and how the reply differed from it.
type Quirks = HashMap<Box<str>, (Note, Vec<Difference>)>;

/// Group and kind, however the version reads.
type ApiKey = (String, String);

/// The object whose children they are.
#[derive(Debug, Clone)]
pub struct Parent {
    /// Its kind.
    pub api: ApiResource,
    /// Its name.
    pub key: ObjectKey,
    /// What tells it from another of the same name.
    pub uid: Box<str>,
}

/// A child that somebody else had changed and that was put right.
#[derive(Debug, Clone)]
pub struct Correction {
    /// The child, such as `Deployment shop/web`.
    pub child: String,
    /// What was wrong.
    pub differences: Vec<Difference>,
    /// Who had set it, as far as the API server knows.
    pub by: Vec<String>,
}

/// What was done.
#[derive(Debug, Clone, Default)]
pub struct Applied {
    /// Children that were made.
    pub created: Vec<String>,
    /// Children that were brought to what is wanted now.
    pub updated: Vec<String>,
    /// Children that somebody else had changed.
    pub corrected: Vec<Correction>,
    /// Children that are wanted no more.
    pub pruned: Vec<String>,
}

impl Applied {
    fn add(&mut self, other: Self) {
        self.created.extend(other.created);
        self.updated.extend(other.updated);
        self.corrected.extend(other.corrected);
        self.pruned.extend(other.pruned);
    }

    /// Whether nothing had to be written.
    pub fn is_nothing(&self) -> bool {
        self.created.is_empty()
            && self.updated.is_empty()
            && self.corrected.is_empty()
            && self.pruned.is_empty()
    }
}

impl Applier {
    /// Writes with `requests`, reads what `stores` hold, and labels every child.
    pub(crate) fn new(
        requests: Requests,
        stores: impl IntoIterator<Item = (ApiResource, Arc<Store>)>,
        labels: BTreeMap<String, String>,
    ) -> Self {
        let stores = stores.into_iter().map(|(api, store)| (api_key(&api), (api, store))).collect();
        Self { requests, stores, labels, quirks: Mutex::default() }
    }

    /// The store of a kind of child.
    pub(crate) fn store(&self, api: &ApiResource) -> Option<&Arc<Store>> {
        self.stores.get(&api_key(api)).map(|(_, store)| store)
    }

    /// Brings all children of `parent` to what they should be, and removes those it should not have.
    ///
    /// A child that cannot be written does not keep the others from being written; the error names all that
    /// failed. Nothing is removed unless everything that is wanted is there.
    pub async fn apply(&self, parent: &Parent, children: Children) -> Result<Applied, Error> {
        let mut applied = Applied::default();
        let mut wanted = HashSet::new();
        let mut failed: Option<Error> = None;
        let at_once = if children.in_any_order { AT_ONCE } else { 1 };
        let dressed: Result<Vec<_>, _> =
            children.children.into_iter().map(|child| self.dress(parent, child)).collect();
        let dressed = dressed?;
        wanted.extend(dressed.iter().map(|child| (api_key(&child.api), child.key.clone())));
        let brought = dressed.into_iter().map(|child| self.bring(parent, child));
        let mut brought = futures::stream::iter(brought).buffered(at_once);
        while let Some((part, result)) = brought.next().await {
            applied.add(part);
            if let Err(error) = result {
                if error.category() == Category::NotLeader {
                    return Err(error);
                }
                failed = Some(together(failed, error));
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        self.prune(parent, &wanted, &mut applied).await?;
        Ok(applied)
    }

    /// Gives a child its place: namespace, owner, labels.
    fn dress(&self, parent: &Parent, mut child: Child) -> Result<Child, Error> {
        if child.key.namespace.is_none() {
            child.key.namespace.clone_from(&parent.key.namespace);
        }
        if parent.key.namespace.is_some() && child.key.namespace != parent.key.namespace {
            return Err(Error::permanent(format!(
                "{} is in another namespace than {} {}; owners and what they own share one",
                child.named(),
                parent.api.kind,
                parent.key
            )));
        }
        let metadata = &mut child.wanted["metadata"];
        metadata["name"] = Value::from(&*child.key.name);
        if let Some(namespace) = &child.key.namespace {
            metadata["namespace"] = Value::from(&**namespace);
        }
        metadata["ownerReferences"] = json!([{
            "apiVersion": parent.api.api_version, "kind": parent.api.kind, "name": &*parent.key.name,
            "uid": &*parent.uid, "controller": true, "blockOwnerDeletion": true,
        }]);
        for (name, value) in &self.labels {
            if metadata["labels"].get(name).is_none() {
                metadata["labels"][name] = Value::from(value.as_str());
            }
        }
        Ok(child)
    }

    /// What was done for a child, and whether that was all there is to do.
    async fn bring(&self, parent: &Parent, child: Child) -> (Applied, Result<(), Error>) {
        let mut applied = Applied::default();
        let result = self.attempt(parent, &child, &mut applied).await;
        (applied, result)
    }

    async fn attempt(&self, parent: &Parent, child: &Child, applied: &mut Applied) -> Result<(), Error> {
        let store = self.store(&child.api).ok_or_else(|| {
            Error::permanent(format!(
                "{}: add `.owns::<{}>()` to the controller",
                child.named(),
                child.api.kind
            ))
        })?;
        let wish = number_of(&child.wanted);
        let mut last = None;
        let mut trust = Trust::Note;
        for _ in 0..ATTEMPTS {
            let live = store.get(&child.key);
            let attempt = match &live {
                None => self.create(child, store, applied).await,
                Some(live) if live.fulfils(wish) => return Ok(()),
                Some(live) => self.update(parent, child, store, live, trust, applied).await,
            };
            match attempt {
                Ok(Found::Fulfilled) => {
                    if let Some(live) = &live {
                        live.found_to_fulfil(wish);
                    }
                    return Ok(());
                }
                Ok(Found::Written) => return Ok(()),
                // What the creation set and nobody wants any more may be in the way.
                Err(error)
                    if error.category() == Category::Permanent && live.is_some() && trust == Trust::Note =>
                {
                    trust = Trust::Books;
                    last = Some(error);
                }
                Err(error) if error.category() == Category::Conflict && is_stale(&error) => {
                    self.refresh(&child.api, &child.key, store).await?;
                    last = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::transient(format!("writing {}", child.named()))))
    }

    async fn create(&self, child: &Child, store: &Store, applied: &mut Applied) -> Result<Found, Error> {
        let mut body = child.wanted.clone();
        note(&mut body, &Note::of(&child.wanted, true));
        let reply = self.requests.create(&child.api, &child.key, &body).await;
        let held = reply.map_err(|error| Error::kube(format!("creating {}", child.named()), error))?;
        self.learn(child, &held, Note::of(&child.wanted, true));
        store.wrote(held);
        applied.created.push(child.named());
        Ok(Found::Written)
    }

    async fn update(
        &self,
        parent: &Parent,
        child: &Child,
        store: &Store,
        live: &Held,
        trust: Trust,
        applied: &mut Applied,
    ) -> Result<Found, Error> {
        let meta = live.meta();
        if meta.controller.as_ref().is_none_or(|owner| owner.uid != parent.uid) {
            return Err(taken(parent, child, live));
        }
        if meta.deleting {
            return Err(Error::not_ready(format!("{} is still being deleted", child.named()), DELETION_LOOK));
        }
        let known = meta.applied.as_deref().and_then(Note::parse);
        // Whoever takes the note away takes away what it says of the books, too: they are looked into then.
        let created = trust == Trust::Books || known.as_ref().is_none_or(|known| known.created);
        let mut wanted_note = Note::of(&child.wanted, created);
        let same_wish = known.as_ref().is_some_and(|known| known.wants_the_same(&wanted_note));
        let content: Value = live.decode().map_err(|error| {
            Error::transient(format!("reading {} as it is", child.named())).caused_by(error)
        })?;
        let mut drift = differences(&child.wanted, &content);
        if same_wish {
            self.forgive(&meta.uid, &wanted_note, &mut drift);
            if drift.is_empty() {
                return Ok(Found::Fulfilled);
            }
        }

        let same_fields = trust == Trust::Note
            && known.as_ref().is_some_and(|known| known.created && known.wants_the_same_fields(&wanted_note));
        if same_fields
            && !same_wish
            && let Some(change) = other_values(meta, &drift, &wanted_note)
        {
            let reply = self.requests.json(&child.api, &child.key, &change).await;
            let held = reply.map_err(|error| Error::kube(format!("changing {}", child.named()), error))?;
            self.learn(child, &held, wanted_note);
            store.wrote(held);
            applied.updated.push(child.named());
            return Ok(Found::Written);
        }

        let mut version = meta.version.to_string();
        let mut body = child.wanted.clone();
        note(&mut body, &wanted_note);
        if wanted_note.created
            && !same_wish
            && let Some(held) = self.take_over(child, &body, &version).await?
        {
            version = held.meta().version.to_string();
            wanted_note.created = false;
            note(&mut body, &wanted_note);
            store.wrote(held);
        }

        body["metadata"]["uid"] = Value::from(&*meta.uid);
        body["metadata"]["resourceVersion"] = Value::from(version);
        let mut by = Vec::new();
        let mut reply = self.requests.apply(&child.api, &child.key, &body, false).await;
        if let Err(kube::Error::Api(status)) = &reply {
            by = holders(status);
            if !by.is_empty() {
                tracing::info!(child = %child.named(), held_by = by.join(", "), "taking back fields that somebody else set");
                reply = self.requests.apply(&child.api, &child.key, &body, true).await;
            }
        }
        let held = reply.map_err(|error| Error::kube(format!("applying {}", child.named()), error))?;
        self.learn(child, &held, wanted_note);
        store.wrote(held);
        if same_wish {
            applied.corrected.push(Correction { child: child.named(), differences: drift, by });
        } else {
            applied.updated.push(child.named());
        }
        Ok(Found::Written)
    }

    /// Has the API server book what the creation set as applied, if there is something in it that is not
    /// wanted any more and would stay otherwise.
    async fn take_over(&self, child: &Child, body: &Value, version: &str) -> Result<Option<Held>, Error> {
        let read = self.requests.get(&child.api, &child.key).await;
        let read = read.map_err(|error| Error::kube(format!("reading {}", child.named()), error))?;
        let whole = read
            .filter(|whole| whole["metadata"]["resourceVersion"] == version)
            .ok_or_else(|| stale(child))?;
        let manager = self.requests.manager();
        if !managers::holds_more_than(&whole, manager, body) {
            return Ok(None);
        }
        let Some(change) = managers::as_applied(&whole, manager) else { return Ok(None) };
        match self.requests.json(&child.api, &child.key, &change).await {
            Ok(held) => Ok(Some(held)),
            // The patch tests the version it was made from; this is how a test fails.
            Err(kube::Error::Api(status)) if status.code == 422 => Err(stale(child)),
            Err(error) => Err(Error::kube(format!("taking over {}", child.named()), error)),
        }
    }

    /// Reads a child afresh, since what was known of it is old.
    async fn refresh(&self, api: &ApiResource, key: &ObjectKey, store: &Store) -> Result<(), Error> {
        let read = self.requests.get(api, key).await;
        match read.map_err(|error| Error::kube(format!("reading {} {key}", api.kind), error))? {
            Some(object) => {
                let held = Held::from_reply(&object).map_err(|error| {
                    Error::transient(format!("reading {} {key} as it is", api.kind)).caused_by(error)
                })?;
                store.wrote(held);
            }
            None => store.lost(key),
        }
        Ok(())
    }

    async fn prune(
        &self,
        parent: &Parent,
        wanted: &HashSet<(ApiKey, ObjectKey)>,
        applied: &mut Applied,
    ) -> Result<(), Error> {
        for (kind, (api, store)) in &self.stores {
            for held in store.controlled_by(&parent.uid) {
                let meta = held.meta();
                // Without a note it is not of our making, whoever it names as its owner.
                if meta.deleting
                    || meta.applied.is_none()
                    || wanted.contains(&(kind.clone(), meta.key.clone()))
                {
                    continue;
                }
                let named = format!("{} {}", api.kind, meta.key);
                match self.requests.delete(api, meta).await {
                    Ok(()) => applied.pruned.push(named),
                    Err(kube::Error::Api(status)) if status.code == 404 => store.lost(&meta.key),
                    Err(kube::Error::Api(status)) if status.code == 409 => {
                        // The next turn judges it as it is now.
                        self.refresh(api, &meta.key, store).await?;
                        let message = format!("removing {named}: it changed meanwhile");
                        return Err(Error::new(Category::Conflict, "Conflict", message));
                    }
                    Err(error) => return Err(Error::kube(format!("removing {named}"), error)),
                }
            }
        }
        Ok(())
    }

    /// Remembers what the API server made of a child, where that is not what was wanted.
    fn learn(&self, child: &Child, held: &Held, note: Note) {
        let Ok(content) = held.decode::<Value>() else { return };
        let left = differences(&child.wanted, &content);
        let mut quirks = self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        if left.is_empty() {
            quirks.remove(&held.meta().uid);
            return;
        }
        for difference in &left {
            tracing::debug!(child = %child.named(), %difference, "the API server keeps this in its own words");
        }
        // Children come and go; what is forgotten costs one write when it is met again.
        if quirks.len() >= QUIRKS {
            quirks.clear();
        }
        quirks.insert(held.meta().uid.clone(), (note, left));
    }

    /// Takes those differences out that were there right after the last write.
    fn forgive(&self, uid: &str, note: &Note, drift: &mut Vec<Difference>) {
        let quirks = self.quirks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, left)) = quirks.get(uid)
            && known.wants_the_same(note)
        {
            drift.retain(|difference| !left.contains(difference));
        }
    }
}

/// A number that changes with a wish, and is never zero.
fn number_of(wanted: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    wanted.hash(&mut hasher);
    hasher.finish().max(1)
}

fn api_key(api: &ApiResource) -> ApiKey {
    (api.group.clone(), api.kind.clone())
}

fn note(body: &mut Value, note: &Note) {
    body["metadata"]["annotations"][APPLIED] = Value::from(note.text());
}

/// The change that gives a child the wanted values where it has all the wanted fields already: they stay in
/// the books as they are, so nothing of them has to be looked into. Nothing where something is missing.
fn other_values(meta: &Meta, drift: &[Difference], note: &Note) -> Option<Value> {
    let annotation = format!("/metadata/annotations/{}", APPLIED.replace('/', "~1"));
    let mut change = vec![
        json!({"op": "replace", "path": "/metadata/resourceVersion", "value": meta.version.to_string()}),
        json!({"op": "replace", "path": annotation, "value": note.text()}),
    ];
    for difference in drift {
        let pointer = difference.found.as_ref().and(difference.pointer.as_ref())?;
        change.push(json!({"op": "replace", "path": pointer, "value": difference.wanted}));
    }
    Some(Value::from(change))
}

fn stale(child: &Child) -> Error {
    Error::new(Category::Conflict, "Conflict", format!("writing {}: it changed meanwhile", child.named()))
}

/// Whether fresh data may help; a name that is taken stays taken.
fn is_stale(error: &Error) -> bool {
    error.reason_word() == "Conflict"
}

fn taken(parent: &Parent, child: &Child, live: &Held) -> Error {
    if let Some(owner) = &live.meta().controller
        && *owner.kind == *parent.api.kind
        && *owner.api_version == *parent.api.api_version
        && *owner.name == *parent.key.name
    {
        // Kubernetes removes what a former object of the same name left behind.
        let message = format!("{} belongs to a former {} {}", child.named(), parent.api.kind, parent.key);
        return Error::not_ready(message, DELETION_LOOK);
    }
    let owner = match &live.meta().controller {
        Some(owner) => format!("belongs to {} {}", owner.kind, owner.name),
        None => "belongs to nobody".to_owned(),
    };
    let message = format!(
        "{} exists already and {owner}; remove it, or give {} {} another name",
        child.named(),
        parent.api.kind,
        parent.key
    );
    Error::new(Category::Transient, "NameTaken", message)
}

/// Who else holds the fields of an apply that the API server refused.
fn holders(status: &kube::core::Status) -> Vec<String> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let mut holders: Vec<String> = causes
        .filter(|cause| cause.reason == "FieldManagerConflict")
        .map(|cause| {
            let manager = cause.message.split('"').nth(1).unwrap_or("another manager");
            format!("{manager} ({})", cause.field.trim_start_matches('.'))
        })
        .collect();
    holders.sort();
    holders.dedup();
    holders
}

/// Several failures as one: what to do is decided by the one that can be tried again soonest.
fn together(first: Option<Error>, next: Error) -> Error {
    let Some(first) = first else { return next };
    let message = format!("{first}; {next}");
    let keep = if first.category() == Category::Permanent { next } else { first };
    keep.with_message(message)
}
