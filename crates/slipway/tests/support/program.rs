//! The program, started and ended.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use slipway_testkit::until;
use tempfile::TempDir;

/// Longer than anything takes on a busy machine.
pub(crate) const LONG: Duration = Duration::from_mins(3);

/// A folder that the user of PostgreSQL can reach, whoever runs the test.
pub(crate) fn folder() -> TempDir {
    slipway_testkit::init();
    let folder = tempfile::Builder::new().prefix("slipway-serve-").tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// The program with nothing set but what the test says.
pub(crate) fn slipway(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slipway"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SLIPWAY_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A server that runs. Dropping it kills it.
pub(crate) struct Served {
    child: Child,
    folder: PathBuf,
    /// Where it is reached.
    pub(crate) url: String,
    /// What it printed, which is not its log.
    pub(crate) printed: String,
}

impl Served {
    /// Starts it and waits until it listens.
    pub(crate) async fn start(folder: &Path, arguments: &[&str]) -> Self {
        let (out, log) = (folder.join("printed"), folder.join("log"));
        let data = folder.join("data");
        let mut command = slipway(&["serve", "--listen=127.0.0.1:0", "--data-dir"]);
        command
            .arg(&data)
            .args(arguments)
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let listening = until("the server to listen", LONG, || {
            let said = fs::read_to_string(&log).unwrap();
            if let Some(status) = child.try_wait().unwrap() {
                panic!("it ended with {status}: {said}");
            }
            let mut lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            std::future::ready(lines.find(|line| line["message"] == "listening"))
        })
        .await
        .unwrap();
        let field = |name: &str| {
            let found = listening.get(name).or_else(|| listening["fields"].get(name)).cloned();
            found.unwrap_or_else(|| panic!("no {name} in {listening}"))
        };
        let tls = field("tls") == Value::Bool(true) || field("tls") == "true";
        let address = field("address").as_str().unwrap().to_owned();
        let url = format!("{}://{address}", if tls { "https" } else { "http" });
        let printed = fs::read_to_string(&out).unwrap();
        Self { child, folder: folder.to_owned(), url, printed }
    }

    /// The status of a GET.
    pub(crate) async fn status(&self, path: &str) -> u16 {
        let client = reqwest::Client::builder().timeout(Duration::from_mins(1)).build().unwrap();
        client.get(format!("{}{path}", self.url)).send().await.unwrap().status().as_u16()
    }

    /// The password that was made for the first admin.
    pub(crate) fn first_password(&self) -> String {
        let made = self.printed.lines().find_map(|line| line.trim().strip_prefix("password: "));
        made.expect("the first start prints a password").to_owned()
    }

    /// Everything it logged so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop, and waits.
    pub(crate) async fn stop(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        until("the server to stop", LONG, || std::future::ready(self.child.try_wait().unwrap()))
            .await
            .unwrap()
    }

    /// Kills it as the kernel would.
    pub(crate) async fn kill(mut self) {
        self.signal(Signal::KILL);
        until("the server to be gone", LONG, || std::future::ready(self.child.try_wait().unwrap()))
            .await
            .unwrap();
    }

    /// Sends it a signal: `STOP` freezes it, `CONT` wakes it.
    pub(crate) fn signal(&self, signal: Signal) {
        let process = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(process, signal).unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
