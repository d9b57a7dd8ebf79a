//! The program and its version.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use semver::Version;
use slipway_programs::Program;

use crate::error::HelmError;
use crate::home::Home;
use crate::run::Run;

/// Which of the two lines of helm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Major {
    /// helm 3.
    Three,
    /// helm 4.
    Four,
}

/// A helm that was found and asked for its version.
#[derive(Debug, Clone)]
pub struct Helm {
    pub(crate) program: PathBuf,
    pub(crate) guardian: PathBuf,
    version: Version,
    major: Major,
}

impl Helm {
    /// The helm of this machine: 4 where there is one, else 3. `guardian` is the program that watches over
    /// every run.
    pub async fn find(guardian: &Path) -> Result<Self, HelmError> {
        let program = Program::Helm4
            .find()
            .or_else(|missing| Program::Helm3.find().map_err(|_| missing))
            .or_else(|missing| along_path().ok_or(missing))
            .map_err(HelmError::Missing)?;
        Self::at(&program, guardian).await
    }

    /// The helm in this file.
    pub async fn at(program: &Path, guardian: &Path) -> Result<Self, HelmError> {
        let home = Home::new()?;
        let run = Run {
            program,
            guardian,
            home: &home,
            arguments: ["version", "--template", "{{.Version}}"].map(OsString::from).to_vec(),
            doing: "asking for its version",
            // Generous: it is asked once, and a machine that is busy starts it slowly.
            deadline: Duration::from_mins(1),
            most: 4096,
        };
        let said = String::from_utf8_lossy(&run.output().await?).trim().to_owned();
        let strange = || HelmError::NotHelm { program: program.display().to_string(), said: said.clone() };
        let version = Version::parse(said.trim_start_matches('v')).map_err(|_| strange())?;
        let major = match version.major {
            3 => Major::Three,
            4 => Major::Four,
            _ => return Err(strange()),
        };
        Ok(Self { program: program.to_owned(), guardian: guardian.to_owned(), version, major })
    }

    /// Its version.
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// Which line it is of.
    pub fn major(&self) -> Major {
        self.major
    }
}

fn along_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory| directory.join("helm")).find(|file| file.is_file())
}
