//! The metrics of an operator, and the means for authors to add their own.
//!
//! One registry per process, rendered by the admin server. The runtime feeds the names below; authors
//! register theirs with [`Metrics::counter`], [`Metrics::gauge`] and [`Metrics::histogram`], and measure
//! work with [`Metrics::measure`]. Nothing here talks to anyone.

mod authors;
mod names;
mod queue;
mod resources;

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter as PlainCounter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge as PlainGauge;
use prometheus_client::metrics::histogram::Histogram as PlainHistogram;
use prometheus_client::registry::Registry;
use slipway_telemetry::exposition;
use slipway_telemetry::process::ProcessMetrics;

pub use authors::{Counter, Gauge, Histogram, Timer};
pub use names::MetricError;
pub use queue::QueueMetrics;

use authors::Authors;
use queue::QueueFamilies;
use resources::ResourceCounts;

/// The upper bounds of every duration's buckets, in seconds.
pub const BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

type Labels = Vec<(&'static str, String)>;
type Counters = Family<Labels, PlainCounter>;
type Gauges = Family<Labels, PlainGauge>;
type Durations = Family<Labels, PlainHistogram>;

fn durations() -> Durations {
    Family::new_with_constructor(|| PlainHistogram::new(BUCKETS))
}

/// How a reconcile ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReconcileResult {
    /// It is done.
    Success,
    /// It failed.
    Error,
    /// It wants to be called again.
    Requeue,
    /// There was nothing to do.
    Skipped,
}

impl ReconcileResult {
    /// The value of the label `result`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Requeue => "requeue",
            Self::Skipped => "skipped",
        }
    }
}

/// All metrics of this process. Clones share them.
#[derive(Clone)]
pub struct Metrics {
    shared: Arc<Shared>,
}

struct Shared {
    registry: RwLock<Registry>,
    authors: Mutex<Authors>,
    reconciles: Counters,
    reconcile_errors: Counters,
    reconcile_categories: Counters,
    reconcile_durations: Durations,
    events: Counters,
    webhooks: Counters,
    webhook_durations: Durations,
    leader: Gauges,
    leader_transitions: Counters,
    queues: QueueFamilies,
    requests: Counters,
    request_durations: Durations,
    operations: Durations,
    resources: Arc<ResourceCounts>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// A registry with all that the runtime feeds, and the process's own numbers.
    pub fn new() -> Self {
        let mut own = Own { registry: Registry::default(), authors: Authors::default() };
        let shared = Shared {
            reconciles: own.counter("controller_reconcile_total", "Reconciles by how they ended"),
            reconcile_errors: own.counter("controller_reconcile_errors_total", "Reconciles that failed"),
            reconcile_categories: own.counter(
                "controller_reconcile_errors_by_category_total",
                "Reconciles that failed, by category",
            ),
            reconcile_durations: own
                .durations("controller_reconcile_duration_seconds", "Time that a reconcile takes"),
            events: own.counter("event_total", "Events by type and severity"),
            webhooks: own
                .counter("webhook_requests_total", "Admission and conversion requests by their outcome"),
            webhook_durations: own
                .durations("webhook_duration_seconds", "Time that a webhook takes to answer"),
            leader: own.gauge("leader_election_status", "1 while this process holds the lease"),
            leader_transitions: own
                .counter("leader_transitions_total", "Changes of the lease's holder seen here"),
            queues: QueueFamilies {
                depth: own.gauge("workqueue_depth", "Objects that wait for a worker"),
                adds: own.counter("workqueue_adds_total", "Objects put into the queue"),
                retries: own.counter("workqueue_retries_total", "Objects put back after a failure"),
                unfinished: own.gauge("workqueue_unfinished_work", "Objects that a worker has now"),
                waits: own
                    .durations("workqueue_queue_duration_seconds", "Time that an object waits for a worker"),
            },
            requests: own.counter("rest_client_requests_total", "Requests to the API server"),
            request_durations: own.durations(
                "rest_client_request_duration_seconds",
                "Time that the API server takes to answer",
            ),
            operations: own
                .durations("operation_duration_seconds", "Time that measured operations take, by result"),
            resources: Arc::new(ResourceCounts::default()),
            registry: RwLock::default(),
            authors: Mutex::default(),
        };
        for name in ["resource_count", "resource_phase_count"] {
            own.authors.reserve(name);
        }
        for name in [
            "process_start_time_seconds",
            "process_cpu_seconds_total",
            "process_resident_memory_bytes",
            "process_open_fds",
            "process_max_fds",
            "process_threads",
        ] {
            own.authors.reserve(name);
        }
        own.registry.register_collector(Box::new(Arc::clone(&shared.resources)));
        own.registry.register_collector(Box::new(ProcessMetrics::new()));
        let shared =
            Shared { registry: RwLock::new(own.registry), authors: Mutex::new(own.authors), ..shared };
        Self { shared: Arc::new(shared) }
    }

    /// The registry as text, in the format that an `Accept` header asks for, with its content type.
    pub fn render(&self, accept: Option<&str>) -> (&'static str, String) {
        exposition::render(&self.shared.registry.read().unwrap_or_else(PoisonError::into_inner), accept)
    }

    /// A reconcile ended.
    pub fn reconciled(&self, controller: &str, result: ReconcileResult, elapsed: Duration) {
        let shared = &self.shared;
        let controller = controller.to_owned();
        shared
            .reconciles
            .get_or_create(&vec![("controller", controller.clone()), ("result", result.as_str().to_owned())])
            .inc();
        let of_controller = vec![("controller", controller)];
        if result == ReconcileResult::Error {
            shared.reconcile_errors.get_or_create(&of_controller).inc();
        }
        shared.reconcile_durations.get_or_create(&of_controller).observe(elapsed.as_secs_f64());
    }

    /// A reconcile failed for a reason of this category; [`Metrics::reconciled`] counts the failure itself.
    pub fn error(&self, controller: &str, category: &str) {
        self.shared
            .reconcile_categories
            .get_or_create(&vec![("controller", controller.to_owned()), ("category", category.to_owned())])
            .inc();
    }

    /// Shows a controller's counters as zero from the start, so that rates are right from the first failure.
    pub fn controller(&self, controller: &str) {
        let of_controller = vec![("controller", controller.to_owned())];
        let shared = &self.shared;
        for result in ["success", "error", "requeue"] {
            let labels = vec![("controller", controller.to_owned()), ("result", result.to_owned())];
            drop(shared.reconciles.get_or_create(&labels));
        }
        drop(shared.reconcile_errors.get_or_create(&of_controller));
        drop(shared.reconcile_durations.get_or_create(&of_controller));
    }

    /// A webhook answered.
    pub fn webhook(&self, webhook: &str, operation: &str, allowed: bool, elapsed: Duration) {
        let labels = vec![
            ("webhook", webhook.to_owned()),
            ("operation", operation.to_owned()),
            ("allowed", allowed.to_string()),
        ];
        self.shared.webhooks.get_or_create(&labels).inc();
        self.shared
            .webhook_durations
            .get_or_create(&vec![("webhook", webhook.to_owned())])
            .observe(elapsed.as_secs_f64());
    }

    /// An event was recorded.
    pub fn event(&self, kind: &str, severity: &str) {
        self.shared
            .events
            .get_or_create(&vec![("type", kind.to_owned()), ("severity", severity.to_owned())])
            .inc();
    }

    /// This process holds the lease, or does not.
    pub fn leader(&self, lease: &str, is_leader: bool) {
        let of_lease = vec![("lease", lease.to_owned())];
        self.shared.leader.get_or_create(&of_lease).set(i64::from(is_leader));
        drop(self.shared.leader_transitions.get_or_create(&of_lease));
    }

    /// The lease changed hands.
    pub fn leader_transition(&self, lease: &str) {
        self.shared.leader_transitions.get_or_create(&vec![("lease", lease.to_owned())]).inc();
    }

    /// The metrics of a queue.
    pub fn queue(&self, name: &str) -> QueueMetrics {
        self.shared.queues.of(name)
    }

    /// What exists of a kind now, as namespace and phase of each object; what was said before is forgotten.
    pub fn resource_counts<N, P>(&self, kind: &str, objects: impl IntoIterator<Item = (N, Option<P>)>)
    where
        N: Into<String>,
        P: Into<String>,
    {
        self.shared.resources.replace(kind, objects);
    }

    /// The API server answered.
    pub fn request(&self, verb: &str, resource: &str, code: &str, elapsed: Duration) {
        let labels =
            vec![("verb", verb.to_owned()), ("resource", resource.to_owned()), ("code", code.to_owned())];
        self.shared.requests.get_or_create(&labels).inc();
        self.shared
            .request_durations
            .get_or_create(&vec![("verb", verb.to_owned())])
            .observe(elapsed.as_secs_f64());
    }

    /// A counter of one's own; the same name gives the same counter. `_total` is added if it is missing.
    pub fn counter(&self, name: &str, help: &str) -> Result<Counter, MetricError> {
        self.register(|authors, registry| authors.counter(registry, name, help))
    }

    /// A gauge of one's own; the same name gives the same gauge.
    pub fn gauge(&self, name: &str, help: &str) -> Result<Gauge, MetricError> {
        self.register(|authors, registry| authors.gauge(registry, name, help))
    }

    /// A histogram of one's own with the given upper bounds ([`BUCKETS`] suit durations in seconds); the same
    /// name gives the same histogram.
    pub fn histogram(&self, name: &str, help: &str, buckets: &[f64]) -> Result<Histogram, MetricError> {
        self.register(|authors, registry| authors.histogram(registry, name, help, buckets))
    }

    fn register<T>(&self, register: impl FnOnce(&mut Authors, &mut Registry) -> T) -> T {
        let mut authors = self.shared.authors.lock().unwrap_or_else(PoisonError::into_inner);
        let mut registry = self.shared.registry.write().unwrap_or_else(PoisonError::into_inner);
        register(&mut authors, &mut registry)
    }

    /// Runs a future and keeps how long it took, as `operation_duration_seconds{operation,result}` with
    /// `success`, `failure`, or `cancelled` if it was dropped before its end.
    pub async fn measure<T, E>(
        &self,
        operation: &str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let mut measured = Measured {
            operations: self.shared.operations.clone(),
            operation: operation.to_owned(),
            started: tokio::time::Instant::now(),
            result: "cancelled",
        };
        let outcome = work.await;
        measured.result = if outcome.is_ok() { "success" } else { "failure" };
        outcome
    }
}

struct Measured {
    operations: Durations,
    operation: String,
    started: tokio::time::Instant,
    result: &'static str,
}

impl Drop for Measured {
    fn drop(&mut self) {
        let labels =
            vec![("operation", std::mem::take(&mut self.operation)), ("result", self.result.to_owned())];
        self.operations.get_or_create(&labels).observe(self.started.elapsed().as_secs_f64());
    }
}

/// The runtime's own metrics while they are registered.
struct Own {
    registry: Registry,
    authors: Authors,
}

impl Own {
    fn counter(&mut self, name: &str, help: &str) -> Counters {
        self.authors.reserve(name);
        let family = Counters::default();
        // The encoder adds the suffix.
        self.registry.register(name.trim_end_matches("_total"), help, family.clone());
        family
    }

    fn gauge(&mut self, name: &str, help: &str) -> Gauges {
        self.authors.reserve(name);
        let family = Gauges::default();
        self.registry.register(name, help, family.clone());
        family
    }

    fn durations(&mut self, name: &str, help: &str) -> Durations {
        for suffix in ["", "_sum", "_count", "_bucket"] {
            self.authors.reserve(&format!("{name}{suffix}"));
        }
        let family = durations();
        self.registry.register(name, help, family.clone());
        family
    }
}

type FloatGauge = PlainGauge<f64, AtomicU64>;

#[cfg(test)]
mod tests;
