//! A PostgreSQL of our own: made, kept, found again after every kind of end.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use slipway_infra::postgres::embedded::{Embedded, EmbeddedError, EmbeddedOptions};
use slipway_infra::postgres::{connect, migrate};
use slipway_testkit::guardian::guardian;
use slipway_testkit::until;
use sqlx::{Executor as _, PgPool};

const LONG: Duration = Duration::from_mins(2);

/// A folder that the user of PostgreSQL can reach, whoever runs the test.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("slipway-embedded-").tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn options(folder: &Path) -> EmbeddedOptions {
    EmbeddedOptions { folder: folder.join("postgres"), guardian: guardian().unwrap().to_owned() }
}

async fn start(folder: &Path) -> (Embedded, PgPool) {
    let embedded = Embedded::start(&options(folder)).await.unwrap();
    let pool = connect(&embedded.options()).await.unwrap();
    (embedded, pool)
}

async fn notes(pool: &PgPool) -> Vec<String> {
    sqlx::query_scalar("SELECT text FROM notes ORDER BY text").fetch_all(pool).await.unwrap()
}

fn process(folder: &Path) -> i32 {
    let lock = fs::read_to_string(folder.join("postgres/data/postmaster.pid")).unwrap();
    lock.lines().next().unwrap().parse().unwrap()
}

fn kill(process: i32) {
    let process = rustix::process::Pid::from_raw(process).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn it_is_private_and_keeps_what_was_written() {
    let folder = folder();
    let (embedded, pool) = start(folder.path()).await;
    migrate(&pool).await.unwrap();
    pool.execute("CREATE TABLE notes (text text); INSERT INTO notes VALUES ('kept')").await.unwrap();

    let inner = folder.path().join("postgres");
    let password = fs::metadata(inner.join("password")).unwrap();
    assert_eq!(password.permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(&inner).unwrap().permissions().mode() & 0o777, 0o700);
    let listens: String = sqlx::query_scalar("SHOW listen_addresses").fetch_one(&pool).await.unwrap();
    assert_eq!(listens, "", "nothing is on the network");
    let about = fs::metadata(format!("/proc/{}", process(folder.path()))).unwrap();
    assert_ne!(about.uid(), 0, "it never runs as root");
    let password = fs::read_to_string(inner.join("password")).unwrap();
    let guessed = embedded.options().url.replace(&password, "wrong");
    let stranger = PgPool::connect(&guessed);
    assert!(stranger.await.unwrap_err().to_string().contains("password authentication failed"));

    let second = Embedded::start(&options(folder.path())).await.unwrap_err();
    assert!(matches!(second, EmbeddedError::InUse { .. }), "{second}");
    assert!(second.to_string().contains(&format!("process {}", std::process::id())), "{second}");

    pool.close().await;
    embedded.stop().await;
    assert!(!inner.join("data/postmaster.pid").exists(), "it ended in order");
    let (embedded, pool) = start(folder.path()).await;
    assert_eq!(notes(&pool).await, ["kept"]);
    pool.close().await;
    embedded.stop().await;
}

#[tokio::test]
async fn it_survives_kills_and_what_they_leave() {
    let folder = folder();
    let (embedded, pool) = start(folder.path()).await;
    pool.execute("CREATE TABLE notes (text text); INSERT INTO notes VALUES ('committed')").await.unwrap();
    let first = process(folder.path());
    kill(first);
    until("it to be started again", LONG, async || {
        let other = fs::read_to_string(folder.path().join("postgres/data/postmaster.pid")).ok()?;
        let other = other.lines().next()? != first.to_string();
        (other && sqlx::query("SELECT 1").execute(&pool).await.is_ok()).then_some(())
    })
    .await
    .unwrap();
    assert_eq!(notes(&pool).await, ["committed"]);
    pool.close().await;

    // As a killed server of ours: nobody says goodbye, the guardian ends PostgreSQL meanwhile.
    drop(embedded);
    let (embedded, pool) = start(folder.path()).await;
    assert_eq!(notes(&pool).await, ["committed"]);
    pool.close().await;
    embedded.stop().await;

    // A lock that names a process which is now another program.
    let data = folder.path().join("postgres/data");
    let lock = format!("{}\n{}\n0\n5432\n\n\n0 0\nready\n", std::process::id(), data.display());
    fs::write(data.join("postmaster.pid"), lock).unwrap();
    let (embedded, pool) = start(folder.path()).await;
    assert_eq!(notes(&pool).await, ["committed"]);
    pool.close().await;
    embedded.stop().await;
}

#[tokio::test]
async fn half_made_data_is_made_anew_and_other_versions_are_refused() {
    let folder = folder();
    let unfinished = folder.path().join("postgres/data.new");
    fs::create_dir_all(&unfinished).unwrap();
    fs::write(unfinished.join("PG_VERSION"), "15\n").unwrap();
    let (embedded, pool) = start(folder.path()).await;
    pool.execute("CREATE TABLE notes (text text); INSERT INTO notes VALUES ('first')").await.unwrap();

    let file = folder.path().join("backup");
    let saved = Embedded::backup_of_running(&folder.path().join("postgres"), &file).await.unwrap();
    assert_eq!(saved, Some(()), "a backup does not need the server to stop");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    pool.execute("INSERT INTO notes VALUES ('second')").await.unwrap();
    let junk = folder.path().join("junk");
    fs::write(&junk, "not a backup").unwrap();
    let error = embedded.restore(&junk).await.unwrap_err();
    assert!(error.to_string().starts_with("pg_restore failed; it said: "), "{error}");
    assert_eq!(notes(&pool).await, ["first", "second"], "a bad backup changes nothing");
    pool.close().await;
    embedded.restore(&file).await.unwrap();
    let pool = connect(&embedded.options()).await.unwrap();
    assert_eq!(notes(&pool).await, ["first"]);
    pool.close().await;
    embedded.stop().await;
    let none = Embedded::backup_of_running(&folder.path().join("postgres"), &file).await.unwrap();
    assert_eq!(none, None);

    fs::write(folder.path().join("postgres/data/PG_VERSION"), "9\n").unwrap();
    let error = Embedded::start(&options(folder.path())).await.unwrap_err();
    assert!(matches!(error, EmbeddedError::OtherMajor { .. }), "{error}");
    assert!(error.to_string().contains("is of PostgreSQL 9, and this machine has PostgreSQL"), "{error}");
}

#[tokio::test]
async fn a_folder_that_cannot_do_is_refused_with_the_reason() {
    let folder = folder();
    let long = folder.path().join("x".repeat(100));
    let error = Embedded::start(&options(&long)).await.unwrap_err();
    assert!(matches!(error, EmbeddedError::TooLong { .. }), "{error}");
    if rustix::process::geteuid().is_root() {
        let closed = folder.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        let error = Embedded::start(&options(&closed)).await.unwrap_err();
        assert!(matches!(&error, EmbeddedError::Unreachable { closed: at, .. } if *at == closed));
    }
}
