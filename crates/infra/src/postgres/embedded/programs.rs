//! PostgreSQL's programs on this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use slipway_programs::postgres_directory;

use super::error::EmbeddedError;

/// Where Debian and Ubuntu keep several versions beside each other.
const VERSIONS: &str = "/usr/lib/postgresql";

#[derive(Debug, Clone)]
pub(super) struct Programs {
    folder: PathBuf,
    version: String,
}

impl Programs {
    /// Those for data of this major version, or the newest for data that is still to be made; else the
    /// major version that this machine has.
    pub(super) fn find(wanted: Option<&str>) -> Result<Result<Self, String>, EmbeddedError> {
        let usual = Self::at(&postgres_directory().map_err(|_| EmbeddedError::Missing)?)?;
        let Some(major) = wanted.filter(|major| *major != usual.major()) else { return Ok(Ok(usual)) };
        // Older programs often stay on a machine for exactly this.
        let beside = Path::new(VERSIONS).join(major).join("bin");
        if beside.join("postgres").is_file() {
            return Self::at(&beside).map(Ok);
        }
        Ok(Err(usual.major().to_owned()))
    }

    fn at(folder: &Path) -> Result<Self, EmbeddedError> {
        let program = folder.join("postgres");
        let output =
            Command::new(&program).arg("--version").output().map_err(EmbeddedError::file("run", &program))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        match version {
            Some(version) => Ok(Self { folder: folder.to_owned(), version: version.to_owned() }),
            None => Err(EmbeddedError::Failed { program: "postgres --version", said: said.into_owned() }),
        }
    }

    /// Such as `15.18`.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Such as `15`.
    pub(super) fn major(&self) -> &str {
        self.version.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default()
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}
