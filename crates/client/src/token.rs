//! What proves who calls.

use std::fmt;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use zeroize::Zeroizing;

use crate::{Client, ClientError};

/// A token that renewing is worth while for: one that ends within this.
const SOON: SignedDuration = SignedDuration::from_mins(15);

/// A bearer token. It is never printed, and wiped when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    secret: Zeroizing<String>,
    ends: Option<Timestamp>,
}

impl Token {
    /// A token that ends at some time, if that is known.
    pub fn new(secret: impl Into<String>, ends: Option<Timestamp>) -> Self {
        Self { secret: Zeroizing::new(secret.into()), ends }
    }

    /// The token itself, for whoever keeps it.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// When it ends.
    pub fn ends(&self) -> Option<Timestamp> {
        self.ends
    }

    /// Whether it ends soon, and has not ended yet: afterwards it cannot be renewed.
    pub fn ends_soon(&self, now: Timestamp) -> bool {
        self.ends.is_some_and(|ends| now < ends && ends.duration_since(now) <= SOON)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("ends", &self.ends).finish_non_exhaustive()
    }
}

/// Renews a token before it ends, and keeps the new one.
pub trait Renew: Send + Sync {
    /// A new token in exchange for the client's; nothing where the server gives none.
    fn renew<'a>(&'a self, client: &'a Client) -> BoxFuture<'a, Result<Option<Token>, ClientError>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_in_its_last_quarter_of_an_hour() {
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(9);
        let ending = |minutes: i64| Token::new("t", Some(now + SignedDuration::from_mins(minutes)));
        assert!(!ending(16).ends_soon(now));
        assert!(ending(15).ends_soon(now));
        assert!(!ending(0).ends_soon(now), "what has ended cannot be renewed");
        assert!(!Token::new("t", None).ends_soon(now));
    }

    #[test]
    fn a_token_is_not_printed() {
        assert!(!format!("{:?}", Token::new("sesame", None)).contains("sesame"));
    }
}
