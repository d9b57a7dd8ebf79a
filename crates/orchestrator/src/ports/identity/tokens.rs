//! Tokens: signed statements of who somebody is.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slipway_domain::access::{Environment, Role};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::IdentityError;

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Whose it is: the user of a session, or the machine's token itself.
    pub sub: Uuid,
    /// This very token.
    pub jti: Uuid,
    /// Who uses it.
    pub kind: TokenKind,
    /// The session it belongs to; a machine has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sid: Option<Uuid>,
    /// What the holder is.
    pub role: Role,
    /// The environments that an owner decides for.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub environments: Vec<Environment>,
    /// The version of the user or token that it was made for.
    pub version: i64,
    /// Who made it.
    pub iss: String,
    /// For whom.
    pub aud: String,
    /// When it was made, in seconds.
    pub iat: i64,
    /// From when on it counts, in seconds.
    pub nbf: i64,
    /// When it ends, in seconds.
    pub exp: i64,
}

/// Who uses a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TokenKind {
    /// A person who logged in.
    Session,
    /// A machine.
    Machine,
}

impl Claims {
    /// Who makes tokens.
    pub const ISSUER: &'static str = "slipway";
    /// For whom they are.
    pub const AUDIENCE: &'static str = "slipway";
    /// How far the clocks of two servers may be apart.
    const SKEW: i64 = 5;

    /// Whether it counts at a time.
    pub fn counts_at(&self, now: Timestamp) -> bool {
        let now = now.as_second();
        self.nbf <= now.saturating_add(Self::SKEW) && now < self.exp
    }
}

/// A fresh pair of keys.
pub struct KeyPair {
    /// For checking: the raw 32 bytes.
    pub public: Vec<u8>,
    /// For signing: PKCS#8.
    pub private: Zeroizing<Vec<u8>>,
}

/// Why a token does not count. What exactly is wrong with it helps only whoever made it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the token is not one of ours")]
pub struct TokenError;

/// Signs and reads tokens.
pub trait Tokens: Send + Sync {
    /// Makes a pair of keys.
    fn new_key(&self) -> Result<KeyPair, IdentityError>;

    /// Signs with a private key, naming it.
    fn sign(&self, key: &str, private: &[u8], claims: &Claims) -> Result<String, IdentityError>;

    /// Which key a token says it was signed with. Nothing of it is proven yet.
    fn key_of(&self, token: &str) -> Result<String, TokenError>;

    /// What a token says, once signature, issuer and audience are right. Times are for the caller to judge.
    fn read(&self, token: &str, public: &[u8]) -> Result<Claims, TokenError>;
}
