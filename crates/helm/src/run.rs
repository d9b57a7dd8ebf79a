//! One run under the guardian.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::error::HelmError;
use crate::home::Home;

/// The exit code with which the guardian says that the deadline passed.
const DEADLINE: i32 = 124;
/// What is kept of the other output; helm's messages are short.
const MOST_SAID: usize = 64 * 1024;

/// What is run, and how far it may go.
pub(crate) struct Run<'a> {
    pub(crate) program: &'a Path,
    pub(crate) guardian: &'a Path,
    pub(crate) home: &'a Home,
    pub(crate) arguments: Vec<OsString>,
    /// For errors and logs: `listing releases`.
    pub(crate) doing: &'a str,
    pub(crate) deadline: Duration,
    /// The most that is read of what it prints.
    pub(crate) most: usize,
}

impl Run<'_> {
    /// Runs it and gives what it printed.
    pub(crate) async fn output(self) -> Result<Vec<u8>, HelmError> {
        let start = |source| HelmError::Start { program: self.program.display().to_string(), source };
        let mut command = Command::new(self.guardian);
        command
            .arg("--deadline")
            .arg(self.deadline.as_secs_f64().to_string())
            .args(["--grace", "2", "--remove"])
            .arg(self.home.path())
            .arg("--")
            .arg(self.program)
            .args(&self.arguments)
            .env_clear()
            .envs(self.home.environment())
            .current_dir(self.home.path())
            // Held until the end: when it closes, because this process is gone, the guardian ends helm.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(false);
        let mut child = command.spawn().map_err(start)?;
        let owner = child.stdin.take();
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(start(std::io::Error::other("it has no output")));
        };
        let (printed, said) = tokio::join!(read(stdout, self.most), read(stderr, MOST_SAID));
        let (printed, said) = (printed.map_err(start)?, said.map_err(start)?);
        let too_much = printed.len() > self.most;
        if too_much {
            // Let go of, the guardian ends it.
            drop(owner);
            let _ = child.wait().await;
            return Err(HelmError::TooMuch { doing: self.doing.to_owned(), most: self.most });
        }
        let status = child.wait().await.map_err(start)?;
        drop(owner);
        if status.success() {
            tracing::debug!(doing = self.doing, "helm went well");
            return Ok(printed);
        }
        if status.code() == Some(DEADLINE) {
            return Err(HelmError::Deadline { doing: self.doing.to_owned(), after: self.deadline });
        }
        Err(HelmError::of_output(self.doing, &String::from_utf8_lossy(&said)))
    }
}

/// Reads up to one byte more than the most, so that the caller sees whether there was more.
async fn read(mut from: impl AsyncRead + Unpin, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    (&mut from).take(limit).read_to_end(&mut bytes).await?;
    Ok(bytes)
}
