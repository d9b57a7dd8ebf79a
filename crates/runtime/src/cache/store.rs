//! The objects of one kind.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{Held, ObjectKey};

/// What happened to an object: it appeared, changed, or went.
#[derive(Debug, Clone)]
pub struct Change {
    /// What was known before.
    pub before: Option<Arc<Held>>,
    /// What is known now; nothing when it is gone.
    pub after: Option<Arc<Held>>,
    /// Whether it came with a list, so that nothing need have happened to it.
    pub listed: bool,
}

impl Change {
    /// What there is to look at: the object as it is, or as it last was.
    pub fn latest(&self) -> Option<&Arc<Held>> {
        self.after.as_ref().or(self.before.as_ref())
    }
}

/// The objects of one kind, by name and by what controls them.
#[derive(Debug, Default)]
pub struct Store {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    objects: HashMap<ObjectKey, Arc<Held>>,
    by_controller: HashMap<Box<str>, Vec<ObjectKey>>,
    /// What this process wrote while a list was under way; the list may not know it yet.
    written: HashSet<ObjectKey>,
    lists: u32,
    /// The uids of what went last: a reply to a write of ours may come after the news that it is gone.
    gone: VecDeque<Box<str>>,
}

/// How many are remembered; more than can be on their way at once.
const REMEMBERED: usize = 1024;

/// What a list that is under way has seen.
#[derive(Debug, Default)]
pub(super) struct Listing {
    seen: HashSet<ObjectKey>,
}

impl Store {
    /// The object of that name.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Held>> {
        self.read().objects.get(key).cloned()
    }

    /// Every object.
    pub fn all(&self) -> Vec<Arc<Held>> {
        self.read().objects.values().cloned().collect()
    }

    /// The names of all objects.
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.read().objects.keys().cloned().collect()
    }

    /// What the object with that uid controls.
    pub fn controlled_by(&self, uid: &str) -> Vec<Arc<Held>> {
        let inner = self.read();
        let keys = inner.by_controller.get(uid).map(Vec::as_slice).unwrap_or_default();
        keys.iter().filter_map(|key| inner.objects.get(key).cloned()).collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes what the API server replied to a write of ours.
    pub fn wrote(&self, held: Held) -> Arc<Held> {
        let held = Arc::new(held);
        let mut inner = self.write();
        if inner.lists > 0 {
            inner.written.insert(held.key().clone());
        }
        if inner.is_news(&held) && !inner.gone.contains(&held.meta().uid) {
            inner.put(&held);
        }
        held
    }

    /// Takes that a read of ours did not find an object.
    pub fn lost(&self, key: &ObjectKey) {
        self.write().take(key);
    }

    /// Takes what a watch said; nothing if it is older than what is known.
    pub(super) fn arrived(&self, held: impl Into<Arc<Held>>) -> Option<Change> {
        let held = held.into();
        let mut inner = self.write();
        if !inner.is_news(&held) {
            return None;
        }
        let before = inner.back(&held);
        Some(Change { before, after: Some(held), listed: false })
    }

    /// Takes that an object is gone; nothing if a newer one of the name is known.
    pub(super) fn gone(&self, held: &Held) -> Option<Change> {
        let mut inner = self.write();
        let known = inner.objects.get(held.key())?;
        if known.meta().uid != held.meta().uid {
            return None;
        }
        let before = inner.take(held.key());
        Some(Change { before, after: None, listed: false })
    }

    pub(super) fn begin_list(&self) -> Listing {
        self.write().lists += 1;
        Listing::default()
    }

    /// Takes an object of a list. A list may go back in time, when a backup was restored, so it is believed
    /// even if it looks older, unless this process wrote the object after the list was asked for.
    pub(super) fn listed(&self, listing: &mut Listing, held: impl Into<Arc<Held>>) -> Option<Change> {
        let held = held.into();
        listing.seen.insert(held.key().clone());
        let mut inner = self.write();
        if inner.written.contains(held.key()) && !inner.is_news(&held) {
            return None;
        }
        let before = inner.back(&held);
        Some(Change { before, after: Some(held), listed: true })
    }

    /// Ends a list: what it did not name, in the namespace it was about, is gone.
    pub(super) fn end_list(&self, listing: &Listing, namespace: Option<&str>) -> Vec<Change> {
        let mut inner = self.write();
        inner.lists = inner.lists.saturating_sub(1);
        let gone: Vec<ObjectKey> = inner
            .objects
            .keys()
            .filter(|key| namespace.is_none() || key.namespace.as_deref() == namespace)
            .filter(|key| !listing.seen.contains(*key) && !inner.written.contains(*key))
            .cloned()
            .collect();
        if inner.lists == 0 {
            inner.written.clear();
        }
        gone.iter().map(|key| Change { before: inner.take(key), after: None, listed: true }).collect()
    }

    /// A list that failed says nothing.
    pub(super) fn abandon_list(&self) {
        let mut inner = self.write();
        inner.lists = inner.lists.saturating_sub(1);
        if inner.lists == 0 {
            inner.written.clear();
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn is_news(&self, held: &Held) -> bool {
        self.objects.get(held.key()).is_none_or(|known| known.meta().version < held.meta().version)
    }

    /// Puts in what the API server says is there. It may have been out of sight only, for want of a label.
    fn back(&mut self, held: &Arc<Held>) -> Option<Arc<Held>> {
        let before = self.put(held);
        if before.is_none() {
            self.gone.retain(|uid| *uid != held.meta().uid);
        }
        before
    }

    fn put(&mut self, held: &Arc<Held>) -> Option<Arc<Held>> {
        let key = held.key().clone();
        let before = self.objects.insert(key.clone(), Arc::clone(held));
        if let Some(before) = &before {
            held.follow(before);
        }
        let was = before.as_ref().and_then(|before| before.meta().controller.as_ref());
        let is = held.meta().controller.as_ref();
        if was.map(|owner| &owner.uid) != is.map(|owner| &owner.uid) {
            if let Some(was) = was {
                self.unlink(&was.uid.clone(), &key);
            }
            if let Some(is) = is {
                self.by_controller.entry(is.uid.clone()).or_default().push(key);
            }
        }
        before
    }

    fn take(&mut self, key: &ObjectKey) -> Option<Arc<Held>> {
        let before = self.objects.remove(key)?;
        if self.gone.len() >= REMEMBERED {
            self.gone.pop_front();
        }
        self.gone.push_back(before.meta().uid.clone());
        if let Some(owner) = &before.meta().controller {
            self.unlink(&owner.uid, key);
        }
        Some(before)
    }

    fn unlink(&mut self, uid: &str, key: &ObjectKey) {
        if let Some(keys) = self.by_controller.get_mut(uid) {
            keys.retain(|known| known != key);
            if keys.is_empty() {
                self.by_controller.remove(uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, uid: &str, version: u64, owner: Option<&str>) -> Held {
        let owners: Vec<_> = owner
            .map(|owner| json!({"apiVersion": "x/v1", "kind": "App", "name": "o", "uid": owner, "controller": true}))
            .into_iter()
            .collect();
        let object = json!({"metadata": {
            "name": name, "namespace": "n", "uid": uid, "resourceVersion": version.to_string(), "ownerReferences": owners,
        }});
        Held::from_json(&object.to_string()).unwrap()
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::namespaced("n", name)
    }

    #[test]
    fn an_old_watch_event_does_not_undo_a_write_of_ours() {
        let store = Store::default();
        store.wrote(object("a", "1", 7, None));
        assert!(store.arrived(object("a", "1", 5, None)).is_none());
        assert_eq!(store.get(&key("a")).unwrap().meta().version, 7);
        assert!(store.arrived(object("a", "1", 8, None)).is_some());
    }

    #[test]
    fn a_late_reply_does_not_bring_back_what_is_gone() {
        let store = Store::default();
        store.arrived(object("a", "1", 5, None));
        store.gone(&object("a", "1", 7, None));
        store.wrote(object("a", "1", 6, None));
        assert!(store.is_empty());
        store.wrote(object("a", "2", 9, None));
        assert_eq!(store.len(), 1);
    }

    #[test]
    fn the_end_of_an_earlier_object_does_not_remove_its_successor() {
        let store = Store::default();
        store.arrived(object("a", "2", 9, None));
        assert!(store.gone(&object("a", "1", 8, None)).is_none());
        assert!(store.gone(&object("a", "2", 10, None)).is_some());
        assert!(store.is_empty());
    }

    #[test]
    fn a_list_removes_what_it_does_not_name_but_not_what_was_written_meanwhile() {
        let store = Store::default();
        store.arrived(object("old", "1", 1, None));
        store.arrived(object("kept", "2", 2, None));
        let mut listing = store.begin_list();
        store.wrote(object("new", "3", 9, None));
        store.listed(&mut listing, object("kept", "2", 2, None));
        let gone = store.end_list(&listing, None);
        assert_eq!(gone.len(), 1);
        assert_eq!(gone[0].before.as_ref().unwrap().key(), &key("old"));
        assert_eq!(store.len(), 2);
    }

    #[test]
    fn after_a_restored_backup_the_list_is_believed() {
        let store = Store::default();
        store.arrived(object("a", "1", 100, None));
        let mut listing = store.begin_list();
        assert!(store.listed(&mut listing, object("a", "1", 40, None)).is_some());
        store.end_list(&listing, None);
        assert_eq!(store.get(&key("a")).unwrap().meta().version, 40);
    }

    #[test]
    fn a_list_of_one_namespace_removes_nothing_in_another() {
        let store = Store::default();
        store.arrived(object("a", "1", 1, None));
        let listing = store.begin_list();
        assert!(store.end_list(&listing, Some("other")).is_empty());
        assert_eq!(store.len(), 1);
    }

    #[test]
    fn what_was_out_of_sight_and_is_back_takes_our_writes_again() {
        let store = Store::default();
        store.arrived(object("a", "1", 1, None));
        store.gone(&object("a", "1", 2, None));
        store.arrived(object("a", "1", 3, None));
        store.wrote(object("a", "1", 4, None));
        assert_eq!(store.get(&key("a")).unwrap().meta().version, 4);
    }

    #[test]
    fn children_are_found_by_what_controls_them_and_only_while_it_does() {
        let store = Store::default();
        store.arrived(object("a", "1", 1, Some("p")));
        store.arrived(object("b", "2", 2, Some("p")));
        assert_eq!(store.controlled_by("p").len(), 2);
        store.arrived(object("a", "1", 3, Some("q")));
        store.gone(&object("b", "2", 4, Some("p")));
        assert!(store.controlled_by("p").is_empty());
        assert_eq!(store.controlled_by("q").len(), 1);
    }
}
