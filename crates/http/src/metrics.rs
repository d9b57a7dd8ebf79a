//! Requests, counted and timed.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// From a thousandth of a second to ten: the figures promised are 100 and 500 milliseconds.
const BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    operation: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    operation: String,
}

/// What is counted about requests.
#[derive(Debug, Clone)]
pub struct HttpMetrics {
    answered: Family<Answered, Counter>,
    took: Family<Asked, Histogram>,
    /// Requests that are being answered.
    pub(crate) in_flight: Gauge,
    /// Streams that are open.
    pub streams: Gauge,
}

impl HttpMetrics {
    /// Counted in a registry.
    pub fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            answered: Family::default(),
            took: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            in_flight: Gauge::default(),
            streams: Gauge::default(),
        };
        registry.register(
            "http_requests",
            "Requests answered, by operation and status",
            metrics.answered.clone(),
        );
        registry.register(
            "http_request_duration_seconds",
            "Time until the reply began",
            metrics.took.clone(),
        );
        registry.register(
            "http_requests_in_flight",
            "Requests that are being answered",
            metrics.in_flight.clone(),
        );
        registry.register("http_streams_open", "Event streams that are open", metrics.streams.clone());
        metrics
    }

    /// A request was answered. The operation is one of the table, so that nobody can make up new ones.
    pub(crate) fn answered(&self, operation: &str, status: u16, took: Duration) {
        self.answered.get_or_create(&Answered { operation: operation.to_owned(), status }).inc();
        self.took.get_or_create(&Asked { operation: operation.to_owned() }).observe(took.as_secs_f64());
    }
}

/// Counts something up while it lives.
#[derive(Debug)]
pub struct Counted(Gauge);

impl Counted {
    /// One more.
    pub fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}
