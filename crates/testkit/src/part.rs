//! One running program, owned by a value.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::guardian::guardian;
use crate::scratch::scratch_file;

/// How much of a log is shown when a test fails.
const TAIL_LINES: usize = 40;

/// A running program, ended with everything it started when this value is dropped or this process dies.
#[derive(Debug)]
pub struct Part {
    builder: PartBuilder,
    log: PathBuf,
    pid: u32,
    guardian: Mutex<Child>,
}

/// How to run a program as a [`Part`].
#[derive(Debug, Clone)]
pub struct PartBuilder {
    name: String,
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    options: Vec<OsString>,
    log: Option<PathBuf>,
}

impl Part {
    /// Begins to describe a program to run; `name` is what people read in messages.
    pub fn builder(name: &str, program: impl AsRef<Path>) -> PartBuilder {
        PartBuilder {
            name: name.to_owned(),
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            options: Vec::new(),
            log: None,
        }
    }

    /// What it printed so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// The file that it prints to.
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// Whether it is still running.
    pub fn is_running(&self) -> bool {
        let mut guardian = self.guardian.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(guardian.try_wait(), Ok(None))
    }

    /// The program's own process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends the program a signal: to freeze it, to wake it, to kill it alone.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw).context("no process id")?;
        kill_process(pid, signal).with_context(|| format!("sending a signal to {}", self.builder.name))
    }

    /// Asks it to end, and waits until it and everything it started is gone.
    pub async fn stop(self) {
        let _ = tokio::task::spawn_blocking(move || self.end()).await;
    }

    /// Ends it the way [`Part::stop`] does and starts it again, with the same arguments and log.
    pub async fn restart(self) -> anyhow::Result<Self> {
        let builder = self.builder.clone().log_file(&self.log);
        self.stop().await;
        builder.start()
    }

    /// How it was started, to start it again after it ended.
    pub fn again(&self) -> PartBuilder {
        self.builder.clone().log_file(&self.log)
    }

    fn end(&self) {
        let mut guardian = self.guardian.lock().unwrap_or_else(PoisonError::into_inner);
        drop(guardian.stdin.take());
        let _ = guardian.wait();
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if std::thread::panicking() {
            print_tail(&self.builder.name, &self.log);
        }
        self.end();
    }
}

/// Shows the end of a log, for a test that fails.
pub fn print_tail(name: &str, log: &Path) {
    let text = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
    let lines: Vec<_> = text.lines().collect();
    let tail = lines.len().saturating_sub(TAIL_LINES);
    eprintln!("--- {name}, last {} of {} lines", lines.len() - tail, lines.len());
    for line in &lines[tail..] {
        eprintln!("    {line}");
    }
}

impl PartBuilder {
    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Runs it in a directory.
    #[must_use]
    pub fn cwd(self, directory: impl AsRef<Path>) -> Self {
        self.option("--directory", directory.as_ref())
    }

    /// Runs it as another user, when this process is root's.
    #[must_use]
    pub fn user(self, name: &str) -> Self {
        self.option("--user", name)
    }

    /// The signal that asks it to end: `TERM` unless told, `INT`, `QUIT` or `KILL`.
    #[must_use]
    pub fn stop_signal(self, signal: &str) -> Self {
        self.option("--stop-signal", signal)
    }

    /// How long it may take to end before it is killed.
    #[must_use]
    pub fn grace(self, grace: Duration) -> Self {
        self.option("--grace", grace.as_secs_f64().to_string())
    }

    /// Ends it after this long, whatever it does.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        self.option("--deadline", deadline.as_secs_f64().to_string())
    }

    /// Has the guardian remove a directory once the program is gone, whoever died.
    #[must_use]
    pub fn remove_on_exit(self, path: impl AsRef<Path>) -> Self {
        self.option("--remove", path.as_ref())
    }

    /// Has the guardian remove a control group once the program is gone.
    #[must_use]
    pub fn remove_cgroup_on_exit(self, name: &str) -> Self {
        self.option("--remove-cgroup", name)
    }

    /// Where its output goes; a scratch file unless told.
    #[must_use]
    pub fn log_file(mut self, path: impl AsRef<Path>) -> Self {
        self.log = Some(path.as_ref().to_owned());
        self
    }

    fn option(mut self, option: &str, value: impl AsRef<OsStr>) -> Self {
        self.options.extend([option.into(), value.as_ref().to_owned()]);
        self
    }

    /// Starts it. That it started does not mean that it is ready.
    pub fn start(self) -> anyhow::Result<Part> {
        let log = match &self.log {
            Some(log) => log.clone(),
            None => scratch_file(&format!("{}.log", self.name))?,
        };
        let mut guardian = Command::new(guardian()?)
            .args(&self.options)
            .arg("--log")
            .arg(&log)
            .arg("--")
            .arg(&self.program)
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            // A terminal's Ctrl-C is for the owner, which then ends its parts in order.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting the guardian of {}", self.name))?;
        let mut line = String::new();
        if let Some(output) = guardian.stdout.take() {
            BufReader::new(output).read_line(&mut line).with_context(|| format!("starting {}", self.name))?;
        }
        let Some(pid) = line.trim().strip_prefix("started ").and_then(|pid| pid.parse().ok()) else {
            let _ = guardian.wait();
            bail!("{} did not start: {}", self.name, fs::read_to_string(&log).unwrap_or_default().trim());
        };
        Ok(Part { builder: self, log, pid, guardian: Mutex::new(guardian) })
    }

    /// Runs it to its end, and gives what it printed; an exit code other than 0 is an error that holds it.
    pub async fn run(self) -> anyhow::Result<String> {
        let part = self.start()?;
        let started = Instant::now();
        while part.is_running() {
            tokio::time::sleep(Duration::from_millis(if started.elapsed().as_secs() < 1 { 5 } else { 50 }))
                .await;
        }
        let status = part.guardian.lock().unwrap_or_else(PoisonError::into_inner).wait()?;
        let output = part.log();
        if !status.success() {
            bail!("{} ended with {status}: {}", part.builder.name, output.trim());
        }
        Ok(output)
    }
}
