//! The work queue: each object once, one worker at a time, with patience for those that fail.
//!
//! A key is in the queue at most once, whatever happens how often, and is never handed to two workers. What
//! failed comes back after 1, 2, 4, 8 and 16 seconds, then every five minutes; it is never forgotten. News
//! about the object itself cuts that short; news about its own status or its children does not.

mod backoff;
mod entry;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

pub use backoff::Backoff;
use entry::{Entry, Place};

/// Why a key is put into the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trigger {
    /// Its turn came up: the first list after a start, or the periodic look. Behind everything else.
    Resync,
    /// Something that it owns or refers to changed.
    Related,
    /// The object itself changed.
    Changed,
}

/// What became of a key that a worker had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Nothing more to do until something happens.
    Settled,
    /// To be looked at again after this long, without having failed.
    After(Duration),
    /// To be tried again at once, without having failed: the data was old.
    Again,
    /// Failed, and to be tried again after its backoff.
    Failed,
    /// Failed because the API server cannot be reached or has too much to do: tried again after its backoff,
    /// but never at the slow pace, since that is not the object's fault.
    Unreached,
    /// Failed for good: only a change of the object itself brings it back.
    Parked,
    /// Not done, and not to be done here.
    Dropped,
}

/// Hears what happens in a queue, for metrics.
pub trait QueueObserver: Send + Sync {
    /// How many keys wait for a worker now.
    fn depth(&self, depth: usize);
    /// How many keys workers have now.
    fn processing(&self, processing: usize);
    /// A key was put in.
    fn added(&self);
    /// A key failed and is put back.
    fn retried(&self);
    /// A key waited this long for its worker.
    fn waited(&self, waited: Duration);
}

/// The queue. Clones are the same queue.
pub struct Queue<K> {
    shared: Arc<Shared<K>>,
}

struct Shared<K> {
    state: Mutex<State<K>>,
    wake: Notify,
    backoff: Backoff,
    observer: Option<Box<dyn QueueObserver>>,
}

struct State<K> {
    entries: HashMap<K, Entry>,
    urgent: VecDeque<K>,
    patient: VecDeque<K>,
    delayed: BTreeMap<(Instant, u64), K>,
    sequence: u64,
    taken: u64,
    processing: usize,
    open: bool,
    closed: bool,
}

/// One in how many takes looks at the patient lane first, so that a stream of changes starves nothing.
const PATIENT_TURN: u64 = 8;

/// What a queue holds, for people.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct QueueSnapshot {
    /// Keys that wait for a worker.
    pub ready: Vec<String>,
    /// Keys that a worker has.
    pub processing: Vec<String>,
    /// Keys that wait for their time.
    pub delayed: Vec<DelayedKey>,
    /// Keys that wait for a change of their object.
    pub parked: Vec<String>,
}

/// A key that waits for its time.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct DelayedKey {
    /// The key.
    pub key: String,
    /// In how many seconds it is due.
    pub due_in_seconds: u64,
    /// How often it failed in a row.
    pub failures: u32,
}

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K> fmt::Debug for Queue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash + Send + fmt::Display> Queue<K> {
    /// An empty queue that takes nothing until it is [opened](Self::open).
    pub fn new(backoff: Backoff, observer: Option<Box<dyn QueueObserver>>) -> Self {
        let state = State {
            entries: HashMap::new(),
            urgent: VecDeque::new(),
            patient: VecDeque::new(),
            delayed: BTreeMap::new(),
            sequence: 0,
            taken: 0,
            processing: 0,
            open: false,
            closed: false,
        };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), wake: Notify::new(), backoff, observer }) }
    }

    /// Begins to take keys.
    pub fn open(&self) {
        self.lock().open = true;
    }

    /// Forgets everything that waits and takes nothing more; what workers have they may finish.
    pub fn shut(&self) {
        let mut state = self.lock();
        state.open = false;
        state.urgent.clear();
        state.patient.clear();
        state.delayed.clear();
        state.entries.retain(|_, entry| entry.place == Place::Processing);
        for entry in state.entries.values_mut() {
            entry.again = None;
        }
        self.observe_depth(&state);
    }

    /// Ends the queue: [`next`](Self::next) gives nothing from now on.
    pub fn close(&self) {
        self.shut();
        self.lock().closed = true;
        self.shared.wake.notify_waiters();
        self.shared.wake.notify_one();
    }

    /// Puts a key in, or notes the news where it is in already.
    pub fn add(&self, key: &K, trigger: Trigger) {
        let now = Instant::now();
        let mut state = self.lock();
        if !state.open {
            return;
        }
        let Some(entry) = state.entries.get_mut(key) else {
            state.entries.insert(key.clone(), Entry::new(now));
            state.push_ready(key.clone(), trigger);
            self.added(&state);
            return;
        };
        match entry.place {
            Place::Ready => {}
            Place::Processing => {
                entry.again = entry.again.max(Some(trigger));
            }
            Place::Parked => {
                if trigger == Trigger::Changed {
                    entry.failures = 0;
                    entry.ready(now);
                    state.push_ready(key.clone(), trigger);
                    self.added(&state);
                }
            }
            Place::Delayed(due, sequence) => {
                let failures = entry.failures;
                if failures > 0 && trigger != Trigger::Changed {
                    // A child's news may mean that the cause is gone: worth a look before the slow
                    // pace says so, but not at the pace of the news.
                    let soon = now + self.shared.backoff.longest_quick();
                    if trigger == Trigger::Related && soon < due {
                        state.delayed.remove(&(due, sequence));
                        state.delay(key, soon);
                        self.shared.wake.notify_one();
                    }
                    return;
                }
                entry.failures = 0;
                entry.ready(now);
                state.delayed.remove(&(due, sequence));
                state.push_ready(key.clone(), trigger);
                self.added(&state);
            }
        }
    }

    /// The next key to work on, which nobody else has; nothing once the queue is closed.
    pub async fn next(&self) -> Option<K> {
        loop {
            let woken = self.shared.wake.notified();
            let due = {
                let now = Instant::now();
                let mut state = self.lock();
                if state.closed {
                    // Every other worker must hear it too.
                    self.shared.wake.notify_one();
                    return None;
                }
                state.wake_due(now);
                if let Some(key) = state.take() {
                    if let (Some(entry), Some(observer)) = (state.entries.get(&key), &self.shared.observer) {
                        observer.waited(now.saturating_duration_since(entry.since));
                    }
                    if let Some(entry) = state.entries.get_mut(&key) {
                        entry.place = Place::Processing;
                        entry.since = now;
                        state.processing += 1;
                        self.observe_processing(&state);
                    }
                    if state.depth() > 0 {
                        self.shared.wake.notify_one();
                    }
                    self.observe_depth(&state);
                    return Some(key);
                }
                state.delayed.first_key_value().map(|((due, _), _)| *due)
            };
            match due {
                Some(due) => tokio::select! {
                    () = woken => {}
                    () = sleep_until(due) => {}
                },
                None => woken.await,
            }
        }
    }

    /// Gives a key back, with what became of it.
    pub fn done(&self, key: &K, done: Done) {
        let now = Instant::now();
        let mut state = self.lock();
        if state.entries.get(key).is_some_and(|entry| entry.place == Place::Processing) {
            state.processing = state.processing.saturating_sub(1);
            self.observe_processing(&state);
        }
        if !state.open || done == Done::Dropped {
            state.entries.remove(key);
            return;
        }
        let Some(entry) = state.entries.get_mut(key) else { return };
        let again = entry.again.take();
        match done {
            Done::Settled | Done::After(_) => entry.failures = 0,
            Done::Failed | Done::Parked => entry.failures = entry.failures.saturating_add(1),
            Done::Unreached => {
                let most = self.shared.backoff.quick().max(1);
                entry.failures = entry.failures.saturating_add(1).min(most);
            }
            Done::Again | Done::Dropped => {}
        }
        // News of the object itself while it was worked on counts more than how that went.
        if again == Some(Trigger::Changed) {
            entry.failures = 0;
            entry.ready(now);
            state.push_ready(key.clone(), Trigger::Changed);
            self.added(&state);
            return;
        }
        match (done, again) {
            (Done::Settled | Done::After(_) | Done::Again, Some(trigger)) => {
                entry.ready(now);
                state.push_ready(key.clone(), trigger);
                self.added(&state);
            }
            (Done::Again, None) => {
                entry.ready(now);
                state.push_ready(key.clone(), Trigger::Related);
                self.added(&state);
            }
            (Done::Settled, None) | (Done::Dropped, _) => {
                state.entries.remove(key);
            }
            (Done::After(wait), None) => {
                state.delay(key, now + wait);
                self.shared.wake.notify_one();
            }
            (Done::Failed | Done::Unreached, _) => {
                let wait = self.shared.backoff.after(entry.failures);
                state.delay(key, now + wait);
                if let Some(observer) = &self.shared.observer {
                    observer.retried();
                }
                self.shared.wake.notify_one();
            }
            (Done::Parked, _) => entry.place = Place::Parked,
        }
    }

    /// Forgets that a key failed for good, since its object is gone; another of the name starts afresh.
    pub fn forget(&self, key: &K) {
        let mut state = self.lock();
        if state.entries.get(key).is_some_and(|entry| entry.place == Place::Parked) {
            state.entries.remove(key);
        }
    }

    /// How often a key failed in a row.
    pub fn failures(&self, key: &K) -> u32 {
        self.lock().entries.get(key).map_or(0, |entry| entry.failures)
    }

    /// Whether nothing waits and nobody works; what waits for its time or for a change does not count.
    pub fn is_idle(&self) -> bool {
        let state = self.lock();
        state.depth() == 0 && state.processing == 0
    }

    /// How long the longest-held key has been with its worker.
    pub fn longest_processing(&self) -> Duration {
        let now = Instant::now();
        let state = self.lock();
        let held = state.entries.values().filter(|entry| entry.place == Place::Processing);
        held.map(|entry| now.saturating_duration_since(entry.since)).max().unwrap_or_default()
    }

    /// What is in it, in a stable order.
    pub fn snapshot(&self) -> QueueSnapshot {
        let now = Instant::now();
        let state = self.lock();
        let mut processing: Vec<_> = state.keys_in(|place| place == Place::Processing);
        let mut parked: Vec<_> = state.keys_in(|place| place == Place::Parked);
        processing.sort();
        parked.sort();
        let delayed = state.delayed.iter().map(|((due, _), key)| DelayedKey {
            key: key.to_string(),
            due_in_seconds: due.saturating_duration_since(now).as_secs(),
            failures: state.entries.get(key).map_or(0, |entry| entry.failures),
        });
        QueueSnapshot {
            ready: state.urgent.iter().chain(&state.patient).map(ToString::to_string).collect(),
            processing,
            delayed: delayed.collect(),
            parked,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        // No code that can fail runs under the lock; a poisoned one holds a whole state.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn added(&self, state: &State<K>) {
        if let Some(observer) = &self.shared.observer {
            observer.added();
        }
        self.observe_depth(state);
        self.shared.wake.notify_one();
    }

    fn observe_processing(&self, state: &State<K>) {
        if let Some(observer) = &self.shared.observer {
            observer.processing(state.processing);
        }
    }

    fn observe_depth(&self, state: &State<K>) {
        if let Some(observer) = &self.shared.observer {
            observer.depth(state.depth());
        }
    }
}

impl<K: Clone + Eq + Hash + fmt::Display> State<K> {
    fn depth(&self) -> usize {
        self.urgent.len() + self.patient.len()
    }

    fn push_ready(&mut self, key: K, trigger: Trigger) {
        match trigger {
            Trigger::Resync => self.patient.push_back(key),
            Trigger::Related | Trigger::Changed => self.urgent.push_back(key),
        }
    }

    fn take(&mut self) -> Option<K> {
        self.taken = self.taken.wrapping_add(1);
        if self.taken.is_multiple_of(PATIENT_TURN) {
            self.patient.pop_front().or_else(|| self.urgent.pop_front())
        } else {
            self.urgent.pop_front().or_else(|| self.patient.pop_front())
        }
    }

    fn delay(&mut self, key: &K, due: Instant) {
        self.sequence += 1;
        let sequence = self.sequence;
        if let Some(entry) = self.entries.get_mut(key) {
            entry.place = Place::Delayed(due, sequence);
            self.delayed.insert((due, sequence), key.clone());
        }
    }

    fn wake_due(&mut self, now: Instant) {
        while let Some(first) = self.delayed.first_entry() {
            if first.key().0 > now {
                break;
            }
            let key = first.remove();
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.ready(now);
                self.urgent.push_back(key);
            }
        }
    }

    fn keys_in(&self, wanted: impl Fn(Place) -> bool) -> Vec<String> {
        self.entries.iter().filter(|(_, entry)| wanted(entry.place)).map(|(key, _)| key.to_string()).collect()
    }
}

#[cfg(test)]
mod tests;
