//! The database: one that somebody runs, or one of our own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use slipway_infra::postgres::embedded::{Embedded, EmbeddedOptions};
use slipway_infra::postgres::{Options, PostgresStore, connect, migrate};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::config::Config;

/// How long to wait between attempts, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// How long connections may take to close.
const GOODBYE: Duration = Duration::from_secs(5);

/// The folder of a PostgreSQL of our own.
pub(crate) fn folder(config: &Config) -> PathBuf {
    config.data_dir.join("postgres")
}

/// A database that is migrated and answers.
pub(super) struct Database {
    store: PostgresStore,
    embedded: Option<Embedded>,
}

impl Database {
    /// Opens it; one that is only not there yet is waited for.
    pub(super) async fn open(config: &Config, guardian: &Path) -> anyhow::Result<Self> {
        let (embedded, options) = if let Some(url) = &config.database_url {
            (None, Options::new(url.reveal()))
        } else {
            let options = EmbeddedOptions { folder: folder(config), guardian: guardian.to_owned() };
            let embedded = Embedded::start(&options).await?;
            let options = embedded.options();
            (Some(embedded), options)
        };
        let options = Options { connections: config.database_connections, ..options };
        let (mut pause, longest) = PAUSES;
        let pool = loop {
            match connect(&options).await {
                Ok(pool) => break pool,
                Err(error) if error.may_pass() => {
                    warn!(error = format!("{:#}", anyhow::Error::new(error)), "waiting for the database");
                    sleep(pause).await;
                    pause = (pause * 2).min(longest);
                }
                Err(error) => return Err(error.into()),
            }
        };
        migrate(&pool).await?;
        info!("the database is ready");
        Ok(Self { store: PostgresStore::new(pool, &server_name()), embedded })
    }

    /// The store on it.
    pub(super) fn store(&self) -> &PostgresStore {
        &self.store
    }

    /// Closes the connections, and ends a server of our own.
    pub(super) async fn close(self) {
        // A request that was cut off may still hold a connection; it is not waited for.
        let _ = timeout(GOODBYE, self.store.close()).await;
        if let Some(embedded) = self.embedded {
            embedded.stop().await;
        }
    }
}

/// A PostgreSQL of our own for a moment, for a command.
pub(crate) async fn embedded(config: &Config) -> anyhow::Result<Embedded> {
    let guardian = super::guardian(&config.data_dir)?;
    let options = EmbeddedOptions { folder: folder(config), guardian };
    Embedded::start(&options).await.context("starting PostgreSQL")
}

/// A name that no other server has: the machine's, the process, and chance for containers that share both.
fn server_name() -> String {
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let chance = uuid::Uuid::new_v4().simple().to_string();
    format!("{}-{}-{}", machine.trim(), std::process::id(), &chance[..8])
}
