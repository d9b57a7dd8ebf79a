//! A migrated database of a test's own. Use it with `mod support;`.
#![allow(dead_code, reason = "each test file uses the part it needs")]
#![allow(unreachable_pub, reason = "it is a module of each test file")]

use std::time::Duration;

use slipway_infra::postgres::{Options, PostgresStore, connect, migrate};
use slipway_testkit::postgres::{Database, Postgres};
use sqlx::PgPool;

/// A migrated database, with a store on it. Keep it as long as the store is used.
pub struct Stored {
    /// The store, of a server called `one`.
    pub store: PostgresStore,
    /// The database.
    pub database: Database,
    postgres: Postgres,
}

/// A fresh, migrated database on the server that all tests share.
pub async fn database() -> Stored {
    on(Postgres::shared().await.expect("PostgreSQL runs")).await
}

/// The same on a server of the test's own, which it may stop and kill: it keeps what is committed.
pub async fn database_of_its_own() -> Stored {
    on(Postgres::builder().durable().start().await.expect("PostgreSQL starts")).await
}

async fn on(postgres: Postgres) -> Stored {
    slipway_testkit::init();
    let mut key = String::from("slipway-infra");
    let mut files: Vec<_> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/migrations"))
        .expect("there are migrations")
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    files.sort();
    // The content is the key, so that a changed migration is not hidden by an old template.
    for file in files {
        key.push_str(&std::fs::read_to_string(&file).expect("a migration can be read"));
    }
    let database = postgres
        .cloned(&key, async |url| {
            let pool = connect(&Options::new(url)).await?;
            migrate(&pool).await?;
            pool.close().await;
            Ok(())
        })
        .await
        .expect("the database can be migrated");
    let store = open(&database, "one").await;
    Stored { store, database, postgres }
}

async fn open(database: &Database, server: &str) -> PostgresStore {
    let options =
        Options { connections: 6, acquire_timeout: Duration::from_secs(10), ..Options::new(database.url()) };
    PostgresStore::new(connect(&options).await.expect("the database answers"), server)
}

impl Stored {
    /// Another server's store on the same database.
    pub async fn another(&self, server: &str) -> PostgresStore {
        open(&self.database, server).await
    }

    /// An empty database beside it, not migrated.
    pub async fn fresh(&self) -> (Database, PgPool) {
        let database = self.postgres.database().await.expect("a database can be made");
        let pool = connect(&Options::new(database.url())).await.expect("the database answers");
        (database, pool)
    }

    /// The server itself; only one of the test's own can be stopped.
    pub fn postgres(&mut self) -> &mut Postgres {
        &mut self.postgres
    }
}
