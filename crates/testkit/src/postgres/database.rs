//! Databases of one test each, and the templates that they are copied from.

use std::time::Duration;

use anyhow::{Context, Result};
use reqwest::Url;
use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgPool};

use super::connect;
use super::server::token;

/// Longer, and the server is gone or frozen: not a reason to hold a test up.
const FAREWELL: Duration = Duration::from_secs(10);

/// A database; dropping it drops it from the server, whoever is still connected.
#[derive(Debug)]
pub struct Database {
    name: String,
    url: String,
    admin_url: String,
}

impl Database {
    pub(super) async fn create(admin_url: &str, template: Option<&str>) -> Result<Self> {
        let name = format!("test_{}", token());
        let url = address(admin_url, &name)?;
        let mut admin = connect(admin_url).await?;
        let template = template.unwrap_or("template0");
        run(&mut admin, &format!("CREATE DATABASE {name} TEMPLATE {template}")).await?;
        let _ = admin.close().await;
        Ok(Self { name, url, admin_url: admin_url.to_owned() })
    }

    /// Its name on the server.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its address, with user and password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A pool of a few connections to it.
    pub async fn pool(&self) -> Result<PgPool> {
        let pool = PgPoolOptions::new().max_connections(8).acquire_timeout(Duration::from_secs(10));
        pool.connect(&self.url).await.with_context(|| format!("could not connect to database {}", self.name))
    }

    /// One connection to it.
    pub async fn connect(&self) -> Result<PgConnection> {
        connect(&self.url).await
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let (admin_url, name) = (self.admin_url.clone(), self.name.clone());
        // A thread of its own: the runtime of the test may be this one, or gone.
        let farewell = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                tokio::time::timeout(FAREWELL, async {
                    let mut admin = connect(&admin_url).await?;
                    run(&mut admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await
                })
                .await?
            })
        });
        // A server that is gone has no database left to drop.
        let _: Result<Result<()>, _> = farewell.join();
    }
}

/// The name of the template for this key, made by `migrate` where nobody has yet.
pub(super) async fn template<F: Future<Output = Result<()>>>(
    admin_url: &str,
    key: &str,
    migrate: impl FnOnce(String) -> F,
) -> Result<String> {
    let digest = Sha256::digest(key);
    let number = digest.first_chunk::<8>().map_or(0, |bytes| i64::from_be_bytes(*bytes));
    let name = format!("template_{:016x}", number.cast_unsigned());
    let mut admin = connect(admin_url).await?;
    // Held by the connection: when this process dies half way, the next one goes ahead.
    sqlx::query("SELECT pg_advisory_lock($1)")
        .bind(number)
        .execute(&mut admin)
        .await
        .context("could not wait for others that make the same template")?;
    // A database becomes a template as the last step, so one that is not is what a failure left.
    let made: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1 AND datistemplate)")
            .bind(&name)
            .fetch_one(&mut admin)
            .await
            .context("could not look for the template")?;
    if !made {
        run(&mut admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
        run(&mut admin, &format!("CREATE DATABASE {name} TEMPLATE template0")).await?;
        migrate(address(admin_url, &name)?)
            .await
            .with_context(|| format!("could not migrate the template {key:?}"))?;
        // A template with a connection cannot be copied; the migration may have left a pool open.
        run(&mut admin, &format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")).await?;
        sqlx::query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1")
            .bind(&name)
            .execute(&mut admin)
            .await
            .context("could not close the migration's connections")?;
        run(&mut admin, &format!("ALTER DATABASE {name} WITH IS_TEMPLATE true")).await?;
    }
    // Ends the lock with the connection.
    let _ = admin.close().await;
    Ok(name)
}

async fn run(connection: &mut PgConnection, sql: &str) -> Result<()> {
    connection
        .execute(AssertSqlSafe(sql.to_owned()))
        .await
        .with_context(|| format!("could not run: {sql}"))?;
    Ok(())
}

fn address(admin_url: &str, database: &str) -> Result<String> {
    let mut url = Url::parse(admin_url).context("the server's address is not one")?;
    url.set_path(database);
    Ok(url.into())
}
