//! Packed charts as files, and back.

use std::io::Read as _;

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

use crate::error::HelmError;

/// A file of a chart: its path below the chart's own folder, and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
}

impl File {
    pub(crate) fn new(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: content.into() }
    }
}

/// The files of a packed chart. What it holds was bounded when it was fetched.
pub(crate) fn unpack(archive: &[u8]) -> Result<Vec<File>, HelmError> {
    let broken = |error: std::io::Error| HelmError::Archive { reason: error.to_string() };
    let mut files = Vec::new();
    for entry in tar::Archive::new(GzDecoder::new(archive)).entries().map_err(broken)? {
        let mut entry = entry.map_err(broken)?;
        if entry.header().entry_type() != EntryType::Regular {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        // The first part is the chart's folder, whatever it is called.
        let Some((_, below)) = path.trim_start_matches("./").split_once('/') else { continue };
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(broken)?;
        files.push(File::new(below, content));
    }
    Ok(files)
}

/// A file of a packed chart, by its path below the chart's own folder; nothing where there is none.
pub fn file_of(archive: &[u8], path: &str) -> Result<Option<Vec<u8>>, HelmError> {
    Ok(unpack(archive)?.into_iter().find(|file| file.path == path).map(|file| file.content))
}

/// Packs a chart, the same bytes for the same files.
pub(crate) fn pack(folder: &str, files: &[File]) -> Result<Vec<u8>, HelmError> {
    let broken = |error: std::io::Error| HelmError::Archive { reason: error.to_string() };
    let mut archive = tar::Builder::new(GzBuilder::new().write(Vec::new(), Compression::fast()));
    for file in files {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o600);
        header.set_mtime(0);
        header.set_size(file.content.len() as u64);
        let path = format!("{folder}/{}", file.path);
        archive.append_data(&mut header, path, file.content.as_slice()).map_err(broken)?;
    }
    archive.into_inner().and_then(flate2::write::GzEncoder::finish).map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked_again() {
        let files = [File::new("Chart.yaml", "name: a"), File::new("templates/x.yaml", "{{ fail }}")];
        let packed = pack("greeter", &files).unwrap();
        assert_eq!(unpack(&packed).unwrap(), files);
        assert_eq!(packed, pack("greeter", &files).unwrap());
        assert!(matches!(unpack(b"no archive"), Err(HelmError::Archive { .. })));
    }
}
