//! The last events in memory, behind `/events`, and what changes now, behind `/watch`.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ObjectReference;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast;

use super::note::{EventType, Note, Severity};
use super::query::EventQuery;

/// Events that are kept; beyond it the oldest go.
const KEPT: usize = 10_000;
/// How long after the last one the same event still counts as a repetition.
const WINDOW: SignedDuration = SignedDuration::from_secs(60);
/// Changes that a slow reader of `/watch` may lag behind.
const LAG: usize = 256;

/// The object that an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InvolvedObject {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; empty for objects of the cluster.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

impl From<&ObjectReference> for InvolvedObject {
    fn from(reference: &ObjectReference) -> Self {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        Self {
            api_version: text(&reference.api_version),
            kind: text(&reference.kind),
            namespace: text(&reference.namespace),
            name: text(&reference.name),
            uid: reference.uid.clone(),
        }
    }
}

/// Who said it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The controller.
    pub component: String,
}

/// An event as it is kept and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoggedEvent {
    /// `evt-<milliseconds>-<random>`.
    pub id: String,
    /// Normal, Warning or Error.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// How bad it is.
    pub severity: Severity,
    /// Why it is said, as one word.
    pub reason: String,
    /// What happened, as it was said last.
    pub message: String,
    /// The object that it is about.
    pub involved_object: InvolvedObject,
    /// Who said it.
    pub source: Source,
    /// When it was first said.
    pub first_timestamp: Timestamp,
    /// When it was last said.
    pub last_timestamp: Timestamp,
    /// How often.
    pub count: u64,
    /// Whatever else belongs to it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// What is to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Normal, Warning or Error.
    pub kind: EventType,
    /// How bad it is.
    pub severity: Severity,
    /// Why it is said, as one word.
    pub reason: String,
    /// What happened.
    pub message: String,
    /// The object that it is about.
    pub involved_object: InvolvedObject,
    /// Who says it.
    pub component: String,
    /// Whatever else belongs to it.
    pub metadata: BTreeMap<String, String>,
}

/// What a watch saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Change {
    /// The object is new.
    Added,
    /// It changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It could not be read.
    Error,
}

/// A change as `/watch` sends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchEvent {
    /// What happened.
    #[serde(rename = "type")]
    pub change: Change,
    /// The object as it is now, or as it was last.
    pub object: Value,
}

/// What the log holds, in numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Events that are kept.
    pub total: usize,
    /// Those of the last hour.
    pub last_hour: usize,
    /// By type.
    pub by_type: BTreeMap<String, usize>,
    /// By severity.
    pub by_severity: BTreeMap<String, usize>,
    /// Those that stand for more than one occurrence.
    pub aggregated: usize,
}

type Key = (String, String, String, String, EventType);

#[derive(Default)]
struct Kept {
    /// By when they were last said.
    events: BTreeMap<u64, LoggedEvent>,
    newest: HashMap<Key, u64>,
    next: u64,
}

/// The last events of this process. Clones share them.
#[derive(Clone)]
pub struct EventLog {
    kept: Arc<Mutex<Kept>>,
    changes: broadcast::Sender<Arc<WatchEvent>>,
    random: RandomState,
    capacity: usize,
}

impl fmt::Debug for EventLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventLog").finish_non_exhaustive()
    }
}

impl Default for EventLog {
    fn default() -> Self {
        Self::new()
    }
}

impl EventLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::with_capacity(KEPT)
    }

    fn with_capacity(capacity: usize) -> Self {
        let (changes, _) = broadcast::channel(LAG);
        Self { kept: Arc::default(), changes, random: RandomState::new(), capacity }
    }

    /// Keeps an event, or counts it if the same was said less than a minute ago.
    pub fn record(&self, record: Record) {
        self.record_at(record, Timestamp::now());
    }

    fn record_at(&self, record: Record, now: Timestamp) {
        let object = &record.involved_object;
        let key = (
            object.namespace.clone(),
            object.name.clone(),
            object.kind.clone(),
            record.reason.clone(),
            record.kind,
        );
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let sequence = kept.next;
        kept.next += 1;
        let known = kept.newest.get(&key).copied();
        let repeated = known
            .and_then(|at| kept.events.get(&at))
            .is_some_and(|event| now.duration_since(event.last_timestamp) <= WINDOW);
        let event = match known.filter(|_| repeated).and_then(|at| kept.events.remove(&at)) {
            Some(mut event) => {
                event.count += 1;
                event.last_timestamp = now;
                event.message = record.message;
                event.severity = record.severity;
                event.metadata = record.metadata;
                event
            }
            None => LoggedEvent {
                id: self.id(now, sequence),
                kind: record.kind,
                severity: record.severity,
                reason: record.reason,
                message: record.message,
                involved_object: record.involved_object,
                source: Source { component: record.component },
                first_timestamp: now,
                last_timestamp: now,
                count: 1,
                metadata: record.metadata,
            },
        };
        kept.events.insert(sequence, event);
        kept.newest.insert(key, sequence);
        while kept.events.len() > self.capacity {
            if let Some((oldest, event)) = kept.events.pop_first() {
                let object = event.involved_object;
                let key = (object.namespace, object.name, object.kind, event.reason, event.kind);
                if kept.newest.get(&key) == Some(&oldest) {
                    kept.newest.remove(&key);
                }
            }
        }
    }

    fn id(&self, now: Timestamp, sequence: u64) -> String {
        let random = self.random.hash_one((sequence, now.as_nanosecond()));
        format!("evt-{}-{:09x}", now.as_millisecond(), random & 0xf_ffff_ffff)
    }

    /// Keeps what a controller noted of an object.
    pub fn noted(&self, regarding: &ObjectReference, note: &Note, component: &str) {
        let kind = match note.severity {
            Severity::Info => EventType::Normal,
            Severity::Warning => EventType::Warning,
            Severity::Error | Severity::Critical => EventType::Error,
        };
        self.record(Record {
            kind,
            severity: note.severity,
            reason: note.reason.clone(),
            message: note.message.clone(),
            involved_object: InvolvedObject::from(regarding),
            component: component.to_owned(),
            metadata: BTreeMap::new(),
        });
    }

    /// A watch saw a change of an object. `failed` says that its phase is Failed; the object is only made
    /// when someone listens.
    pub fn observed(
        &self,
        change: Change,
        involved_object: InvolvedObject,
        component: &str,
        failed: bool,
        object: impl FnOnce() -> Value,
    ) {
        if self.changes.receiver_count() > 0 {
            // An error means that the last listener left just now.
            let _ = self.changes.send(Arc::new(WatchEvent { change, object: object() }));
        }
        let (kind, severity, reason, what) = match change {
            Change::Added => (EventType::Normal, Severity::Info, "Created", "was created"),
            Change::Modified if failed => {
                (EventType::Normal, Severity::Error, "Updated", "changed, and has failed")
            }
            Change::Modified => (EventType::Normal, Severity::Info, "Updated", "changed"),
            Change::Deleted => (EventType::Warning, Severity::Warning, "Deleted", "was deleted"),
            Change::Error => (EventType::Error, Severity::Error, "Error", "could not be read"),
        };
        let message = format!("{} {} {what}", involved_object.kind, involved_object.name);
        self.record(Record {
            kind,
            severity,
            reason: reason.to_owned(),
            message,
            involved_object,
            component: component.to_owned(),
            metadata: BTreeMap::new(),
        });
    }

    /// The events that a query asks for, newest first.
    pub fn query(&self, query: &EventQuery) -> Vec<LoggedEvent> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.events.values().rev().filter(|event| query.matches(event));
        found.take(query.limit.unwrap_or(usize::MAX)).cloned().collect()
    }

    /// What the log holds, in numbers.
    pub fn stats(&self) -> Stats {
        self.stats_at(Timestamp::now())
    }

    fn stats_at(&self, now: Timestamp) -> Stats {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stats = Stats { total: kept.events.len(), ..Stats::default() };
        for event in kept.events.values() {
            stats.last_hour +=
                usize::from(now.duration_since(event.last_timestamp) <= SignedDuration::from_hours(1));
            *stats.by_type.entry(event.kind.as_str().to_owned()).or_default() += 1;
            *stats.by_severity.entry(event.severity.as_str().to_owned()).or_default() += 1;
            stats.aggregated += usize::from(event.count > 1);
        }
        stats
    }

    /// The changes from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<WatchEvent>> {
        self.changes.subscribe()
    }
}

#[cfg(test)]
mod tests;
