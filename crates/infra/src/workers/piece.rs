//! One piece of work, from its claim to its release.

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::trace::TraceContextExt as _;
use slipway_orchestrator::Changeset;
use slipway_orchestrator::ports::store::{Claim, WorkRows as _};
use slipway_orchestrator::ports::{Store as _, StoreError};
use slipway_orchestrator::workers::{Next, Worker};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::field::Empty;
use tracing::{Instrument as _, debug, info_span, warn};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::Stage;
use super::pause::backoff;
use crate::postgres::PostgresStore;

/// How a piece ended, for counting failures.
pub(super) struct Ended {
    pub(super) key: String,
    pub(super) failed: bool,
}

pub(super) struct Piece {
    store: PostgresStore,
    worker: Arc<dyn Worker>,
    claim: Claim,
    failures: u32,
}

impl Piece {
    pub(super) fn new(store: PostgresStore, worker: Arc<dyn Worker>, claim: Claim, failures: u32) -> Self {
        Self { store, worker, claim, failures }
    }

    /// Does the work while the claim holds.
    pub(super) async fn run(self, stage: watch::Receiver<Stage>) -> Ended {
        let span =
            info_span!("work", kind = self.claim.work.kind, key = %self.claim.work.key, traceId = Empty);
        // As with requests: whatever is logged of it can be found together.
        let trace = span.context().span().span_context().clone();
        if trace.is_valid() {
            span.record("traceId", trace.trace_id().to_string());
        }
        self.work(stage).instrument(span).await
    }

    async fn work(self, mut stage: watch::Receiver<Stage>) -> Ended {
        debug!(epoch = self.claim.epoch, "work begins");
        let outcome = tokio::select! {
            biased;
            outcome = self.worker.work(&self.claim) => Some(outcome),
            () = self.lost() => {
                warn!("the claim was lost while the work went on; it is left to whoever has it now");
                None
            }
            () = Stage::LettingGo.reached(&mut stage) => {
                debug!("the server stops; the work is given back");
                self.release(Duration::ZERO).await;
                None
            }
        };
        let failed = matches!(outcome, Some(Err(_)));
        // Before it is given back: what the logs of all servers say about one piece never overlaps.
        debug!(epoch = self.claim.epoch, failed, "work ended");
        match outcome {
            None => {}
            Some(Ok(Next::After(pause))) => self.release(pause).await,
            Some(Ok(Next::Ended)) => self.end().await,
            Some(Err(error)) => {
                let pause = backoff(self.failures + 1);
                let cause = error.source().map(chain).unwrap_or_default();
                warn!(%error, cause, again_in = ?pause, "work failed; it is tried again");
                self.release(pause).await;
            }
        }
        Ended { key: self.claim.work.key, failed }
    }

    /// Keeps the claim; returns once it is lost, or may be.
    async fn lost(&self) {
        let lease = self.worker.lease();
        let mut until = Instant::now() + lease;
        loop {
            sleep(lease / 3).await;
            let asked = Instant::now();
            match timeout_at(until, self.store.keep(&self.claim, lease)).await {
                Ok(Ok(true)) => until = asked + lease,
                Ok(Ok(false)) | Err(_) => return,
                Ok(Err(error)) => {
                    debug!(%error, "the claim could not be kept");
                    if Instant::now() >= until {
                        return;
                    }
                }
            }
        }
    }

    async fn release(&self, pause: Duration) {
        if let Err(error) = self.store.release(&self.claim, pause).await {
            debug!(%error, "the work could not be given back; its lease runs out");
        }
    }

    async fn end(&self) {
        let ended = Changeset::new().finish(self.claim.work.clone()).fenced(self.claim.fence());
        match self.store.commit(ended).await {
            // It may have been made due anew meanwhile, and is then still there, to be done again at once.
            Ok(()) => self.release(Duration::ZERO).await,
            // The worker ended it with its own commit.
            Err(StoreError::Fenced) => {}
            Err(error) => debug!(%error, "the work could not be ended; it is done once more"),
        }
    }
}

fn chain(cause: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(cause), |&cause| cause.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
