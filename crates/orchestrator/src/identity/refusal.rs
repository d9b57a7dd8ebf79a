//! Why somebody is not let in: the same for all on the outside, exact in the audit.

use jiff::Timestamp;
use slipway_domain::user::User;

use crate::error::{Code, Error};

/// Why a login failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// Whatever was typed as a name is not repeated: people type passwords there.
    #[error("there is no such user")]
    NoUser,
    #[error("locked until {0} after too many failures")]
    NameLocked(Timestamp),
    #[error("too many failures from this address; it is not heard until {0}")]
    SourceLocked(Timestamp),
    #[error("wrong password")]
    Password,
    #[error("the account is disabled")]
    Disabled,
    #[error("they log in through another issuer and have no password")]
    NoPassword,
    #[error("the one-time password ended at {0}")]
    OneTimeOver(Timestamp),
}

impl Refusal {
    /// What the caller is told: one sentence, whatever the reason.
    pub(super) fn outside() -> Error {
        Error::new(Code::Unauthorized, "the username or the password is wrong")
    }

    /// The resource of the audit.
    pub(super) fn resource(user: Option<&User>) -> String {
        user.map_or_else(|| "user/unknown".to_owned(), |user| format!("user/{}", user.username))
    }
}
