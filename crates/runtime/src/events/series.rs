//! Which events are one series, and when a series is worth writing. Decides only; time comes in.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use tokio::time::Instant;

use super::note::{EventType, Note};

/// How long after its last occurrence an event still belongs to its series.
const WINDOW: Duration = Duration::from_mins(6);
/// The shortest time between two writes of a series; it doubles up to the longest.
const SHORTEST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_mins(5);
/// Beyond so many series the longest unseen is forgotten.
const MOST: usize = 4096;

/// What makes events the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    object: String,
    kind: EventType,
    reason: String,
    message: String,
}

impl Key {
    pub(super) fn of(regarding: &ObjectReference, note: &Note) -> Self {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        // An object that is not created yet has no uid.
        let object = match &regarding.uid {
            Some(uid) if !uid.is_empty() => uid.clone(),
            _ => {
                format!("{}/{}/{}", text(&regarding.kind), text(&regarding.namespace), text(&regarding.name))
            }
        };
        Self {
            object,
            kind: note.severity.core_type(),
            reason: note.reason.clone(),
            message: note.message.clone(),
        }
    }
}

/// What is to be written now.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Write {
    /// The first of its kind.
    Create { key: Key, event: Box<Occurrence> },
    /// How often it was seen by now.
    Count { key: Key, namespace: String, name: String, count: i32, last: Timestamp },
}

/// An event as it happened.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Occurrence {
    pub(super) regarding: ObjectReference,
    pub(super) note: Note,
    pub(super) at: Timestamp,
}

#[derive(Debug)]
struct Entry {
    namespace: String,
    name: String,
    count: i32,
    written: i32,
    last: Timestamp,
    seen: Instant,
    next: Instant,
    pause: Duration,
}

/// The series that are open.
#[derive(Debug, Default)]
pub(super) struct AllSeries {
    entries: HashMap<Key, Entry>,
}

impl AllSeries {
    /// An event happened; gives what must be written at once.
    pub(super) fn happened(&mut self, event: Occurrence, now: Instant) -> Option<Write> {
        let key = Key::of(&event.regarding, &event.note);
        match self.entries.get_mut(&key) {
            Some(entry) if now.duration_since(entry.seen) <= WINDOW => {
                entry.count = entry.count.saturating_add(1);
                entry.last = event.at;
                entry.seen = now;
                (now >= entry.next).then(|| entry.write(&key, now))
            }
            _ => Some(Write::Create { key, event: Box::new(event) }),
        }
    }

    /// The first of a series was written under this name.
    pub(super) fn created(&mut self, key: Key, namespace: String, name: String, at: Timestamp, now: Instant) {
        if self.entries.len() >= MOST {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.seen).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                self.entries.remove(&oldest);
            }
        }
        let entry = Entry {
            namespace,
            name,
            count: 1,
            written: 1,
            last: at,
            seen: now,
            next: now + SHORTEST,
            pause: SHORTEST,
        };
        self.entries.insert(key, entry);
    }

    /// What was written is gone, so that the next one begins anew.
    pub(super) fn forget(&mut self, key: &Key) {
        self.entries.remove(key);
    }

    /// Counts that wait and are due; series that are over are forgotten once their count is written.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Write> {
        let mut writes = Vec::new();
        self.entries.retain(|key, entry| {
            let over = now.duration_since(entry.seen) > WINDOW;
            if entry.count > entry.written && (over || now >= entry.next) {
                writes.push(entry.write(key, now));
            }
            !over
        });
        writes
    }

    /// Every count that was not written yet.
    pub(super) fn rest(&mut self, now: Instant) -> Vec<Write> {
        let open = self.entries.iter_mut().filter(|(_, entry)| entry.count > entry.written);
        open.map(|(key, entry)| entry.write(key, now)).collect()
    }

    /// When something is due next.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let when = |entry: &Entry| {
            if entry.count > entry.written {
                entry.next
            } else {
                entry.seen + WINDOW + Duration::from_secs(1)
            }
        };
        self.entries.values().map(when).min()
    }
}

impl Entry {
    fn write(&mut self, key: &Key, now: Instant) -> Write {
        self.written = self.count;
        self.pause = (self.pause * 2).min(LONGEST);
        self.next = now + self.pause;
        Write::Count {
            key: key.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            count: self.count,
            last: self.last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurrence(message: &str) -> Occurrence {
        Occurrence {
            regarding: ObjectReference { uid: Some("u".to_owned()), ..ObjectReference::default() },
            note: Note::warning("Failed", message),
            at: Timestamp::UNIX_EPOCH,
        }
    }

    fn began(series: &mut AllSeries, now: Instant) {
        let Some(Write::Create { key, .. }) = series.happened(occurrence("a"), now) else {
            panic!("the first is written")
        };
        series.created(key, "ns".to_owned(), "a.1".to_owned(), Timestamp::UNIX_EPOCH, now);
    }

    fn counts(writes: &[Write]) -> Vec<i32> {
        writes
            .iter()
            .map(|write| match write {
                Write::Count { count, .. } => *count,
                Write::Create { .. } => 0,
            })
            .collect()
    }

    #[test]
    fn repeats_are_counted_and_written_ever_more_rarely() {
        let (mut series, start) = (AllSeries::default(), Instant::now());
        began(&mut series, start);
        let mut written = Vec::new();
        for second in 1..=240 {
            let now = start + Duration::from_secs(second);
            written.extend(series.happened(occurrence("a"), now).map(|_| second));
            written.extend(series.due(now).iter().map(|_| second));
        }
        assert_eq!(written, [10, 30, 70, 150]);
        assert_eq!(counts(&series.rest(start + Duration::from_mins(4))), [241]);
        assert!(series.rest(start + Duration::from_mins(4)).is_empty(), "nothing is left");
    }

    #[test]
    fn the_last_count_is_written_when_it_is_due_though_nothing_more_happens() {
        let (mut series, start) = (AllSeries::default(), Instant::now());
        began(&mut series, start);
        assert_eq!(series.happened(occurrence("a"), start + Duration::from_secs(3)), None);
        assert_eq!(series.next_due(), Some(start + Duration::from_secs(10)));
        assert!(series.due(start + Duration::from_secs(9)).is_empty());
        assert_eq!(counts(&series.due(start + Duration::from_secs(10))), [2]);
    }

    #[test]
    fn another_message_or_a_long_silence_begins_a_new_series() {
        let (mut series, start) = (AllSeries::default(), Instant::now());
        began(&mut series, start);
        assert!(matches!(series.happened(occurrence("b"), start), Some(Write::Create { .. })));
        let later = start + WINDOW + Duration::from_secs(1);
        assert!(matches!(series.happened(occurrence("a"), later), Some(Write::Create { .. })));
    }

    #[test]
    fn series_that_are_over_are_forgotten_with_their_last_count_written() {
        let (mut series, start) = (AllSeries::default(), Instant::now());
        began(&mut series, start);
        series.happened(occurrence("a"), start + Duration::from_secs(1));
        let over = start + WINDOW + Duration::from_secs(2);
        assert_eq!(counts(&series.due(over)), [2]);
        assert_eq!(series.next_due(), None);
    }
}
