//! The server as it runs: whether it stops, and the streams that are open.

use std::sync::Arc;

use prometheus_client::registry::Registry;
use slipway_http::metrics::HttpMetrics;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// How many streams one server holds open.
const STREAMS: usize = 1000;

/// Begins the end: from then on the server is not ready, and streams end, so that it can stop.
#[derive(Debug)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// Begins it.
    pub fn begin(&self) {
        self.0.send_replace(true);
    }
}

/// Whether the server stops.
#[derive(Debug, Clone)]
pub struct Stopping(watch::Receiver<bool>);

impl Stopping {
    /// Not yet, and what begins it.
    pub fn new() -> (Stop, Self) {
        let (sender, receiver) = watch::channel(false);
        (Stop(sender), Self(receiver))
    }

    /// Never.
    pub fn never() -> Self {
        Self::new().1
    }

    /// Whether it does.
    pub fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when it does.
    pub async fn begins(&mut self) {
        if self.0.wait_for(|stopping| *stopping).await.is_err() {
            // Whoever could begin it is gone without doing so.
            std::future::pending::<()>().await;
        }
    }
}

/// The server as it runs.
#[derive(Debug, Clone)]
pub struct Live {
    pub(crate) stopping: Stopping,
    pub(crate) metrics: HttpMetrics,
    streams: Arc<Semaphore>,
}

impl Live {
    pub(crate) fn new(stopping: Stopping, metrics: HttpMetrics) -> Self {
        Self { stopping, metrics, streams: Arc::new(Semaphore::new(STREAMS)) }
    }

    /// Room for one more stream, if there is any.
    pub(crate) fn stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }
}

impl Default for Live {
    fn default() -> Self {
        Self::new(Stopping::never(), HttpMetrics::new(&mut Registry::default()))
    }
}
