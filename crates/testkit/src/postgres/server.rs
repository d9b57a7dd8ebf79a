//! The server program: made, started, stopped and killed.

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::{PATIENCE, answers};
use crate::{Part, PartBuilder, Scratch, free_port, postgres_directory, scratch, until};

/// Another program may take the port between our look and the server's start.
const ATTEMPTS: usize = 5;

/// For every server of ours: room for many tests, and nothing outside its own folder.
const SETTINGS: &[(&str, &str)] = &[
    ("listen_addresses", "127.0.0.1"),
    ("max_connections", "300"),
    ("shared_buffers", "64MB"),
    ("dynamic_shared_memory_type", "mmap"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
];

/// What a test does not need: surviving the machine, not the process.
const QUICK: &[(&str, &str)] =
    &[("fsync", "off"), ("synchronous_commit", "off"), ("full_page_writes", "off")];

/// A server of our own.
#[derive(Debug)]
pub(super) struct Server {
    again: PartBuilder,
    // Before its folder: the program ends first.
    part: Option<Part>,
    data: PathBuf,
    log: PathBuf,
    _scratch: Scratch,
}

impl Server {
    /// Makes and starts a server; returns it with its address for a superuser.
    pub(super) async fn start(durable: bool, settings: &[(String, String)]) -> Result<(Self, String)> {
        let programs = postgres_directory()?;
        let owner = Owner::find()?;
        let scratch = scratch("postgres")?;
        let folder = scratch.path().to_owned();
        let data = folder.join("data");
        let password = token();
        let secret = folder.join("password");
        fs::write(&secret, &password).with_context(|| format!("could not write {}", secret.display()))?;
        owner.give(&folder)?;
        owner.give(&secret)?;
        let make = Part::builder("initdb", "/bin/sh")
            .args(["-c", include_str!("initdb.sh"), "initdb"])
            .arg(programs.join("initdb"))
            .args(["--username=postgres", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8"])
            .args(["--no-sync", "--no-instructions"])
            .arg(format!("--pwfile={}", secret.display()))
            .arg("--pgdata")
            .arg(&data)
            .cwd(&folder)
            .grace(PATIENCE);
        owner.run(make).run().await.context("could not make a PostgreSQL server")?;

        let log = folder.join("log");
        let mut said = String::new();
        for _ in 0..ATTEMPTS {
            let port = free_port();
            let mut program = Part::builder("postgres", programs.join("postgres"))
                .arg("-D")
                .arg(&data)
                .arg(format!("--unix_socket_directories={}", folder.display()))
                .arg(format!("--port={port}"))
                .cwd(&folder)
                .log_file(&log)
                // Quick, but in order: a kill would leave its shared memory behind.
                .stop_signal("QUIT");
            let quick = if durable { &[] } else { QUICK };
            for (name, value) in SETTINGS.iter().chain(quick) {
                program = program.arg(format!("--{name}={value}"));
            }
            for (name, value) in settings {
                program = program.arg(format!("--{name}={value}"));
            }
            let again = owner.run(program);
            let running = again.clone().start()?;
            let url = format!("postgres://postgres:{password}@127.0.0.1:{port}/postgres");
            if answers(&url, || running.is_running()).await? {
                return Ok((Self { again, part: Some(running), data, log, _scratch: scratch }, url));
            }
            said = running.log();
        }
        bail!("PostgreSQL did not start on any of {ATTEMPTS} ports; it said: {said}")
    }

    pub(super) async fn stop(&mut self) -> Result<()> {
        self.end(Signal::INT).await
    }

    pub(super) async fn kill(&mut self) -> Result<()> {
        self.end(Signal::KILL).await
    }

    async fn end(&mut self, signal: Signal) -> Result<()> {
        let Some(part) = self.part.take() else { return Ok(()) };
        part.signal(signal)?;
        let gone = until("PostgreSQL to end", PATIENCE, async || (!part.is_running()).then_some(())).await;
        gone.with_context(|| format!("it said: {}", part.log()))
    }

    pub(super) async fn restart(&mut self, url: &str) -> Result<()> {
        self.stop().await?;
        for _ in 0..ATTEMPTS {
            let part = self.again.clone().start()?;
            if answers(url, || part.is_running()).await? {
                self.part = Some(part);
                return Ok(());
            }
        }
        bail!("PostgreSQL did not start again; it said: {}", self.log())
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.part.take());
        // A killed server leaves its lock, and with it a piece of shared memory that only it would reclaim.
        let Ok(lock) = fs::read_to_string(self.data.join("postmaster.pid")) else { return };
        if let Some(id) = lock.lines().nth(6).and_then(|line| line.split_whitespace().nth(1)) {
            let _ = Command::new("ipcrm").args(["-m", id]).stderr(Stdio::null()).status();
        }
    }
}

/// Whose server it is: PostgreSQL does not run as root.
enum Owner {
    Myself,
    Other { name: &'static str, user: u32, group: u32 },
}

impl Owner {
    fn find() -> Result<Self> {
        if !rustix::process::getuid().is_root() {
            return Ok(Self::Myself);
        }
        let users = fs::read_to_string("/etc/passwd").context("could not read the users of this machine")?;
        for name in ["postgres", "nobody"] {
            let fields = users
                .lines()
                .map(|line| line.split(':').collect::<Vec<_>>())
                .find(|fields| fields.first() == Some(&name));
            let id = |index: usize| fields.as_ref()?.get(index)?.parse().ok();
            if let (Some(user), Some(group)) = (id(2), id(3)) {
                return Ok(Self::Other { name, user, group });
            }
        }
        bail!(
            "PostgreSQL does not run as root, and there is no user postgres or nobody: run: adduser --system postgres"
        )
    }

    fn give(&self, path: &Path) -> Result<()> {
        let Self::Other { name, user, group } = self else { return Ok(()) };
        std::os::unix::fs::chown(path, Some(*user), Some(*group))
            .with_context(|| format!("could not give {} to {name}", path.display()))
    }

    fn run(&self, part: PartBuilder) -> PartBuilder {
        match self {
            Self::Myself => part,
            Self::Other { name, .. } => part.user(name),
        }
    }
}

/// Sixteen bytes that nobody can guess, in hexadecimal: the standard library seeds its hashers from the system.
pub(super) fn token() -> String {
    format!("{:016x}{:016x}", RandomState::new().hash_one(0), RandomState::new().hash_one(1))
}
