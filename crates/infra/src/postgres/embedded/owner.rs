//! Whom the server runs as: PostgreSQL refuses to be root.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

use super::error::EmbeddedError;

/// Whom the server runs as.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner {
    Myself,
    Other { name: &'static str, user: u32, group: u32 },
}

impl Owner {
    /// Ourselves, unless we are root.
    pub(super) fn find() -> Result<Self, EmbeddedError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Myself);
        }
        let list = Path::new("/etc/passwd");
        let users = fs::read_to_string(list).map_err(EmbeddedError::file("read", list))?;
        ["postgres", "nobody"]
            .into_iter()
            .find_map(|name| {
                let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
                let user = fields.into_iter().find(|fields| fields.first() == Some(&name))?;
                let id = |index: usize| user.get(index)?.parse().ok();
                Some(Self::Other { name, user: id(2)?, group: id(3)? })
            })
            .ok_or(EmbeddedError::NoUser)
    }

    /// The name for the guardian, where it is not ours.
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Myself => None,
            Self::Other { name, .. } => Some(name),
        }
    }

    /// Gives a file or folder to it.
    pub(super) fn give(self, path: &Path) -> Result<(), EmbeddedError> {
        let Self::Other { user, group, .. } = self else { return Ok(()) };
        chown(path, Some(user), Some(group)).map_err(EmbeddedError::file("give away", path))
    }

    /// Makes sure that it can get to a folder.
    pub(super) fn reaches(self, folder: &Path) -> Result<(), EmbeddedError> {
        let Self::Other { name, user, group } = self else { return Ok(()) };
        for ancestor in folder.ancestors() {
            let metadata = fs::metadata(ancestor).map_err(EmbeddedError::file("look at", ancestor))?;
            let enter = match metadata {
                ref own if own.uid() == user => 0o100,
                ref own if own.gid() == group => 0o010,
                _ => 0o001,
            };
            if metadata.permissions().mode() & enter == 0 {
                return Err(EmbeddedError::Unreachable { user: name, closed: ancestor.to_owned() });
            }
        }
        Ok(())
    }
}
