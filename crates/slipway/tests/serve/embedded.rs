//! On a bare folder: PostgreSQL is the server's own.

use std::fs;

use slipway_testkit::until;

use crate::program::{LONG, Served, folder, slipway};

#[tokio::test]
async fn it_serves_on_a_bare_folder_and_loses_nothing_however_it_ends() {
    let folder = folder();
    let lock = folder.path().join("data/postgres/data/postmaster.pid");
    let served = Served::start(folder.path(), &[]).await;
    assert_eq!(served.status("/health").await, 200);
    assert_eq!(served.status("/ready").await, 200);
    assert_eq!(served.status("/api/v1/operators").await, 401, "nobody is known yet");
    assert!(served.printed.contains("password: "), "the first admin's password is shown");

    let second = slipway(&["serve", "--listen=127.0.0.1:0", "--data-dir"])
        .arg(folder.path().join("data"))
        .output()
        .unwrap();
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(!second.status.success());
    assert!(said.contains(&format!("another Slipway server (process {})", served.id())), "{said}");

    let backup = folder.path().join("backup");
    let saved = slipway(&["db", "backup", "--data-dir"])
        .arg(folder.path().join("data"))
        .arg(&backup)
        .output()
        .unwrap();
    assert!(saved.status.success(), "{}", String::from_utf8_lossy(&saved.stderr));

    assert_eq!(served.stop().await.code(), Some(0), "it stops in order");
    assert!(!lock.exists(), "and PostgreSQL with it");

    let again = Served::start(folder.path(), &[]).await;
    assert!(!again.printed.contains("password"), "the admin is still there");
    assert_eq!(again.status("/ready").await, 200);
    again.kill().await;
    until("PostgreSQL to follow", LONG, async || (!lock.exists()).then_some(())).await.unwrap();

    let again = Served::start(folder.path(), &[]).await;
    assert!(!again.printed.contains("password"), "the admin is still there");
    let postgres: i32 = fs::read_to_string(&lock).unwrap().lines().next().unwrap().parse().unwrap();
    let process = rustix::process::Pid::from_raw(postgres).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    until("PostgreSQL to be started again", LONG, async || {
        let other = fs::read_to_string(&lock).ok()?.lines().next()? != postgres.to_string();
        (other && again.status("/ready").await == 200).then_some(())
    })
    .await
    .unwrap();
    assert_eq!(again.stop().await.code(), Some(0));

    let restored = slipway(&["db", "restore", "--data-dir"])
        .arg(folder.path().join("data"))
        .arg(&backup)
        .output()
        .unwrap();
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    let again = Served::start(folder.path(), &[]).await;
    assert!(!again.printed.contains("password"), "the admin is in the backup");
    assert_eq!(again.stop().await.code(), Some(0));

    // Data of a PostgreSQL that is not on this machine is left alone.
    let version = folder.path().join("data/postgres/data/PG_VERSION");
    let major = fs::read_to_string(&version).unwrap();
    fs::write(&version, "9\n").unwrap();
    for command in
        [["serve", "--listen=127.0.0.1:0", "--data-dir"].as_slice(), &["db", "backup", "x", "--data-dir"]]
    {
        let refused = slipway(command).arg(folder.path().join("data")).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success());
        assert!(said.contains("is of PostgreSQL 9, and this machine has PostgreSQL"), "{said}");
    }
    fs::write(&version, major).unwrap();
    let again = Served::start(folder.path(), &[]).await;
    assert_eq!(again.status("/ready").await, 200);
    assert_eq!(again.stop().await.code(), Some(0));
}
