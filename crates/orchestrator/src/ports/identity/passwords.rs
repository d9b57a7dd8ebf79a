//! Passwords: slow to check, never kept.

use std::fmt;

use async_trait::async_trait;
use zeroize::Zeroizing;

use super::IdentityError;

/// A password on its way through. It is wiped when it is dropped, and its `Debug` says nothing.
#[derive(Clone)]
pub struct Password(Zeroizing<String>);

impl Password {
    /// Takes it over.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text, for whoever hashes or shows it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

/// Hashes and checks passwords.
#[async_trait]
pub trait Passwords: Send + Sync {
    /// What is stored instead of a password.
    async fn hash(&self, password: &Password) -> Result<String, IdentityError>;

    /// Whether it is the password that was hashed. Without a hash it does the same work and says no, so that
    /// nobody can tell from the time who exists.
    async fn is_password(&self, password: &Password, hash: Option<&str>) -> Result<bool, IdentityError>;

    /// A password that nobody can guess and anybody can type.
    fn random_password(&self) -> Result<Password, IdentityError>;
}
