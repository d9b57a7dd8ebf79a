//! Runs the work that the servers share: claims what is due, keeps the claim while the work goes on, and
//! gives it back with the next time.
//!
//! It decides nothing about the work. A server that dies loses its claims when their leases end; one that
//! cannot reach the database stops acting before that.

mod pause;
mod piece;

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{Claim, WorkRows as _};
use slipway_orchestrator::workers::Worker;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::postgres::PostgresStore;
use pause::{backoff, jitter};
use piece::{Ended, Piece};

/// Work is looked for at least so often, whatever was heard.
const LOOK: Duration = Duration::from_secs(10);

/// How long work under way may take to end once the server stops.
const GRACE: Duration = Duration::from_secs(20);

/// Runs workers on one server.
pub struct Runner {
    store: PostgresStore,
    workers: Vec<Arc<dyn Worker>>,
    grace: Duration,
}

/// What the runner's parts are told about its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// Go on.
    Running,
    /// Claim nothing more, end what is under way.
    Stopping,
    /// Let go of what is under way.
    LettingGo,
}

impl Stage {
    async fn reached(self, told: &mut watch::Receiver<Self>) {
        if told.wait_for(|stage| *stage >= self).await.is_err() {
            // The runner is gone without a word, as if killed; so is everything that waits here.
            std::future::pending::<()>().await;
        }
    }
}

impl Runner {
    /// On this server's store.
    pub fn new(store: PostgresStore) -> Self {
        Self { store, workers: Vec::new(), grace: GRACE }
    }

    /// Adds a worker; each kind of work has one.
    #[must_use]
    pub fn with(mut self, worker: Arc<dyn Worker>) -> Self {
        self.workers.push(worker);
        self
    }

    /// How long work under way may take to end once the server stops, 20 seconds unless told.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Works until `stop`, then ends what is under way, and gives back at once what does not end in time.
    /// Dropping it is as if the server had died: nothing is given back, leases run out.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let (tell, stage) = watch::channel(Stage::Running);
        let mut loops = JoinSet::new();
        for worker in self.workers {
            loops.spawn(run_worker(self.store.clone(), worker, stage.clone()));
        }
        stop.await;
        let _ = tell.send(Stage::Stopping);
        let ended = timeout(self.grace, async { while loops.join_next().await.is_some() {} }).await;
        if ended.is_err() {
            let _ = tell.send(Stage::LettingGo);
            // Giving back is one statement each; a database that is gone does not hold the server up.
            let _ = timeout(self.grace, async { while loops.join_next().await.is_some() {} }).await;
        }
    }
}

async fn run_worker(store: PostgresStore, worker: Arc<dyn Worker>, mut stage: watch::Receiver<Stage>) {
    let kind = worker.kind();
    let at_once = worker.at_once().max(1);
    let woken = store.news().work(kind);
    let mut pieces = JoinSet::new();
    let mut failures: HashMap<String, u32> = HashMap::new();
    let mut outage = 0;
    while *stage.borrow() == Stage::Running {
        let free = at_once.saturating_sub(u32::try_from(pieces.len()).unwrap_or(u32::MAX));
        let pause = match claim(&store, &*worker, free).await {
            Ok((claims, next)) => {
                outage = 0;
                for claim in claims {
                    let failed = failures.get(&claim.work.key).copied().unwrap_or_default();
                    let piece = Piece::new(store.clone(), Arc::clone(&worker), claim, failed);
                    pieces.spawn(piece.run(stage.clone()));
                }
                next
            }
            Err(error) => {
                outage += 1;
                warn!(kind, error = %error, "work cannot be claimed; trying again");
                backoff(outage)
            }
        };
        tokio::select! {
            () = Stage::Stopping.reached(&mut stage) => {}
            Some(ended) = pieces.join_next() => count(kind, &mut failures, ended),
            () = heard(&woken, outage) => {}
            () = sleep(pause) => {}
        }
    }
    while let Some(ended) = pieces.join_next().await {
        count(kind, &mut failures, ended);
    }
    debug!(kind, "no more work is taken");
}

/// Claims as much as there is room for, and says when to look again.
async fn claim(
    store: &PostgresStore,
    worker: &dyn Worker,
    free: u32,
) -> Result<(Vec<Claim>, Duration), StoreError> {
    if free == 0 {
        return Ok((Vec::new(), LOOK));
    }
    let kind = worker.kind();
    let claims = store.claim(kind, free, worker.lease()).await?;
    // With the last place taken, the next look is when a place is free.
    if claims.len() as u64 == u64::from(free) {
        return Ok((claims, LOOK));
    }
    let next = store.next_due(kind).await?.unwrap_or(LOOK).min(LOOK);
    Ok((claims, jitter(next)))
}

/// Returns when work may be due sooner; during an outage nobody knows anything, so only time counts.
async fn heard(woken: &Notify, outage: u32) {
    if outage > 0 {
        std::future::pending::<()>().await;
    }
    woken.notified().await;
}

fn count(kind: &str, failures: &mut HashMap<String, u32>, ended: Result<Ended, tokio::task::JoinError>) {
    match ended {
        Ok(Ended { key, failed: true }) => *failures.entry(key).or_default() += 1,
        Ok(Ended { key, failed: false }) => {
            failures.remove(&key);
        }
        // Its lease runs out, and it is done again.
        Err(error) => warn!(kind, error = %error, "a worker ended without a result"),
    }
}
