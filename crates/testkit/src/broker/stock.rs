//! What the broker has and starts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use tokio::sync::{OnceCell, Semaphore};

use crate::control_plane::{ControlPlaneOptions, ControlPlaneProcess, Etcd};
use crate::postgres::{Postgres, PostgresInfo};

/// How many control planes start at the same time: more would only slow each other down.
const STARTING: usize = 4;

pub(super) struct Stock {
    etcd: OnceCell<Arc<Etcd>>,
    postgres: OnceCell<Postgres>,
    ready: Mutex<Vec<ControlPlaneProcess>>,
    ahead: usize,
    underway: AtomicU64,
    next: AtomicU64,
    starting: Semaphore,
}

impl Stock {
    pub(super) fn new(ahead: usize) -> Self {
        Self {
            etcd: OnceCell::new(),
            postgres: OnceCell::new(),
            ready: Mutex::default(),
            ahead,
            underway: AtomicU64::new(0),
            next: AtomicU64::new(0),
            starting: Semaphore::new(STARTING),
        }
    }

    /// A control plane that nobody used before: one that was started ahead, where that fits.
    pub(super) async fn control_plane(
        self: &Arc<Self>,
        options: &ControlPlaneOptions,
    ) -> anyhow::Result<ControlPlaneProcess> {
        let ordinary = !options.own_etcd && options.api_server_arguments.is_empty();
        let ready = if ordinary { self.lock().pop() } else { None };
        let Some(mut process) = ready else { return self.start(options).await };
        self.replenish();
        if options.nodes > 0 {
            process.add_nodes(options.nodes).await?;
        }
        Ok(process)
    }

    async fn start(&self, options: &ControlPlaneOptions) -> anyhow::Result<ControlPlaneProcess> {
        let _turn = self.starting.acquire().await?;
        let etcd = if options.own_etcd {
            Arc::new(Etcd::start().await?)
        } else {
            let shared = self.etcd.get_or_try_init(async || anyhow::Ok(Arc::new(Etcd::start().await?)));
            Arc::clone(shared.await?)
        };
        let prefix = format!("cp{}", self.next.fetch_add(1, Ordering::Relaxed));
        ControlPlaneProcess::start(etcd, &prefix, options).await.context("starting a control plane")
    }

    /// Starts control planes ahead, until there are enough.
    pub(super) fn replenish(self: &Arc<Self>) {
        let have = self.lock().len() as u64 + self.underway.load(Ordering::Relaxed);
        for _ in have..self.ahead as u64 {
            self.underway.fetch_add(1, Ordering::Relaxed);
            let stock = Arc::clone(self);
            tokio::spawn(async move {
                match stock.start(&ControlPlaneOptions::default()).await {
                    Ok(process) => stock.lock().push(process),
                    Err(error) => eprintln!("starting a control plane ahead failed: {error:#}"),
                }
                stock.underway.fetch_sub(1, Ordering::Relaxed);
            });
        }
    }

    /// The one PostgreSQL server of the run.
    pub(super) async fn postgres(&self) -> anyhow::Result<PostgresInfo> {
        let server = self.postgres.get_or_try_init(Postgres::start).await?;
        Ok(server.info().clone())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<ControlPlaneProcess>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
