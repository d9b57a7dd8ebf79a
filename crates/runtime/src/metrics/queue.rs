//! The metrics of one work queue.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::{Counters, Durations, Gauges};

pub(super) struct QueueFamilies {
    pub(super) depth: Gauges,
    pub(super) adds: Counters,
    pub(super) retries: Counters,
    pub(super) unfinished: Gauges,
    pub(super) waits: Durations,
}

impl QueueFamilies {
    pub(super) fn of(&self, name: &str) -> QueueMetrics {
        let labels = vec![("name", name.to_owned())];
        QueueMetrics {
            depth: self.depth.get_or_create_owned(&labels),
            adds: self.adds.get_or_create_owned(&labels),
            retries: self.retries.get_or_create_owned(&labels),
            unfinished: self.unfinished.get_or_create_owned(&labels),
            waits: self.waits.get_or_create_owned(&labels),
        }
    }
}

/// What a queue reports of itself. Clones count together.
#[derive(Debug, Clone)]
pub struct QueueMetrics {
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    unfinished: Gauge,
    waits: Histogram,
}

impl QueueMetrics {
    /// So many objects wait for a worker now.
    pub fn depth(&self, waiting: usize) {
        self.depth.set(i64::try_from(waiting).unwrap_or(i64::MAX));
    }

    /// An object was put into the queue.
    pub fn added(&self) {
        self.adds.inc();
    }

    /// An object was put back after a failure.
    pub fn retried(&self) {
        self.retries.inc();
    }

    /// An object waited so long for a worker.
    pub fn waited(&self, time: Duration) {
        self.waits.observe(time.as_secs_f64());
    }

    /// So many objects are with workers now.
    pub fn unfinished(&self, running: usize) {
        self.unfinished.set(i64::try_from(running).unwrap_or(i64::MAX));
    }
}
