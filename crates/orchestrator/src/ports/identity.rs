//! Passwords, tokens and other issuers.
//!
//! The adapter knows argon2, JWT and OIDC, and nothing of people: who may log in, for how long and as what
//! is decided by the use cases.

mod issuers;
mod passwords;
mod tokens;

pub use issuers::{Authorization, BrowserFlow, Device, IssuerError, IssuerSettings, Issuers, Poll, Vouched};
pub use passwords::{Password, Passwords};
pub use tokens::{Claims, KeyPair, TokenError, TokenKind, Tokens};

/// Passwords, tokens and other issuers.
pub trait Identity: Passwords + Tokens + Issuers {}

impl<T: Passwords + Tokens + Issuers> Identity for T {}

/// Why something about identity did not work, whoever asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// Too many passwords are being checked at once.
    #[error("too many passwords are being checked at once")]
    Busy,
    /// A defect, or a key that cannot be used.
    #[error("could not {doing}")]
    Defect {
        /// What was being done.
        doing: &'static str,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl IdentityError {
    /// A defect while doing something.
    pub fn defect(doing: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Defect { doing, source: source.into() }
    }
}

impl From<IdentityError> for crate::Error {
    fn from(error: IdentityError) -> Self {
        let (code, message) = match &error {
            IdentityError::Busy => (
                crate::Code::Unavailable,
                "too many people log in at this moment; try again in a few seconds",
            ),
            IdentityError::Defect { .. } => {
                (crate::Code::InternalError, "something went wrong here; the trace id finds it in the logs")
            }
        };
        Self::new(code, message).caused_by(error)
    }
}
