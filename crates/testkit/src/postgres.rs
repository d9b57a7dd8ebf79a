//! A real PostgreSQL server, and databases on it that no other test sees.
//!
//! The server is as quick as one that may lose everything at a power cut, unless it is asked to be
//! durable. It is never root's: PostgreSQL refuses that.

mod database;
mod server;

use std::time::Duration;

use anyhow::{Context, Result};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

use crate::broker::Wanted;
use crate::lease::Lease;
use crate::until;
use server::Server;

pub use database::Database;

/// How long a server may take to answer; recovery after a kill included.
const PATIENCE: Duration = Duration::from_mins(1);

/// A PostgreSQL server: one that this value runs and ends, or one that somebody else runs.
#[derive(Debug)]
pub struct Postgres {
    info: PostgresInfo,
    server: Option<Server>,
}

/// All that another process needs to use a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostgresInfo {
    /// The address of the database `postgres` for a superuser, with the password.
    pub admin_url: String,
}

/// What the server is told before it starts.
#[derive(Clone, Debug, Default)]
pub struct PostgresBuilder {
    durable: bool,
    settings: Vec<(String, String)>,
}

impl PostgresBuilder {
    /// Keeps what is committed, whatever is killed.
    #[must_use]
    pub fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// Sets a configuration parameter, such as `log_statement` to `all`.
    #[must_use]
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Makes a fresh server and starts it on a free port of the loopback interface.
    pub async fn start(self) -> Result<Postgres> {
        let (server, admin_url) = Server::start(self.durable, &self.settings).await?;
        Ok(Postgres { info: PostgresInfo { admin_url }, server: Some(server) })
    }
}

impl Postgres {
    /// A fresh server, quick rather than durable.
    pub async fn start() -> Result<Self> {
        Self::builder().start().await
    }

    /// The server that all tests of a run share; each has its own databases on it.
    pub async fn shared() -> Result<Self> {
        let (_, info): (_, PostgresInfo) = Lease::take(Wanted::Postgres).await?;
        Self::connect_to(&info.admin_url)
    }

    /// A fresh server with settings of its own.
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }

    /// Uses a server that somebody else runs; its end is not ours to decide.
    pub fn connect_to(admin_url: &str) -> Result<Self> {
        // Before anybody depends on it: a wrong address is easier to see here.
        Url::parse(admin_url)
            .with_context(|| format!("{admin_url} is not the address of a PostgreSQL server"))?;
        Ok(Self { info: PostgresInfo { admin_url: admin_url.to_owned() }, server: None })
    }

    /// What another process needs to use this server.
    pub fn info(&self) -> &PostgresInfo {
        &self.info
    }

    /// A fresh, empty database.
    pub async fn database(&self) -> Result<Database> {
        Database::create(&self.info.admin_url, None).await
    }

    /// A fresh database with the content that `migrate` makes.
    ///
    /// `migrate` runs once per server for each key, in a database of its own whose address it gets; all
    /// later databases are copies of that one, made within milliseconds. Callers in other processes wait
    /// for the first. A different migration needs a different key.
    pub async fn cloned<F: Future<Output = Result<()>>>(
        &self,
        key: &str,
        migrate: impl FnOnce(String) -> F,
    ) -> Result<Database> {
        let template = database::template(&self.info.admin_url, key, migrate).await?;
        Database::create(&self.info.admin_url, Some(&template)).await
    }

    /// Runs SQL as superuser in the database `postgres`.
    pub async fn admin(&self, sql: &str) -> Result<()> {
        let mut connection = connect(&self.info.admin_url).await?;
        connection
            .execute(AssertSqlSafe(sql.to_owned()))
            .await
            .with_context(|| format!("could not run: {sql}"))?;
        Ok(())
    }

    /// Stops the server in order; open transactions are rolled back and clients are cut off.
    pub async fn stop(&mut self) -> Result<()> {
        self.own()?.stop().await
    }

    /// Kills the server as a crash would.
    pub async fn kill(&mut self) -> Result<()> {
        self.own()?.kill().await
    }

    /// Starts a stopped or killed server again on the same port, or stops and starts a running one;
    /// returns when it answers.
    pub async fn restart(&mut self) -> Result<()> {
        let admin_url = self.info.admin_url.clone();
        self.own()?.restart(&admin_url).await
    }

    /// What the server printed; nothing where somebody else runs it.
    pub fn log(&self) -> String {
        self.server.as_ref().map(Server::log).unwrap_or_default()
    }

    fn own(&mut self) -> Result<&mut Server> {
        self.server
            .as_mut()
            .context("this PostgreSQL server is shared: start one of your own to stop or kill it")
    }
}

async fn connect(url: &str) -> Result<PgConnection> {
    PgConnection::connect(url).await.context("could not connect to PostgreSQL")
}

/// Waits for an answer; `false` where the server ended instead.
async fn answers(url: &str, is_running: impl Fn() -> bool) -> Result<bool> {
    until("PostgreSQL to answer", PATIENCE, async || match connect(url).await {
        Ok(connection) => {
            let _ = connection.close().await;
            Some(true)
        }
        Err(_) => (!is_running()).then_some(false),
    })
    .await
}
