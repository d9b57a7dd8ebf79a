//! Whether this process lives, and whether it is ready.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What all parts of a process say of themselves. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Health {
    shared: Arc<Mutex<Parts>>,
}

#[derive(Debug, Default)]
struct Parts {
    /// By name: why it is not ready; none if it is.
    readiness: BTreeMap<String, Option<String>>,
    heartbeats: BTreeMap<u64, Beat>,
    next: u64,
    draining: bool,
}

#[derive(Debug)]
struct Beat {
    name: String,
    max_age: Duration,
    started: Instant,
    /// Milliseconds since `started`; `RESTING` while nothing is expected.
    last: Arc<AtomicU64>,
}

const RESTING: u64 = u64::MAX;

impl Health {
    /// Of a process with no parts, which lives and is ready.
    pub fn new() -> Self {
        Self::default()
    }

    fn with<T>(&self, change: impl FnOnce(&mut Parts) -> T) -> T {
        change(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A part that must be ready; it is not until it says so.
    pub fn readiness(&self, name: &str) -> ReadyFlag {
        self.with(|parts| parts.readiness.insert(name.to_owned(), Some("not started".to_owned())));
        ReadyFlag { health: self.clone(), name: name.to_owned() }
    }

    /// A part that must show life at least this often.
    pub fn heartbeat(&self, name: &str, max_age: Duration) -> Heartbeat {
        let (started, last) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let id = self.with(|parts| {
            let id = parts.next;
            parts.next += 1;
            let beat = Beat { name: name.to_owned(), max_age, started, last: Arc::clone(&last) };
            parts.heartbeats.insert(id, beat);
            id
        });
        Heartbeat { health: self.clone(), id, started, last }
    }

    /// The process is about to end: it lives, but is ready no more.
    pub fn drain(&self) {
        self.with(|parts| parts.draining = true);
    }

    /// Why the process is not ready; empty if it is.
    pub fn not_ready(&self) -> Vec<String> {
        self.with(|parts| {
            let mut reasons = Vec::new();
            if parts.draining {
                reasons.push("shutting down".to_owned());
            }
            let unready = parts.readiness.iter().filter_map(|(name, reason)| Some((name, reason.as_ref()?)));
            reasons.extend(unready.map(|(name, reason)| format!("{name}: {reason}")));
            reasons
        })
    }

    /// The parts that show no life; empty if all do.
    pub fn overdue(&self) -> Vec<String> {
        self.with(|parts| {
            let overdue = parts.heartbeats.values().filter_map(|beat| {
                let last = beat.last.load(Ordering::Relaxed);
                if last == RESTING {
                    return None;
                }
                let silent = beat.started.elapsed().saturating_sub(Duration::from_millis(last));
                (silent > beat.max_age).then(|| {
                    let (silent, allowed) = (silent.as_secs(), beat.max_age.as_secs());
                    format!("{}: no sign of life for {silent} s (allowed: {allowed} s)", beat.name)
                })
            });
            overdue.collect()
        })
    }
}

/// Says whether one part is ready.
#[derive(Debug, Clone)]
pub struct ReadyFlag {
    health: Health,
    name: String,
}

impl ReadyFlag {
    /// It is.
    pub fn ready(&self) {
        self.health.with(|parts| parts.readiness.insert(self.name.clone(), None));
    }

    /// It is not, for this reason.
    pub fn not_ready(&self, reason: impl Into<String>) {
        let reason = reason.into();
        self.health.with(|parts| parts.readiness.insert(self.name.clone(), Some(reason)));
    }

    /// There is no such part any more.
    pub fn remove(self) {
        self.health.with(|parts| parts.readiness.remove(&self.name));
    }
}

/// Shows that one part lives; the part is forgotten when this is dropped.
#[derive(Debug)]
pub struct Heartbeat {
    health: Health,
    id: u64,
    started: Instant,
    last: Arc<AtomicU64>,
}

impl Heartbeat {
    /// It lives.
    pub fn beat(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(RESTING - 1);
        self.last.store(now, Ordering::Relaxed);
    }

    /// Nothing is to be expected from it until it beats again.
    pub fn rest(&self) {
        self.last.store(RESTING, Ordering::Relaxed);
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.health.with(|parts| parts.heartbeats.remove(&self.id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_ready_when_all_its_parts_are() {
        let health = Health::new();
        assert!(health.not_ready().is_empty());
        let (caches, webhooks) = (health.readiness("caches"), health.readiness("webhooks"));
        assert_eq!(health.not_ready(), ["caches: not started", "webhooks: not started"]);
        caches.ready();
        webhooks.not_ready("certificate expired");
        assert_eq!(health.not_ready(), ["webhooks: certificate expired"]);
        webhooks.ready();
        assert!(health.not_ready().is_empty());
        health.drain();
        assert_eq!(health.not_ready(), ["shutting down"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_part_that_stops_beating_is_overdue_until_it_beats_rests_or_goes() {
        let health = Health::new();
        let queue = health.heartbeat("queue", Duration::from_secs(30));
        tokio::time::advance(Duration::from_secs(30)).await;
        assert!(health.overdue().is_empty());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(health.overdue(), ["queue: no sign of life for 31 s (allowed: 30 s)"]);
        queue.beat();
        assert!(health.overdue().is_empty());
        queue.rest();
        tokio::time::advance(Duration::from_mins(5)).await;
        assert!(health.overdue().is_empty());
        queue.beat();
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_eq!(health.overdue().len(), 1);
        drop(queue);
        assert!(health.overdue().is_empty());
    }
}
