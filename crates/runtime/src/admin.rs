//! The server for probes, metrics and people: health, readiness, leadership, queues, events.
//!
//! Plain HTTP, read-only, bounded in connections, time and size. It shows what others tell it and
//! decides nothing. Readiness never depends on leadership: a follower whose caches are synced and whose
//! webhooks serve is ready. What shows objects (`/events`, `/watch`) is off by default and, when on,
//! asks the API server who is allowed to see it.

mod guard;
mod health;
mod routes;
mod serve;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde::Serialize;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use guard::{Guard, Refused};
pub use health::{Health, Heartbeat, ReadyFlag};

use crate::events::EventLog;
use crate::metrics::Metrics;

/// Who leads, by one lease.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leadership {
    /// Whether this process does.
    pub is_leader: bool,
    /// What this process calls itself.
    pub identity: String,
    /// The lease.
    pub lease: LeaseView,
}

/// A lease as it was last seen.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseView {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Who holds it; nobody if none.
    pub holder_identity: Option<String>,
    /// When it was acquired.
    pub acquire_time: Option<jiff::Timestamp>,
    /// When it was renewed last.
    pub renew_time: Option<jiff::Timestamp>,
    /// How often it changed hands.
    pub lease_transitions: Option<i32>,
}

type Show<T> = Arc<dyn Fn() -> T + Send + Sync>;

/// What the server shows.
#[derive(Clone)]
pub(crate) struct Shown {
    name: String,
    version: String,
    health: Health,
    metrics: Option<Metrics>,
    leader: Option<Show<Vec<Leadership>>>,
    queues: Option<Show<Value>>,
    crds: Option<Show<Vec<Value>>>,
    events: Option<EventLog>,
    guard: Option<Guard>,
    protect_metrics: bool,
    watchers: Arc<tokio::sync::Semaphore>,
    ending: watch::Receiver<bool>,
}

/// The server before it listens.
pub struct AdminBuilder {
    address: SocketAddr,
    connections: usize,
    watchers: usize,
    name: String,
    version: String,
    health: Health,
    metrics: Option<Metrics>,
    leader: Option<Show<Vec<Leadership>>>,
    queues: Option<Show<Value>>,
    crds: Option<Show<Vec<Value>>>,
    events: Option<EventLog>,
    guard: Option<Guard>,
    protect_metrics: bool,
}

impl fmt::Debug for AdminBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AdminBuilder").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
#[error("listening on {address} for probes and metrics")]
pub struct AdminError {
    /// Where it should have listened.
    pub address: SocketAddr,
    /// Why it cannot.
    #[source]
    pub source: std::io::Error,
}

/// The server for probes, metrics and people.
#[derive(Debug)]
pub struct AdminServer;

impl AdminServer {
    /// A server on this address that only says that it lives.
    pub fn builder(address: SocketAddr) -> AdminBuilder {
        AdminBuilder {
            address,
            connections: 256,
            watchers: 32,
            name: "operator".to_owned(),
            version: String::new(),
            health: Health::new(),
            metrics: None,
            leader: None,
            queues: None,
            crds: None,
            events: None,
            guard: None,
            protect_metrics: false,
        }
    }
}

impl AdminBuilder {
    /// What `/` says this is.
    #[must_use]
    pub fn info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.name = name.into();
        self.version = version.into();
        self
    }

    /// Whose health is shown.
    #[must_use]
    pub fn health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// The metrics of `/metrics`.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// Who leads, lease by lease. None of them means that there is no election, and this process works.
    #[must_use]
    pub fn leader(mut self, leader: impl Fn() -> Vec<Leadership> + Send + Sync + 'static) -> Self {
        self.leader = Some(Arc::new(leader));
        self
    }

    /// What `/debug/queue` shows.
    #[must_use]
    pub fn queues(mut self, queues: impl Fn() -> Value + Send + Sync + 'static) -> Self {
        self.queues = Some(Arc::new(queues));
        self
    }

    /// The CRDs of `/crds` and, by the first of them, `/crd`.
    #[must_use]
    pub fn crds(mut self, crds: impl Fn() -> Vec<Value> + Send + Sync + 'static) -> Self {
        self.crds = Some(Arc::new(crds));
        self
    }

    /// Serves `/events` and `/watch` to those that the API server allows it; guards `/debug/queue` the same
    /// way. The client asks by creating reviews, also on followers: it must not be one that only a leader
    /// may write with.
    #[must_use]
    pub fn events(mut self, events: EventLog, client: Client) -> Self {
        self.events = Some(events);
        self.guard = Some(Guard::new(client));
        self
    }

    /// Guards `/debug/queue` without serving events.
    #[must_use]
    pub fn guard(mut self, guard: Guard) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Guards `/metrics` too, once there is a guard.
    #[must_use]
    pub fn protect_metrics(mut self, protect: bool) -> Self {
        self.protect_metrics = protect;
        self
    }

    /// How many connections may be open, and how many of them may be `/watch`.
    #[must_use]
    pub fn limits(mut self, connections: usize, watchers: usize) -> Self {
        self.connections = connections.max(1);
        self.watchers = watchers;
        self
    }

    /// Listens and serves, on the current runtime.
    pub async fn start(self) -> Result<RunningAdmin, AdminError> {
        let refused = |source| AdminError { address: self.address, source };
        let listener = TcpListener::bind(self.address).await.map_err(refused)?;
        let local_addr = listener.local_addr().map_err(refused)?;
        let (end, ending) = watch::channel(false);
        let health = self.health.clone();
        let shown = Shown {
            name: self.name,
            version: self.version,
            health: self.health,
            metrics: self.metrics,
            leader: self.leader,
            queues: self.queues,
            crds: self.crds,
            events: self.events,
            guard: self.guard,
            protect_metrics: self.protect_metrics,
            watchers: Arc::new(tokio::sync::Semaphore::new(self.watchers)),
            ending: ending.clone(),
        };
        let task = tokio::spawn(serve::serve(listener, routes::router(shown), self.connections, ending));
        tracing::info!(address = %local_addr, "serving probes and metrics");
        Ok(RunningAdmin { local_addr, health, end, task })
    }
}

/// A server that listens. It ends when this is dropped.
#[derive(Debug)]
pub struct RunningAdmin {
    local_addr: SocketAddr,
    health: Health,
    end: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl RunningAdmin {
    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Ends `/watch`, takes no more connections, lets open requests finish for at most so long, and ends.
    pub async fn stop(mut self, drain: Duration) {
        self.health.drain();
        let _ = self.end.send(true);
        if tokio::time::timeout(drain, &mut self.task).await.is_err() {
            tracing::debug!("the admin server ended with requests open");
        }
    }
}

impl Drop for RunningAdmin {
    fn drop(&mut self) {
        self.task.abort();
    }
}
