//! Real Git repositories, with commits that have the same id in every run.
//!
//! No configuration of the machine or its user is read, so a test sees the same Git everywhere.

mod server;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use tokio::process::Command;

use crate::loopback::Access;
use crate::{Program, Scratch, scratch};

pub use server::GitServer;

/// 2024-01-01T00:00:00Z: commits are dated from here on, a minute apart.
const FIRST_COMMIT: u64 = 1_704_067_200;

/// A Git repository with a working tree; dropping it removes it.
#[derive(Debug)]
pub struct GitRepository {
    git: Git,
    commits: AtomicU64,
    // Removed with this value.
    _scratch: Scratch,
}

/// The git program, set up to act on one repository.
#[derive(Clone, Debug)]
struct Git {
    program: PathBuf,
    /// Holds the repository; its home too, so that nothing of the user's is read.
    root: PathBuf,
}

impl GitRepository {
    /// The folder of the repository in what is served over HTTP.
    const NAME: &str = "repository.git";

    /// An empty repository on branch `main`.
    pub async fn new() -> Result<Self> {
        let scratch = scratch("git")?;
        let root = scratch.path().to_owned();
        let path = root.join(Self::NAME);
        std::fs::create_dir(&path).with_context(|| format!("could not make {}", path.display()))?;
        let git = Git { program: Program::Git.find()?, root };
        let repository = Self { git, commits: AtomicU64::new(0), _scratch: scratch };
        repository.git(["init", "--quiet", "--initial-branch=main", "."]).await?;
        // A push may move the branch that is checked out: the working tree follows.
        repository.git(["config", "receive.denyCurrentBranch", "updateInstead"]).await?;
        repository.git(["config", "http.receivepack", "true"]).await?;
        Ok(repository)
    }

    /// Where the working tree is.
    pub fn path(&self) -> PathBuf {
        self.git.root.join(Self::NAME)
    }

    /// The repository's address for programs on this machine.
    pub fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    /// Writes these files, commits everything that changed, and returns the commit's id.
    pub async fn commit<'a>(
        &self,
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
        message: &str,
    ) -> Result<String> {
        for (name, content) in files {
            let path = self.path().join(name);
            let folder = path.parent().unwrap_or(&path);
            std::fs::create_dir_all(folder)
                .with_context(|| format!("could not make {}", folder.display()))?;
            std::fs::write(&path, content).with_context(|| format!("could not write {}", path.display()))?;
        }
        self.git(["add", "--all"]).await?;
        self.git(["commit", "--quiet", "--allow-empty", "--message", message]).await?;
        self.git(["rev-parse", "HEAD"]).await
    }

    /// Goes to this branch, made from the current commit where it does not exist yet.
    pub async fn branch(&self, name: &str) -> Result<()> {
        let reference = format!("refs/heads/{name}");
        let exists = self.git(["show-ref", "--verify", "--quiet", &reference]).await.is_ok();
        let switch = if exists {
            vec!["switch", "--quiet", name]
        } else {
            vec!["switch", "--quiet", "--create", name]
        };
        self.git(switch).await.map(drop)
    }

    /// Puts an annotated tag on the current commit.
    pub async fn tag(&self, name: &str) -> Result<()> {
        self.git(["tag", "--annotate", "--message", name, name]).await.map(drop)
    }

    /// Runs any git command in the repository and returns what it printed.
    pub async fn git<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Result<String> {
        let arguments: Vec<_> = arguments.into_iter().collect();
        let count = if arguments.first() == Some(&"commit") {
            self.commits.fetch_add(1, Ordering::Relaxed)
        } else {
            self.commits.load(Ordering::Relaxed)
        };
        let date = format!("{} +0000", FIRST_COMMIT + 60 * count);
        let mut command = self.git.command(&self.path());
        command.args(&arguments).env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        let output = command.output().await.context("could not run git")?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            bail!("git {} failed ({}): {}", arguments.join(" "), output.status, why.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Serves the repository over HTTP, for reading and for pushing.
    pub async fn serve(&self, access: Access) -> Result<GitServer> {
        GitServer::start(self.git.clone(), Self::NAME, access).await
    }
}

impl Git {
    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.root)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_AUTHOR_NAME", "Slipway Tests")
            .env("GIT_AUTHOR_EMAIL", "tests@slipway.test")
            .env("GIT_COMMITTER_NAME", "Slipway Tests")
            .env("GIT_COMMITTER_EMAIL", "tests@slipway.test")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }
}
