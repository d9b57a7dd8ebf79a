//! Encryption of what must not be read in the database.

use zeroize::Zeroizing;

/// Seals and opens. What is sealed names its key, so that keys can be changed; it opens only in the context
/// it was sealed for, such as `cluster/<id>`, so that a row cannot be put in the place of another.
pub trait Keyring: Send + Sync {
    /// Encrypts with the newest key.
    fn seal(&self, context: &str, plain: &[u8]) -> Result<Vec<u8>, KeyringError>;

    /// Decrypts with whichever key it was sealed with.
    fn open(&self, context: &str, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyringError>;

    /// Whether it was sealed with a key that is not the newest.
    fn is_old(&self, sealed: &[u8]) -> bool;
}

/// Why something cannot be sealed or opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// The key is not here.
    #[error("it was sealed with key {0}, which this server does not have")]
    UnknownKey(String),
    /// Not ours, or changed, or of another context.
    #[error("it cannot be opened: it was changed, or belongs elsewhere")]
    Damaged,
    /// The key itself cannot be used.
    #[error("the key cannot be used: {0}")]
    Unusable(String),
}
