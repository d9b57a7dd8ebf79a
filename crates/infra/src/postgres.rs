//! The database: PostgreSQL, 15 or newer. All SQL is here, one file per aggregate.
//!
//! A [`PostgresStore`] is one server's view of it. Reads go to a pool; the one write is
//! [`commit`](slipway_orchestrator::ports::Store::commit), one transaction.

mod approvals;
mod audit;
mod clock;
mod clusters;
mod commit;
mod connect;
mod crds;
pub mod embedded;
mod error;
mod events;
mod figures;
mod health;
mod keys;
mod limits;
mod listener;
mod migrate;
mod moment;
mod operators;
mod outbox;
mod rollouts;
mod settings;
mod transaction;
mod upkeep;
mod users;
mod work;

use std::sync::Arc;

use async_trait::async_trait;
use slipway_orchestrator::Changeset;
use slipway_orchestrator::ports::{Store, StoreError};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

pub use clock::DatabaseClock;
pub use connect::{ConnectError, Options, connect};
pub use error::{Refusal, refused};
pub use keys::{OtherKeys, compare_keys};
pub use listener::News;
pub use migrate::{MigrateError, migrate};
pub use moment::Moment;
pub use upkeep::DatabaseUpkeep;

use listener::Listener;

/// The database, as one server sees it. Clones share everything.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    pool: PgPool,
    // Claims are kept over connections of their own: a pool that requests have emptied must not cost a
    // server its work.
    heartbeats: PgPool,
    listener: Arc<Listener>,
    server: Arc<str>,
}

impl PostgresStore {
    /// On a database that is migrated. The name says in `work.claimed_by` which server holds what; no two
    /// servers may have the same. Must be called inside a runtime: it listens for news in the background.
    pub fn new(pool: PgPool, server: &str) -> Self {
        let heartbeats = PgPoolOptions::new()
            .max_connections(2)
            .acquire_timeout(pool.options().get_acquire_timeout())
            .connect_lazy_with((*pool.connect_options()).clone());
        let listener = Arc::new(Listener::start(&pool));
        Self { pool, heartbeats, listener, server: server.into() }
    }

    /// The connections, for adapters of other ports.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Closes all connections, once what uses them is done.
    pub async fn close(&self) {
        self.heartbeats.close().await;
        self.pool.close().await;
    }

    /// What other servers, and this one, tell by their commits.
    pub fn news(&self) -> &News {
        self.listener.news()
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn commit(&self, changes: Changeset) -> Result<(), StoreError> {
        commit::commit(&self.pool, changes).await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT last FROM counters WHERE name = 'events'")
            .fetch_one(&self.pool)
            .await
            .map(drop)
            .map_err(refused)
    }
}
