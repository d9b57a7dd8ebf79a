//! Logging in, people, sessions and tokens.
//!
//! A token is a signed statement that is checked twice: by its signature, which every server can do alone, and
//! by the row behind it, which says whether it still counts. The row is remembered for a few seconds, and
//! forgotten at once on the server that changes something: so disabling somebody works at once there, and
//! within those seconds everywhere.

mod authenticate;
mod first_admin;
mod keys;
mod login;
mod oidc;
mod refusal;
mod tokens;
mod upkeep;
mod users;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use moka::future::Cache;
use slipway_domain::user::User;
use uuid::Uuid;

use authenticate::Remembered;
use keys::KeySet;

pub use first_admin::FIRST_ADMIN;
pub use oidc::{BrowserReturn, DeviceAnswer, DeviceLogin, Method, OidcStart};
pub use tokens::{MadeToken, NewToken, made_token};
pub use upkeep::{IDENTITY_UPKEEP, IdentityUpkeep};
pub use users::{NewUser, UserChange, changed_user, new_user};
pub(crate) use users::{attempts_of, resource as user_resource, shown as shown_user};

/// What can be set about logging in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentitySettings {
    /// How long a token of a person counts; it is renewed silently before.
    pub token_life: Duration,
    /// How long somebody stays logged in at most, however often the token is renewed.
    pub session_life: Duration,
    /// How long a key signs before the next one does.
    pub key_life: Duration,
    /// How long before that the next one is made and known to all servers.
    pub key_lead: Duration,
    /// How long a server remembers whether a token counts.
    pub standing_life: Duration,
    /// How long a one-time password counts.
    pub one_time_life: Duration,
}

impl Default for IdentitySettings {
    fn default() -> Self {
        Self {
            token_life: Duration::from_hours(1),
            session_life: Duration::from_hours(12),
            key_life: Duration::from_hours(30 * 24),
            key_lead: Duration::from_hours(1),
            standing_life: Duration::from_secs(3),
            one_time_life: Duration::from_hours(7 * 24),
        }
    }
}

/// Somebody who has just logged in, or renewed their token.
#[derive(Clone)]
pub struct LoggedIn {
    /// The token. It is secret.
    pub token: String,
    /// When it ends.
    pub expires_at: Timestamp,
    /// Until when it can be renewed.
    pub session_ends_at: Timestamp,
    /// Who.
    pub user: User,
}

impl fmt::Debug for LoggedIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoggedIn")
            .field("user", &self.user.username)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// What a server remembers between requests: nothing that is not in the database.
pub(crate) struct IdentityState {
    keys: RwLock<Option<Arc<KeySet>>>,
    standing: Cache<Uuid, Remembered>,
    /// Whose refusal was written down a moment ago, so that a machine that keeps trying with a token that was
    /// revoked does not fill the audit.
    refused: Cache<Uuid, ()>,
    /// Which tokens were noted as used a moment ago.
    used: Cache<Uuid, ()>,
    /// Grows with every change on this server; what was remembered before counts for nothing after it. An
    /// answer that was under way while the change was made is told apart by it, too.
    changes: AtomicU64,
}

impl IdentityState {
    pub(crate) fn new() -> Self {
        Self {
            keys: RwLock::default(),
            standing: Cache::builder().max_capacity(10_000).time_to_live(Duration::from_mins(5)).build(),
            refused: Cache::builder().max_capacity(10_000).time_to_live(Duration::from_mins(10)).build(),
            used: Cache::builder().max_capacity(10_000).time_to_live(Duration::from_mins(5)).build(),
            changes: AtomicU64::new(0),
        }
    }

    /// Nothing that was remembered counts any more.
    pub(crate) fn forget(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }
}

/// A point in time so long after another; the end of time where there is none.
pub(crate) fn after(from: Timestamp, span: Duration) -> Timestamp {
    from.checked_add(span).unwrap_or(Timestamp::MAX)
}

/// A point in time so long before another.
pub(crate) fn before(from: Timestamp, span: Duration) -> Timestamp {
    from.checked_sub(span).unwrap_or(Timestamp::MIN)
}
