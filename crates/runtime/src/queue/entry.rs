//! What the queue knows of one key.

use tokio::time::Instant;

use super::Trigger;

/// Where a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In one of the lanes.
    Ready,
    /// With a worker.
    Processing,
    /// Waiting for its time, under this entry of the timetable.
    Delayed(Instant, u64),
    /// Waiting for a change of its object.
    Parked,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) since: Instant,
    pub(super) failures: u32,
    pub(super) again: Option<Trigger>,
}

impl Entry {
    pub(super) fn new(now: Instant) -> Self {
        Self { place: Place::Ready, since: now, failures: 0, again: None }
    }

    pub(super) fn ready(&mut self, now: Instant) {
        self.place = Place::Ready;
        self.since = now;
    }
}
