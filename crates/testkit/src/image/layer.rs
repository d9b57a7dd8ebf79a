//! The files of an image, as a tar that depends on nothing but them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tar::{EntryType, Header};

/// One entry, by its path without a slash before it.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    Directory {
        mode: u32,
    },
    Bytes {
        content: Vec<u8>,
        mode: u32,
    },
    /// Read when the layer is written: a program built with debug information is large.
    Copy {
        from: PathBuf,
        mode: u32,
    },
    Link {
        target: PathBuf,
    },
}

/// The files of an image, in the order of their paths.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer {
    entries: BTreeMap<PathBuf, Entry>,
}

impl Layer {
    /// Puts an entry at a path, with the directories above it.
    pub(super) fn put(&mut self, path: impl AsRef<Path>, entry: Entry) {
        let path = path.as_ref().strip_prefix("/").unwrap_or(path.as_ref());
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            self.entries.entry(above.to_owned()).or_insert(Entry::Directory { mode: 0o755 });
        }
        self.entries.insert(path.to_owned(), entry);
    }

    /// Writes the tar. Owner and time are always the same, so that the digest is the content's.
    pub(super) fn write(&self, output: impl Write) -> anyhow::Result<()> {
        let mut tar = tar::Builder::new(output);
        for (path, entry) in &self.entries {
            let mut header = Header::new_gnu();
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            header.set_size(0);
            match entry {
                Entry::Directory { mode } => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_mode(*mode);
                    tar.append_data(&mut header, path.join(""), io::empty())
                }
                Entry::Link { target } => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_mode(0o777);
                    tar.append_link(&mut header, path, target)
                }
                Entry::Bytes { content, mode } => {
                    header.set_mode(*mode);
                    header.set_size(content.len() as u64);
                    tar.append_data(&mut header, path, content.as_slice())
                }
                Entry::Copy { from, mode } => {
                    let file = File::open(from).with_context(|| format!("reading {}", from.display()))?;
                    header.set_mode(*mode);
                    header.set_size(file.metadata()?.len());
                    tar.append_data(&mut header, path, file)
                }
            }
            .with_context(|| format!("adding /{}", path.display()))?;
        }
        tar.into_inner()?.flush()?;
        Ok(())
    }
}
