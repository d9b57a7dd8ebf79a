//! Carries what happens to the metrics.

use std::sync::Arc;
use std::time::Duration;

use crate::client::RequestObserver;
use crate::controller::Strain;
use crate::leader::Leadership;
use crate::metrics::{Metrics, QueueMetrics};
use crate::queue::QueueObserver;
use crate::webhook::WebhookObserver;

/// Counts requests to the API server, and notices when it has too much to do.
pub(super) struct Requests {
    pub(super) metrics: Metrics,
    pub(super) strain: Arc<Strain>,
}

impl RequestObserver for Requests {
    fn request(&self, verb: &'static str, resource: &str, status: u16, elapsed: Duration) {
        let code = if status == 0 { "none".to_owned() } else { status.to_string() };
        self.metrics.request(verb, resource, &code, elapsed);
        // A list takes as long as it is, a write as long as the server is busy. Leases are written when
        // nothing else is, so they tell what is usual.
        if matches!(verb, "create" | "update" | "patch" | "delete") && status != 0 {
            self.strain.saw(elapsed, status == 429);
        }
    }
}

/// Counts what webhooks are asked.
pub(super) struct Webhooks(pub(super) Metrics);

impl WebhookObserver for Webhooks {
    fn served(&self, webhook: &str, operation: &str, allowed: bool, elapsed: Duration) {
        self.0.webhook(webhook, operation, allowed, elapsed);
    }
}

/// Counts what goes through a queue.
pub(super) struct Queue(pub(super) QueueMetrics);

impl QueueObserver for Queue {
    fn depth(&self, depth: usize) {
        self.0.depth(depth);
    }

    fn processing(&self, processing: usize) {
        self.0.unfinished(processing);
    }

    fn added(&self) {
        self.0.added();
    }

    fn retried(&self) {
        self.0.retried();
    }

    fn waited(&self, waited: Duration) {
        self.0.waited(waited);
    }
}

/// Tells the metrics who leads, for as long as it is polled.
pub(super) async fn leadership(metrics: Metrics, lease: String, leadership: Leadership) {
    let mut states = leadership.subscribe();
    let mut leader: Option<Option<String>> = None;
    loop {
        let state = states.borrow_and_update().clone();
        metrics.leader(&lease, leadership.is_leader());
        // The first leader that is seen is no transition.
        if leader.as_ref().is_some_and(|known| *known != state.leader) && state.leader.is_some() {
            metrics.leader_transition(&lease);
        }
        if state.leader.is_some() {
            leader = Some(state.leader);
        }
        if states.changed().await.is_err() {
            return;
        }
    }
}

/// Keeps the numbers of objects by kind, namespace and phase, for as long as it is polled.
pub(super) async fn resources(metrics: Metrics, informer: Arc<crate::cache::Informer>) {
    let kind = informer.options().api.kind.clone();
    loop {
        let objects = informer.store().all();
        let counted = objects.iter().map(|held| {
            let meta = held.meta();
            (meta.key.namespace.as_deref().unwrap_or_default(), meta.phase.as_deref())
        });
        metrics.resource_counts(&kind, counted);
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
}
