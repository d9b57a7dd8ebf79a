//! Directories that do not outlive the process that made them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};

use crate::guardian::guardian;

/// A directory of one's own, removed when dropped, or by a guardian when this process is killed.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the guardian at the end of the process.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Makes a fresh, empty directory.
pub fn scratch(name: &str) -> anyhow::Result<Scratch> {
    let path = unused(name)?;
    fs::create_dir(&path).with_context(|| format!("making the directory {}", path.display()))?;
    // Programs that run as another user must be able to pass through.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o711))?;
    Ok(Scratch { path })
}

/// The path of a file that does not exist yet, in this process's own directory.
pub fn scratch_file(name: &str) -> anyhow::Result<PathBuf> {
    unused(name)
}

fn unused(name: &str) -> anyhow::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    Ok(base()?.join(format!("{}-{name}", NEXT.fetch_add(1, Ordering::Relaxed))))
}

/// This process's own directory, and the guardian that removes it when this process lets go.
struct Base {
    path: PathBuf,
    janitor: Mutex<Child>,
}

static BASE: OnceLock<Result<Base, String>> = OnceLock::new();

/// Short, since it holds Unix sockets, whose paths may have 107 bytes.
fn base() -> anyhow::Result<&'static Path> {
    let base = BASE.get_or_init(|| {
        let make = || -> anyhow::Result<Base> {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_micros();
            let path = std::env::temp_dir().join(format!("slipway-{:x}-{now:x}", std::process::id()));
            // The guardian first: a process killed between the two leaves no directory.
            let janitor = Command::new(guardian()?)
                .arg("--remove")
                .arg(&path)
                .process_group(0)
                .stdin(Stdio::piped())
                .spawn()
                .context("starting the guardian of the scratch directory")?;
            fs::create_dir(&path).with_context(|| format!("making the directory {}", path.display()))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o711))?;
            Ok(Base { path, janitor: Mutex::new(janitor) })
        };
        make().map_err(|error| format!("{error:#}"))
    });
    base.as_ref().map(|base| base.path.as_path()).map_err(|error| anyhow!("{error}"))
}

/// Removes this process's own directory, for a program that says that everything is gone. Nothing
/// of the test kit can be used afterwards.
pub(crate) fn close() {
    if let Some(Ok(base)) = BASE.get() {
        let mut janitor = base.janitor.lock().unwrap_or_else(PoisonError::into_inner);
        drop(janitor.stdin.take());
        let _ = janitor.wait();
    }
}
