//! Databases are real, apart from each other, and gone afterwards.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use slipway_testkit::postgres::{Database, Postgres, PostgresInfo};
use sqlx::{Connection as _, Executor as _, PgConnection};

async fn people(database: &Database) -> Result<Vec<String>> {
    let mut connection = database.connect().await?;
    Ok(sqlx::query_scalar("SELECT name FROM people ORDER BY name").fetch_all(&mut connection).await?)
}

async fn databases(postgres: &Postgres) -> Result<Vec<String>> {
    let mut admin = PgConnection::connect(&postgres.info().admin_url).await?;
    Ok(sqlx::query_scalar("SELECT datname FROM pg_database").fetch_all(&mut admin).await?)
}

/// What a program's migrations would do, with a pool that stays open as theirs might.
async fn migrate(url: String) -> Result<()> {
    let pool = sqlx::PgPool::connect(&url).await?;
    pool.execute("CREATE TABLE people (name text PRIMARY KEY)").await?;
    pool.execute("INSERT INTO people VALUES ('from the template')").await?;
    std::mem::forget(pool);
    Ok(())
}

#[tokio::test]
async fn two_databases_do_not_see_each_other() -> Result<()> {
    let postgres = Postgres::start().await?;
    let (one, other) = (postgres.database().await?, postgres.database().await?);
    let pool = one.pool().await?;
    pool.execute("CREATE TABLE people (name text)").await?;
    pool.execute("INSERT INTO people VALUES ('only here')").await?;
    assert_eq!(people(&one).await?, ["only here"]);
    let error = people(&other).await.expect_err("the other database has no such table");
    assert!(format!("{error:#}").contains("\"people\" does not exist"), "{error:#}");
    Ok(())
}

#[tokio::test]
async fn a_dropped_database_is_gone_even_while_somebody_is_connected() -> Result<()> {
    let postgres = Postgres::start().await?;
    let database = postgres.database().await?;
    let name = database.name().to_owned();
    assert!(databases(&postgres).await?.contains(&name));
    let mut connection = database.connect().await?;
    drop(database);
    assert!(!databases(&postgres).await?.contains(&name));
    assert!(connection.ping().await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_template_is_migrated_once_and_cloned() -> Result<()> {
    let postgres = Postgres::start().await?;
    // As another process would come to the same server.
    let info: PostgresInfo = serde_json::from_str(&serde_json::to_string(postgres.info())?)?;
    let attached = Postgres::connect_to(&info.admin_url)?;
    let migrations = AtomicUsize::new(0);
    let counted = async |url: String| {
        migrations.fetch_add(1, Ordering::Relaxed);
        migrate(url).await
    };
    let (first, second, third) = tokio::try_join!(
        postgres.cloned("v1", counted),
        attached.cloned("v1", counted),
        attached.cloned("v1", counted)
    )?;
    assert_eq!(migrations.load(Ordering::Relaxed), 1);
    first.pool().await?.execute("INSERT INTO people VALUES ('in the first')").await?;
    assert_eq!(people(&first).await?, ["from the template", "in the first"]);
    assert_eq!(people(&second).await?, ["from the template"]);
    assert_eq!(people(&third).await?, ["from the template"]);
    postgres.cloned("v2", counted).await?;
    assert_eq!(migrations.load(Ordering::Relaxed), 2, "another key is another template");
    Ok(())
}

#[tokio::test]
async fn a_migration_that_failed_is_tried_again_from_nothing() -> Result<()> {
    let postgres = Postgres::start().await?;
    let half = async |url: String| {
        migrate(url).await?;
        anyhow::bail!("out of luck")
    };
    let error = postgres.cloned("v1", half).await.expect_err("the migration failed");
    assert!(format!("{error:#}").ends_with("out of luck"), "{error:#}");
    let database = postgres.cloned("v1", migrate).await?;
    assert_eq!(people(&database).await?, ["from the template"]);
    Ok(())
}

#[tokio::test]
async fn a_durable_database_survives_a_kill_and_a_restart() -> Result<()> {
    let mut postgres = Postgres::builder().durable().start().await?;
    let database = postgres.database().await?;
    let mut connection = database.connect().await?;
    let fsync: String = sqlx::query_scalar("SHOW fsync").fetch_one(&mut connection).await?;
    assert_eq!(fsync, "on");
    connection.execute("CREATE TABLE people (name text)").await?;
    connection.execute("INSERT INTO people VALUES ('committed')").await?;
    connection.execute("BEGIN").await?;
    connection.execute("INSERT INTO people VALUES ('not committed')").await?;

    postgres.kill().await?;
    assert!(people(&database).await.is_err(), "a killed server does not answer");
    postgres.restart().await?;
    assert!(postgres.log().contains("automatic recovery in progress"), "it was a crash, not a stop");
    assert_eq!(people(&database).await?, ["committed"]);

    postgres.stop().await?;
    assert!(people(&database).await.is_err(), "a stopped server does not answer");
    postgres.restart().await?;
    assert_eq!(people(&database).await?, ["committed"]);
    Ok(())
}

#[tokio::test]
async fn a_wrong_password_is_refused() -> Result<()> {
    let postgres = Postgres::start().await?;
    let (_, host) = postgres.info().admin_url.split_once('@').expect("the address has a password");
    let error =
        PgConnection::connect(&format!("postgres://postgres:guess@{host}")).await.expect_err("a guess");
    assert!(error.to_string().contains("password authentication failed"), "{error}");
    Ok(())
}

#[tokio::test]
async fn nothing_is_left_of_a_server() -> Result<()> {
    let mut postgres = Postgres::builder().setting("application_name", "leftovers").start().await?;
    let mut admin = PgConnection::connect(&postgres.info().admin_url).await?;
    let data: String = sqlx::query_scalar("SHOW data_directory").fetch_one(&mut admin).await?;
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut admin).await?;
    let lock = std::fs::read_to_string(format!("{data}/postmaster.pid"))?;
    let memory =
        lock.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)).expect("a lock").to_owned();
    let shared = || std::fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let has_memory = |list: &str| list.lines().any(|line| line.split_whitespace().nth(1) == Some(&memory));
    assert!(has_memory(&shared()), "the server has shared memory while it runs");
    postgres.kill().await?;
    drop(postgres);
    assert!(!std::path::Path::new(&data).exists());
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    assert!(!has_memory(&shared()), "shared memory {memory} is left");
    Ok(())
}

#[tokio::test]
async fn tests_share_a_server_and_not_their_databases() {
    slipway_testkit::init();
    let (one, two) = (Postgres::shared().await.unwrap(), Postgres::shared().await.unwrap());
    assert_eq!(one.info(), two.info());
    let (first, second) = (one.database().await.unwrap(), two.database().await.unwrap());
    assert_ne!(first.name(), second.name());
}
