//! Secrets that are kept in files: read when they are used, so that a changed file counts at once.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

/// No secret is longer.
const MOST: u64 = 64 * 1024;

/// Why a file holds no secret that can be used. It names the file, never what is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretFileError {
    /// It cannot be read.
    #[error("reading the secret in {}", .file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Nothing is in it, or far too much, or something that is not text.
    #[error("{} has to hold a secret as text, 64 KiB at most", .0.display())]
    NoSecret(PathBuf),
}

/// The text of a file without the line end that editors add.
pub fn read(file: &Path) -> Result<Zeroizing<String>, SecretFileError> {
    let unreadable = |source| SecretFileError::Unreadable { file: file.to_owned(), source };
    let mut bytes = Zeroizing::new(Vec::new());
    std::fs::File::open(file)
        .and_then(|file| file.take(MOST + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    let text = std::str::from_utf8(&bytes).ok().map(str::trim_end);
    match text.filter(|text| !text.is_empty() && bytes.len() as u64 <= MOST) {
        Some(text) => Ok(Zeroizing::new(text.to_owned())),
        None => Err(SecretFileError::NoSecret(file.to_owned())),
    }
}
