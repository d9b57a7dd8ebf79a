//! People, their sessions, tokens of machines, and the keys that sign both.

use std::fmt;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::access::Role;
use slipway_domain::id::{SessionId, TokenId, UserId};
use slipway_domain::user::{ApiToken, LockRules, Turn, User, UserState, Username};

use super::StoreError;
use crate::page::{Page, Window};

/// Which people are wanted; nothing set means all but the deleted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserFilter {
    /// With this role.
    pub role: Option<Role>,
    /// In this state.
    pub state: Option<UserState>,
}

/// Which tokens are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenFilter {
    /// Of this person.
    pub owner: Option<UserId>,
}

/// What is stored instead of a password. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredPassword {
    /// As a PHC string.
    pub hash: String,
    /// When it stops to count, for one that somebody else gave.
    pub until: Option<Timestamp>,
}

impl fmt::Debug for StoredPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredPassword").field("until", &self.until).finish_non_exhaustive()
    }
}

/// Somebody who is logged in somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Which.
    pub id: SessionId,
    /// Who.
    pub user: UserId,
    /// Since when.
    pub started_at: Timestamp,
    /// Until when at most, however often it is renewed.
    pub ends_at: Timestamp,
    /// When it was ended before.
    pub ended_at: Option<Timestamp>,
}

/// A key that signs tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// Its name in the tokens' header.
    pub id: String,
    /// Its place in the line; each number is given once, so that servers that rotate at the same moment make
    /// one key.
    pub number: i64,
    /// For checking.
    pub public: Vec<u8>,
    /// For signing, sealed by the keyring for `signing-key/<id>`.
    pub sealed: Vec<u8>,
    /// From when on it signs.
    pub active_from: Timestamp,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("id", &self.id)
            .field("number", &self.number)
            .field("active_from", &self.active_from)
            .finish_non_exhaustive()
    }
}

/// Whose attempts are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptKey {
    /// Of one name, whether or not somebody has it.
    Name(String),
    /// From one address.
    Source(String),
}

impl AttemptKey {
    /// When it locks.
    pub fn rules(&self) -> &'static LockRules {
        match self {
            Self::Name(_) => &LockRules::NAME,
            Self::Source(_) => &LockRules::SOURCE,
        }
    }
}

/// What may go because its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired {
    /// Sessions that ended before, and tokens that did; attempts that were made before.
    pub before: Timestamp,
    /// Keys that signed nothing since then, and whose every token has ended.
    pub unused_since: Timestamp,
    /// Now.
    pub now: Timestamp,
}

/// Reads, and the few writes that belong to no use case.
#[async_trait]
pub trait UserRows: Send + Sync {
    /// By id.
    async fn user(&self, id: UserId) -> Result<Option<User>, StoreError>;

    /// By name.
    async fn user_by_name(&self, name: &Username) -> Result<Option<User>, StoreError>;

    /// By whom an issuer vouches for.
    async fn user_by_subject(&self, issuer: &str, subject: &str) -> Result<Option<User>, StoreError>;

    /// With the password, for a login.
    async fn user_with_password(
        &self,
        name: &Username,
    ) -> Result<Option<(User, Option<StoredPassword>)>, StoreError>;

    /// By name.
    async fn users(&self, filter: &UserFilter, window: Window) -> Result<Page<User>, StoreError>;

    /// All who have a role and are enabled.
    async fn users_with_role(&self, role: Role) -> Result<Vec<User>, StoreError>;

    /// Whether there was ever anybody.
    async fn has_users(&self) -> Result<bool, StoreError>;

    /// A session with its user.
    async fn session(&self, id: SessionId) -> Result<Option<(Session, User)>, StoreError>;

    /// A token with its owner.
    async fn token(&self, id: TokenId) -> Result<Option<(ApiToken, User)>, StoreError>;

    /// The newest first.
    async fn tokens(&self, filter: &TokenFilter, window: Window) -> Result<Page<ApiToken>, StoreError>;

    /// All keys that sign or still check, the oldest first.
    async fn signing_keys(&self) -> Result<Vec<SigningKey>, StoreError>;

    /// Counts an attempt for each key before the password is looked at; each key's turn, in order. Attempts of
    /// one key are counted one after the other, whichever server they reach.
    async fn count_attempt(&self, keys: &[AttemptKey], now: Timestamp) -> Result<Vec<Turn>, StoreError>;

    /// Notes that a token was used.
    async fn token_used(&self, id: TokenId, at: Timestamp) -> Result<(), StoreError>;

    /// Removes what is over. How many rows.
    async fn thin_identity(&self, expired: Expired) -> Result<u64, StoreError>;
}

/// Changes.
#[derive(Debug)]
#[non_exhaustive]
pub enum UserWrite {
    /// A new user.
    Create {
        /// Who.
        user: Box<User>,
        /// With which password.
        password: Option<StoredPassword>,
    },
    /// A user as they are from now on, if they still have the revision that is one less. The last enabled
    /// admin cannot be made less: the constraint [`LAST_ADMIN`].
    Change {
        /// Who.
        user: Box<User>,
        /// A new password.
        password: Option<StoredPassword>,
    },
    /// A new session.
    StartSession(Session),
    /// What was counted proved right, or was made good: a name's attempts are forgotten, and of a place's one
    /// is taken back.
    Forgive(Vec<AttemptKey>),
    /// A session ends.
    EndSession {
        /// Which.
        id: SessionId,
        /// When.
        at: Timestamp,
    },
    /// All sessions of a user end.
    EndSessions {
        /// Whose.
        user: UserId,
        /// When.
        at: Timestamp,
    },
    /// A new token of a machine.
    CreateToken {
        /// Which.
        token: Box<ApiToken>,
        /// The key that signed it.
        key: String,
    },
    /// A token ends.
    RevokeToken {
        /// Which.
        id: TokenId,
        /// When.
        at: Timestamp,
    },
    /// A new key.
    AddKey(SigningKey),
    /// A key is sealed anew.
    ResealKey {
        /// Which.
        id: String,
        /// How.
        sealed: Vec<u8>,
    },
}

/// The constraint that [`StoreError::Taken`] names when nobody could manage users any more.
pub const LAST_ADMIN: &str = "users_last_admin";
/// The constraint of usernames.
pub const USERNAME: &str = "users_username_key";
/// The constraint of issuer and subject.
pub const SUBJECT: &str = "users_subject_key";
/// The constraint of the names of somebody's tokens.
pub const TOKEN_NAME: &str = "api_tokens_name_key";
/// The constraint of the numbers of keys.
pub const KEY_NUMBER: &str = "signing_keys_number_key";
