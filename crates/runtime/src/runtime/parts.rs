//! An operator that is running.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::admin::{AdminError, Health, RunningAdmin};
use crate::cache::{Informer, ObjectKey};
use crate::client::ClientError;
use crate::crd::InstallError;
use crate::events::Recorder;
use crate::leader::{Elector, InvalidElection, Leadership};
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::webhook::{RunningWebhooks, WebhookError};

/// Why an operator does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// No API server is configured.
    #[error("finding out which API server to talk to; set KUBECONFIG, or run it in a cluster")]
    Config(#[source] Box<kube::config::InferConfigError>),
    /// No client can be made.
    #[error("preparing to talk to the API server")]
    Client(#[from] ClientError),
    /// The election cannot work.
    #[error("setting the leader election up")]
    Election(#[from] InvalidElection),
    /// The admin server does not start.
    #[error("starting the server for probes and metrics")]
    Admin(#[from] AdminError),
    /// Webhooks cannot be served.
    #[error("starting the webhooks")]
    Webhooks(#[from] WebhookError),
    /// A CRD is not installed.
    #[error("installing the CRD {name}")]
    Crd {
        /// The CRD.
        name: String,
        /// Why not.
        #[source]
        source: Box<InstallError>,
    },
    /// Signals cannot be listened to.
    #[error("listening for the signal to end")]
    Signals(#[source] std::io::Error),
    /// A part that should run for ever ended.
    #[error("{0} ended unexpectedly")]
    Ended(&'static str),
}

/// An operator that is running. Dropping it ends everything at once; [`stop`](Self::stop) is kinder.
pub struct Started {
    pub(super) admin: RunningAdmin,
    pub(super) health: Health,
    pub(super) metrics: Metrics,
    pub(super) webhooks: Option<RunningWebhooks>,
    pub(super) electors: Vec<Elector>,
    pub(super) leaderships: Vec<Leadership>,
    pub(super) recorders: Vec<Recorder>,
    pub(super) queues: Vec<(String, Queue<ObjectKey>)>,
    pub(super) informers: Vec<Arc<Informer>>,
    pub(super) workers: JoinSet<()>,
    pub(super) watches: JoinSet<()>,
    pub(super) drain: Duration,
    pub(super) linger: Duration,
}

impl std::fmt::Debug for Started {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Started").field("admin", &self.admin.local_addr()).finish_non_exhaustive()
    }
}

impl Started {
    /// Where probes and metrics are served.
    pub fn admin_address(&self) -> SocketAddr {
        self.admin.local_addr()
    }

    /// Where webhooks are served.
    pub fn webhook_address(&self) -> Option<SocketAddr> {
        self.webhooks.as_ref().map(RunningWebhooks::local_addr)
    }

    /// What is counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Who leads, by each Lease.
    pub fn leaderships(&self) -> &[Leadership] {
        &self.leaderships
    }

    /// Whether everything was listed once.
    pub fn is_synced(&self) -> bool {
        self.informers.iter().all(|informer| informer.is_synced())
    }

    /// Whether nothing waits for a turn and none is being taken.
    pub fn is_idle(&self) -> bool {
        self.queues.iter().all(|(_, queue)| queue.is_idle())
    }
}
