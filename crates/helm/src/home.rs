//! The private home of one run: helm's own directories, and the files it is given.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::HelmError;

/// A directory that only this user can read; it goes away with the run, even when this process is killed,
/// since the guardian removes it.
#[derive(Debug)]
pub(crate) struct Home {
    directory: TempDir,
}

impl Home {
    pub(crate) fn new() -> Result<Self, HelmError> {
        // Made with mode 0700.
        let directory =
            tempfile::Builder::new().prefix("slipway-helm-").tempdir().map_err(HelmError::Home)?;
        let home = Self { directory };
        for part in ["cache", "config", "data", "plugins"] {
            DirBuilder::new().mode(0o700).create(home.path().join(part)).map_err(HelmError::Home)?;
        }
        Ok(home)
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file that only this user can read.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> Result<PathBuf, HelmError> {
        let path = self.path().join(name);
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(content))
            .map_err(HelmError::Home)?;
        Ok(path)
    }

    /// The environment of a run; everything else of this process stays away from helm.
    pub(crate) fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        vec![
            ("HOME", self.path().to_owned()),
            ("HELM_CACHE_HOME", self.path().join("cache")),
            ("HELM_CONFIG_HOME", self.path().join("config")),
            ("HELM_DATA_HOME", self.path().join("data")),
            ("HELM_PLUGINS", self.path().join("plugins")),
            ("HELM_REPOSITORY_CACHE", self.path().join("cache/repository")),
            ("HELM_REPOSITORY_CONFIG", self.path().join("config/repositories.yaml")),
            ("HELM_REGISTRY_CONFIG", self.path().join("config/registry.json")),
            ("DOCKER_CONFIG", self.path().join("config")),
            // Without one given, helm would look for the user's own; this one does not exist.
            ("KUBECONFIG", self.path().join("kubeconfig")),
            ("HELM_DRIVER", PathBuf::from("secret")),
        ]
    }
}
