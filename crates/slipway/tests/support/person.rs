//! Somebody with the command line.

use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;
use slipway_testkit::until;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::program::{LONG, Served, slipway};

/// Whoever works with a server from a terminal, with a home of their own.
pub(crate) struct Person {
    home: TempDir,
    /// Every command with what it printed, as on the terminal.
    seen: Mutex<String>,
}

impl Person {
    /// Somebody who never used it before.
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), seen: Mutex::default() }
    }

    /// The first admin of a server, who logged in and chose this password.
    pub(crate) async fn first_admin(served: &Served, password: &str) -> Self {
        let person = Self::new();
        let typed = format!("{}\n{password}\n", served.first_password());
        let login = ["login", "--server", &served.url, "--username", "admin", "--password-stdin"];
        person.typing(&typed, &login).await;
        person
    }

    /// Runs a command that works, and gives what it printed.
    pub(crate) async fn runs(&self, arguments: &[&str]) -> String {
        self.typing("", arguments).await
    }

    /// The same, with this on standard input.
    pub(crate) async fn typing(&self, typed: &str, arguments: &[&str]) -> String {
        let output = self.output(typed, arguments).await;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "slipway {}: {}\n{said}", arguments.join(" "), output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The answer that a script gets.
    pub(crate) async fn json(&self, arguments: &[&str]) -> Value {
        let mut arguments = arguments.to_vec();
        arguments.extend(["-o", "json"]);
        serde_json::from_str(&self.runs(&arguments).await).unwrap()
    }

    /// The same once it fits; somebody who looks every other second is within the limits.
    pub(crate) async fn json_until(&self, arguments: &[&str], fits: impl Fn(&Value) -> bool) -> Value {
        let what = format!("the right answer to slipway {}", arguments.join(" "));
        until(&what, LONG, async || {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let answer = self.json(arguments).await;
            fits(&answer).then_some(answer)
        })
        .await
        .unwrap()
    }

    /// Runs a command that fails with this exit code, and gives what it said.
    pub(crate) async fn fails(&self, code: i32, arguments: &[&str]) -> String {
        self.fails_typing(code, "", arguments).await
    }

    /// The same, with this on standard input.
    pub(crate) async fn fails_typing(&self, code: i32, typed: &str, arguments: &[&str]) -> String {
        let output = self.output(typed, arguments).await;
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "slipway {}: {said}", arguments.join(" "));
        said
    }

    /// Everything on the terminal so far.
    pub(crate) fn terminal(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    /// The token that is kept for the present server.
    pub(crate) fn token(&self) -> String {
        let file = std::fs::read_to_string(self.home.path().join("slipway/config.yaml")).unwrap();
        let mut words = file.split_whitespace().map(|word| word.trim_matches('"'));
        words.find(|word| word.starts_with("eyJ")).expect("somebody is logged in").to_owned()
    }

    /// Where files for commands may be written.
    pub(crate) fn folder(&self) -> &Path {
        self.home.path()
    }

    async fn output(&self, typed: &str, arguments: &[&str]) -> Output {
        let mut command = Command::from(slipway(arguments));
        command
            .env("XDG_CONFIG_HOME", self.home.path())
            .env("NO_COLOR", "1")
            .env_remove("KUBECONFIG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        // A command that reads nothing may be gone already.
        let _ = child.stdin.take().unwrap().write_all(typed.as_bytes()).await;
        let output = child.wait_with_output().await.unwrap();
        let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let mut seen = self.seen.lock().unwrap();
        seen.push_str(&format!("$ slipway {}\n{out}{said}", arguments.join(" ")));
        drop(seen);
        output
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the terminal\n{}", self.terminal());
        }
    }
}
