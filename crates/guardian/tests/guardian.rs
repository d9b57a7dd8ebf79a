//! What the guardian promises, tried with real processes.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn guardian(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_guardian"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// A shell program that leaves a daemon in a session of its own, whose pid it writes to `pid`.
fn daemonize(pid: &Path) -> String {
    format!("setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600' & wait", pid.display())
}

fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited 20 s for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn pid_in(file: &Path) -> u32 {
    wait_for("the daemon's pid", || fs::read_to_string(file).ok()?.trim().parse().ok())
}

fn is_alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

#[test]
fn the_programs_exit_code_is_passed_on() {
    let mut child = guardian(&["sh", "-c", "exit 7"]);
    let _stdin = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

#[test]
fn a_program_that_cannot_run_is_named() {
    let mut child = guardian(&["/no/such/program"]);
    let _stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot run /no/such/program"));
}

#[test]
fn when_the_owner_lets_go_even_a_daemon_in_its_own_session_ends() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("pid");
    let mut child = guardian(&["sh", "-c", &daemonize(&file)]);
    let daemon = pid_in(&file);
    assert!(is_alive(daemon));
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(!is_alive(daemon));
}

#[test]
fn a_daemon_does_not_survive_the_program_that_left_it() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("pid");
    let leave =
        daemonize(&file).replace("wait", &format!("while ! [ -s {} ]; do sleep 0.01; done", file.display()));
    let mut child = guardian(&["sh", "-c", &leave]);
    let _stdin = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!is_alive(pid_in(&file)));
}

#[test]
fn a_program_that_ignores_the_request_to_end_is_killed_after_its_grace() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("pid");
    let stubborn = format!("trap '' TERM; echo $$ > {}; while :; do sleep 0.05; done", file.display());
    let mut child = guardian(&["--grace", "0.2", "sh", "-c", &stubborn]);
    let pid = pid_in(&file);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(137));
    assert!(!is_alive(pid));
}

#[test]
fn a_program_is_ended_at_its_deadline() {
    let mut child = guardian(&["--deadline", "0.2", "sleep", "600"]);
    let _stdin = child.stdin.take();
    assert_eq!(child.wait().unwrap().code(), Some(124));
}

#[test]
fn the_program_dies_with_a_guardian_that_is_killed() {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("log");
    let mut child = guardian(&["--log", log.to_str().unwrap(), "sleep", "600"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pid: u32 = line.trim().strip_prefix("started ").unwrap().parse().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for("the program's end", || (!is_alive(pid)).then_some(()));
}

#[test]
fn what_was_to_be_removed_is_gone_once_the_program_is() {
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().join("data");
    fs::create_dir(&directory).unwrap();
    let write = format!("while :; do date > {}/file; done", directory.display());
    let mut child = guardian(&["--remove", directory.to_str().unwrap(), "sh", "-c", &write]);
    wait_for("the first file", || directory.join("file").exists().then_some(()));
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(!directory.exists());
}

#[test]
fn a_program_may_run_as_another_user_with_its_output_in_a_log() {
    if !rustix::process::getuid().is_root() {
        println!("skipped: only root can become another user");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("log");
    let mut child = guardian(&[
        "--log",
        log.to_str().unwrap(),
        "--user",
        "nobody",
        "--directory",
        "/",
        "sh",
        "-c",
        "id -un; pwd",
    ]);
    let _stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), "nobody\n/\n");
    assert!(String::from_utf8_lossy(&output.stdout).ends_with("ended 0\n"));
}

#[test]
fn a_termination_signal_to_the_guardian_ends_the_program_too() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("pid");
    let mut child = guardian(&["sh", "-c", &daemonize(&file)]);
    let _stdin = child.stdin.take();
    let daemon = pid_in(&file);
    let guardian = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(guardian, rustix::process::Signal::TERM).unwrap();
    child.wait().unwrap();
    assert!(!is_alive(daemon));
}

#[test]
fn a_guardian_below_another_still_removes_what_it_was_told_to() {
    let scratch = tempfile::tempdir().unwrap();
    let (file, directory) = (scratch.path().join("pid"), scratch.path().join("data"));
    fs::create_dir(&directory).unwrap();
    // In a group of its own, as owners start guardians. The shell between them holds the inner guardian's standard input, and is killed without warning.
    let inner = format!(
        "(sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait) | \
         setsid {1} --remove {2} sh -c 'echo $$ > {0}-inner.new; mv {0}-inner.new {0}-inner; exec sleep 600'",
        file.display(),
        env!("CARGO_BIN_EXE_guardian"),
        directory.display()
    );
    let mut child = guardian(&["--stop-signal", "KILL", "sh", "-c", &inner]);
    pid_in(&file);
    // Only a guardian that has begun can keep its word.
    pid_in(&scratch.path().join("pid-inner"));
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(!directory.exists());
}
