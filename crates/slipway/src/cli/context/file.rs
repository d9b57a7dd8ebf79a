//! Reading and writing the file.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::Contexts;

/// Why contexts cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContextError {
    #[error("there is no context {name}; {}", those(.known))]
    Unknown { name: String, known: Vec<String> },
    #[error("{} cannot be {doing}", .path.display())]
    File { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is not a file of contexts: {reason}", .path.display())]
    Content { path: PathBuf, reason: String },
    #[error("{} holds tokens and may be read by others; close it: chmod 600 {}", .path.display(), .path.display())]
    Open { path: PathBuf },
    #[error("there is no place for contexts: neither XDG_CONFIG_HOME nor HOME is set")]
    Homeless,
}

fn those(names: &[String]) -> String {
    if names.is_empty() {
        "there are none yet; log in: slipway login --server https://…".to_owned()
    } else {
        format!("there are {}", names.join(", "))
    }
}

/// Where the file is: `$XDG_CONFIG_HOME/slipway/config.yaml`, or below `~/.config`.
pub(crate) fn path() -> Result<PathBuf, ContextError> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| set("HOME").map(|home| home.join(".config")));
    Ok(base.ok_or(ContextError::Homeless)?.join("slipway/config.yaml"))
}

impl Contexts {
    /// Those of whoever runs this; none where there is no file.
    pub(crate) fn load() -> Result<Self, ContextError> {
        Self::read(&path()?)
    }

    /// Keeps them for whoever runs this.
    pub(crate) fn save(&self) -> Result<(), ContextError> {
        self.write(&path()?)
    }

    pub(super) fn read(path: &Path) -> Result<Self, ContextError> {
        let failed = |source| ContextError::File { doing: "read", path: path.to_owned(), source };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed(error)),
        };
        if fs::metadata(path).map_err(failed)?.permissions().mode() & 0o077 != 0 {
            return Err(ContextError::Open { path: path.to_owned() });
        }
        // The reason is told without the line it is about, which may hold a token.
        let read: Option<Self> = serde_saphyr::from_str(&text).map_err(|error| ContextError::Content {
            path: path.to_owned(),
            reason: error.without_snippet().to_string(),
        })?;
        Ok(read.unwrap_or_default())
    }

    /// Beside the file first, then in its place: whoever reads meanwhile has the old or the new, whole.
    pub(super) fn write(&self, path: &Path) -> Result<(), ContextError> {
        let failed = |source| ContextError::File { doing: "written", path: path.to_owned(), source };
        let text = serde_saphyr::to_string(self)
            .map_err(|error| ContextError::Content { path: path.to_owned(), reason: error.to_string() })?;
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory).map_err(failed)?;
        }
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&beside, path));
        written.map_err(|error| {
            let _ = fs::remove_file(&beside);
            failed(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use slipway_client::Token;

    use super::super::Context;
    use super::*;

    #[test]
    fn contexts_are_kept_for_their_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("slipway/config.yaml");
        assert_eq!(Contexts::read(&path).unwrap(), Contexts::default());

        let mut contexts = Contexts::default();
        let mut prod = Context::new("https://slipway.example:5001");
        prod.set_token(Some(&Token::new("sesame", Some("2026-01-02T03:04:05Z".parse().unwrap()))));
        contexts.put("prod", prod);
        contexts.write(&path).unwrap();
        contexts.write(&path).unwrap();

        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = Contexts::read(&path).unwrap();
        assert_eq!(read, contexts);
        assert_eq!(read.named("prod").unwrap().token().unwrap().secret(), "sesame");
        assert!(!format!("{read:?}").contains("sesame"));
        assert_eq!(read.named("dev").unwrap_err().to_string(), "there is no context dev; there are prod");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.yaml");
        Contexts::default().write(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = Contexts::read(&path).unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_damaged_file_is_named_without_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.yaml");
        fs::write(&path, "contexts:\n  prod:\n    server: [sesame\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let error = Contexts::read(&path).unwrap_err().to_string();
        assert!(
            error.contains("config.yaml is not a file of contexts") && !error.contains("sesame"),
            "{error}"
        );
    }
}
