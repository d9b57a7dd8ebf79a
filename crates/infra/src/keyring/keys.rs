//! Where keys are kept: one per line, base64, the newest last, so that a further key is appended.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use aws_lc_rs::rand;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

/// The variable that may hold the keys.
pub const KEYRING_VARIABLE: &str = "SLIPWAY_KEYRING";

/// Where the keys come from.
#[derive(Clone)]
pub enum KeySource {
    /// A file that only its owner may read; it is made with a fresh key if it is not there.
    File(PathBuf),
    /// The keys themselves, as they stand in [`KEYRING_VARIABLE`]: separated by commas or line ends.
    Text(Zeroizing<String>),
}

impl std::fmt::Debug for KeySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Text(_) => f.write_str("Text(…)"),
        }
    }
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// The file cannot be read or made.
    #[error("reading the keys in {path}")]
    File {
        /// Which.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Others may read the file.
    #[error(
        "the keys in {path} may be read by others (mode {mode:03o}); \
         let only its owner: chmod 600 {path}"
    )]
    Open {
        /// Which.
        path: String,
        /// Its permissions.
        mode: u32,
    },
    /// A line is no key.
    #[error("key {number} of {place} is not 32 bytes in base64; make one with: openssl rand -base64 32")]
    NotAKey {
        /// Which, from 1.
        number: usize,
        /// Where.
        place: String,
    },
    /// There is none.
    #[error("{0} holds no key; make one with: openssl rand -base64 32")]
    Empty(String),
    /// The cipher refuses it.
    #[error("the cipher does not take the key")]
    Cipher,
    /// There is no randomness.
    #[error("the machine gives no random bytes for a key")]
    Random,
}

impl KeySource {
    /// The keys, the newest last; one at least.
    pub(super) fn read(&self) -> Result<Vec<Zeroizing<[u8; 32]>>, KeysError> {
        match self {
            Self::Text(text) => parse(text, KEYRING_VARIABLE),
            Self::File(path) => parse(&from_file(path)?, &path.display().to_string()),
        }
    }
}

/// What names a key without telling it.
pub(super) fn id(key: &[u8; 32]) -> [u8; 8] {
    let digest = Sha256::new().chain_update(b"slipway key id").chain_update(key).finalize();
    let mut id = [0; 8];
    id.copy_from_slice(&digest[..8]);
    id
}

fn from_file(path: &Path) -> Result<Zeroizing<String>, KeysError> {
    let shown = || path.display().to_string();
    let failed = |source| KeysError::File { path: shown(), source };
    let metadata = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            make(path)?;
            std::fs::metadata(path).map_err(failed)?
        }
        other => other.map_err(failed)?,
    };
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeysError::Open { path: shown(), mode });
    }
    std::fs::read_to_string(path).map(Zeroizing::new).map_err(failed)
}

/// Makes the file with one fresh key, whole or not at all; somebody who was faster wins.
fn make(path: &Path) -> Result<(), KeysError> {
    let failed = |source| KeysError::File { path: path.display().to_string(), source };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory).map_err(failed)?;
    let mut key = Zeroizing::new([0; 32]);
    rand::fill(&mut *key).map_err(|_| KeysError::Random)?;
    // A temporary file is its owner's alone from the start.
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
    let line = Zeroizing::new(format!("{}\n", *Zeroizing::new(STANDARD.encode(*key))));
    file.write_all(line.as_bytes()).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != std::io::ErrorKind::AlreadyExists => Err(failed(error.error)),
        _ => Ok(()),
    }
}

fn parse(text: &str, place: &str) -> Result<Vec<Zeroizing<[u8; 32]>>, KeysError> {
    let lines = text.split(['\n', ',']).map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut keys = Vec::new();
    for (index, line) in lines.enumerate() {
        let bytes = STANDARD.decode(line).map(Zeroizing::new);
        let key = bytes.ok().and_then(|bytes| <[u8; 32]>::try_from(bytes.as_slice()).ok());
        let bad = || KeysError::NotAKey { number: index + 1, place: place.to_owned() };
        keys.push(Zeroizing::new(key.ok_or_else(bad)?));
    }
    if keys.is_empty() { Err(KeysError::Empty(place.to_owned())) } else { Ok(keys) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_made_once_and_only_its_owner_may_read_it() {
        let directory = tempfile::tempdir().unwrap();
        let source = KeySource::File(directory.path().join("deep/keyring"));
        let first = source.read().unwrap();
        assert_eq!(first, source.read().unwrap());
        let mode = std::fs::metadata(directory.path().join("deep/keyring")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_ne!(*first[0], [0; 32]);
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_with_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keyring");
        let source = KeySource::File(path.clone());
        source.read().unwrap();
        for mode in [0o640, 0o604, 0o660] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let error = source.read().unwrap_err().to_string();
            assert!(error.contains(&format!("(mode {mode:03o})")) && error.contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn a_line_that_is_no_key_is_named_and_not_shown() {
        let source = KeySource::Text(format!("{}\nsecret-but-short", STANDARD.encode([1; 32])).into());
        let error = source.read().unwrap_err().to_string();
        assert!(error.starts_with("key 2 of SLIPWAY_KEYRING is not 32 bytes"), "{error}");
        assert!(!error.contains("secret-but-short"));
        assert!(matches!(KeySource::Text(String::from("# none\n").into()).read(), Err(KeysError::Empty(_))));
    }
}
