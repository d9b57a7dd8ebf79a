//! Nothing outlives its owner, not even one that is killed.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use slipway_testkit::until;

/// The processes whose command line or environment names a directory.
fn processes_of(directory: &Path) -> Vec<String> {
    let needle = directory.display().to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .map(|command| String::from_utf8_lossy(&command).replace('\0', " "))
        .filter(|command| command.contains(&needle))
        .collect()
}

#[tokio::test]
async fn a_killed_test_process_leaves_no_process_no_port_and_no_directory() {
    let scratch = slipway_testkit::scratch("killed").unwrap();
    let mut holder = Command::new(env!("CARGO_BIN_EXE_hold"))
        .arg("parts")
        .env_remove("SLIPWAY_BROKER")
        .env("TMPDIR", scratch.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let held: serde_json::Value = serde_json::from_str(&line).unwrap();
    let server = held["server"].as_str().unwrap().trim_start_matches("https://").to_owned();
    let logs = held["logs"].as_object().unwrap().values().chain([&held["kubeconfig"]]);
    let files: Vec<_> = logs.map(|path| PathBuf::from(path.as_str().unwrap())).collect();
    assert!(files.iter().all(|file| file.exists()), "{files:?}");
    assert!(TcpStream::connect(&server).is_ok());
    let programs = processes_of(scratch.path());
    for program in ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "kwok", "postgres"]
    {
        assert!(programs.iter().any(|command| command.contains(program)), "{program} in {programs:#?}");
    }

    holder.kill().unwrap();
    holder.wait().unwrap();
    until("everything to be gone", Duration::from_secs(30), async || {
        let empty = fs::read_dir(scratch.path()).unwrap().next().is_none();
        (processes_of(scratch.path()).is_empty() && empty).then_some(())
    })
    .await
    .unwrap_or_else(|error| {
        let left: Vec<_> =
            fs::read_dir(scratch.path()).unwrap().flatten().map(|entry| entry.path()).collect();
        panic!("{error}: {left:?} {:#?}", processes_of(scratch.path()))
    });
    assert!(TcpStream::connect(&server).is_err());
}
