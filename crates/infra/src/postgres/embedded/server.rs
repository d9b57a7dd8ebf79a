//! The server program: made, started, watched, ended.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use sqlx::{Connection as _, PgConnection};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use tracing::{error, info, warn};

use super::GRACE;
use super::error::EmbeddedError;
use super::folder::Folder;
use super::owner::Owner;
use super::programs::Programs;

/// How long a server may take to answer; recovery after a crash included.
const PATIENCE: Duration = Duration::from_mins(5);

/// How long making a server may take.
const MAKING: Duration = Duration::from_mins(3);

/// Nothing on the network, nothing outside the folder, logs that do not grow for ever.
const SETTINGS: &[(&str, &str)] = &[
    ("listen_addresses", ""),
    ("port", "5432"),
    ("unix_socket_permissions", "0700"),
    ("max_connections", "100"),
    // Containers have little shared memory.
    ("dynamic_shared_memory_type", "mmap"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
    ("logging_collector", "on"),
    ("log_filename", "postgres-%a.log"),
    ("log_rotation_age", "1d"),
    ("log_rotation_size", "0"),
    ("log_truncate_on_rotation", "on"),
    ("log_file_mode", "0600"),
];

pub(super) struct Server {
    pub(super) folder: Folder,
    pub(super) programs: Programs,
    pub(super) owner: Owner,
    pub(super) guardian: PathBuf,
}

/// A server that was started. Dropping it lets the guardian end it.
pub(super) struct Running {
    guardian: Child,
    // Held: when it closes, the guardian ends the server.
    owner: Option<ChildStdin>,
    folder: Folder,
}

impl Server {
    /// Makes a server beside where its data will be, and moves it there when it is whole.
    pub(super) async fn make(&self) -> Result<(), EmbeddedError> {
        let unfinished = self.folder.unfinished();
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(EmbeddedError::file("remove", &unfinished))?;
        }
        let arguments = [
            self.programs.file("initdb").into_os_string(),
            "--username=postgres".into(),
            "--auth=scram-sha-256".into(),
            "--encoding=UTF8".into(),
            "--locale=C.UTF-8".into(),
            "--no-instructions".into(),
            option("--pwfile=", &self.folder.password_file()),
            option("--pgdata=", &unfinished),
        ];
        let deadline = MAKING.as_secs().to_string();
        let mut running = self.run("initdb", &["--deadline", &deadline], &arguments)?;
        let status = running.guardian.wait().await.map_err(EmbeddedError::file("run", &self.guardian))?;
        if !status.success() {
            return Err(EmbeddedError::Failed { program: "initdb", said: self.folder.last_words() });
        }
        let data = self.folder.data();
        fs::rename(&unfinished, &data).map_err(EmbeddedError::file("make", &data))
    }

    /// Waits until the server of an earlier start is gone: its guardian ends it, which takes a moment.
    pub(super) async fn wait_for_predecessor(&self) -> Result<(), EmbeddedError> {
        let data = self.folder.data();
        let until = Instant::now() + GRACE + GRACE;
        while let Some(process) = self.folder.server_process() {
            let about = PathBuf::from(format!("/proc/{process}"));
            if !about.exists() {
                // It was killed, and PostgreSQL clears that up itself.
                return Ok(());
            }
            // A server works in its data. As another user we may not see it, but then it has that name.
            let ours = fs::read_link(about.join("cwd")).map_or_else(
                |_| fs::read_to_string(about.join("comm")).is_ok_and(|name| name.trim() == "postgres"),
                |cwd| cwd == data,
            );
            if !ours {
                // The machine started anew, and the number is another program's now: PostgreSQL would take
                // that for a server and refuse for ever. The folder is locked, so nobody else uses it.
                let stale = data.join("postmaster.pid");
                warn!(process, "removing the lock of a server that is long gone");
                return fs::remove_file(&stale).map_err(EmbeddedError::file("remove", &stale));
            }
            if Instant::now() >= until {
                return Err(EmbeddedError::Predecessor(process));
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Starts it; it does not answer yet.
    pub(super) fn start(&self) -> Result<Running, EmbeddedError> {
        let mut arguments =
            vec![self.programs.file("postgres").into_os_string(), "-D".into(), self.folder.data().into()];
        arguments.push(option("--unix_socket_directories=", &self.folder.sockets()));
        arguments.push(option("--log_directory=", &self.folder.log()));
        arguments.extend(SETTINGS.iter().map(|(name, value)| format!("--{name}={value}").into()));
        // INT: no new connections, open ones are cut, and everything is written down.
        let grace = GRACE.as_secs().to_string();
        self.run("postgres", &["--stop-signal", "INT", "--grace", &grace], &arguments)
    }

    fn run(
        &self,
        program: &'static str,
        watch: &[&str],
        arguments: &[OsString],
    ) -> Result<Running, EmbeddedError> {
        let log = self.folder.start_log();
        // What an earlier start said would only mislead.
        let _ = fs::remove_file(&log);
        let mut command = Command::new(&self.guardian);
        command.args(watch).arg("--log").arg(&log).arg("--directory").arg(self.folder.path());
        if let Some(user) = self.owner.name() {
            command.args(["--user", user]);
        }
        let mut guardian = command
            .arg("--")
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A terminal's interrupt is for us; the guardian ends the server in order when we are done.
            .process_group(0)
            .kill_on_drop(false)
            .spawn()
            .map_err(EmbeddedError::file("run", &self.guardian))?;
        let owner = guardian.stdin.take();
        if owner.is_none() {
            return Err(EmbeddedError::Failed { program, said: "it has no input".to_owned() });
        }
        Ok(Running { guardian, owner, folder: self.folder.clone() })
    }

    /// Starts the server again whenever it ends, until it is told to stop.
    pub(super) async fn supervise(self, mut running: Running, mut stopped: oneshot::Receiver<()>) {
        let mut pause = Duration::from_millis(200);
        loop {
            let started = Instant::now();
            tokio::select! {
                _ = &mut stopped => return running.end().await,
                _ = running.guardian.wait() => {}
            }
            warn!(said = self.folder.last_words(), "PostgreSQL ended; starting it again");
            if started.elapsed() > Duration::from_mins(1) {
                pause = Duration::from_millis(200);
            }
            loop {
                tokio::select! {
                    _ = &mut stopped => return,
                    () = sleep(pause) => {}
                }
                pause = (pause * 2).min(Duration::from_secs(10));
                match self.start() {
                    Ok(again) => {
                        info!("PostgreSQL was started again");
                        running = again;
                        break;
                    }
                    Err(error) => error!(%error, "PostgreSQL cannot be started"),
                }
            }
        }
    }
}

impl Running {
    /// Waits until the server answers.
    pub(super) async fn answers(&mut self, url: &str) -> Result<(), EmbeddedError> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Ok(Ok(connection)) = timeout(Duration::from_secs(10), PgConnection::connect(url)).await {
                let _ = connection.close().await;
                return Ok(());
            }
            if let Ok(Some(_)) = self.guardian.try_wait() {
                return Err(EmbeddedError::Failed { program: "postgres", said: self.folder.last_words() });
            }
            if Instant::now() >= until {
                return Err(EmbeddedError::Silent { seconds: PATIENCE.as_secs(), log: self.folder.log() });
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Ends it in order.
    async fn end(mut self) {
        drop(self.owner.take());
        let _ = timeout(GRACE + GRACE, self.guardian.wait()).await;
    }
}

fn option(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(value);
    option
}
