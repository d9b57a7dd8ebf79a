//! Passwords by argon2id, tokens by Ed25519, other issuers by `OpenID` Connect.
//!
//! It decides nothing about people: it hashes, signs, checks and asks. No password, key or token is logged or
//! put into an error.

mod oidc;
mod passwords;
mod tokens;

use async_trait::async_trait;
use slipway_orchestrator::ports::identity::{
    Authorization, BrowserFlow, Claims, Device, IdentityError, IssuerError, IssuerSettings, Issuers, KeyPair,
    Password, Passwords, Poll, TokenError, Tokens, Vouched,
};

use oidc::Oidc;
use passwords::Argon2id;

/// Why the adapter cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentitySetupError {
    /// The configuration of an issuer cannot be used.
    #[error("the issuer {issuer} cannot be used: {reason}")]
    Issuer {
        /// Which.
        issuer: String,
        /// Why.
        reason: String,
    },
    /// Passwords cannot be hashed.
    #[error("passwords cannot be hashed on this machine")]
    Passwords(#[source] IdentityError),
}

/// Passwords, tokens and other issuers.
pub struct Identities {
    passwords: Argon2id,
    oidc: Oidc,
    issuers: Vec<IssuerSettings>,
}

impl Identities {
    /// With these issuers; none is asked yet.
    pub fn new(issuers: Vec<IssuerSettings>) -> Result<Self, IdentitySetupError> {
        Ok(Self {
            passwords: Argon2id::new().map_err(IdentitySetupError::Passwords)?,
            oidc: Oidc::new(&issuers)?,
            issuers,
        })
    }

    /// How many passwords were hashed or checked; each costs the same, whoever it belongs to.
    pub fn password_work(&self) -> u64 {
        self.passwords.work()
    }
}

#[async_trait]
impl Passwords for Identities {
    async fn hash(&self, password: &Password) -> Result<String, IdentityError> {
        self.passwords.hash(password).await
    }

    async fn is_password(&self, password: &Password, hash: Option<&str>) -> Result<bool, IdentityError> {
        self.passwords.is_password(password, hash).await
    }

    fn random_password(&self) -> Result<Password, IdentityError> {
        passwords::random()
    }
}

impl Tokens for Identities {
    fn new_key(&self) -> Result<KeyPair, IdentityError> {
        tokens::new_key()
    }

    fn sign(&self, key: &str, private: &[u8], claims: &Claims) -> Result<String, IdentityError> {
        tokens::sign(key, private, claims)
    }

    fn key_of(&self, token: &str) -> Result<String, TokenError> {
        tokens::key_of(token)
    }

    fn read(&self, token: &str, public: &[u8]) -> Result<Claims, TokenError> {
        tokens::read(token, public)
    }
}

#[async_trait]
impl Issuers for Identities {
    fn issuers(&self) -> &[IssuerSettings] {
        &self.issuers
    }

    async fn authorize(&self, issuer: &str, redirect: &str) -> Result<Authorization, IssuerError> {
        self.oidc.issuer(issuer)?.authorize(redirect).await
    }

    async fn redeem(
        &self,
        issuer: &str,
        redirect: &str,
        code: &str,
        flow: &BrowserFlow,
    ) -> Result<Vouched, IssuerError> {
        self.oidc.issuer(issuer)?.redeem(redirect, code, flow).await
    }

    async fn begin_device(&self, issuer: &str) -> Result<Device, IssuerError> {
        self.oidc.issuer(issuer)?.begin_device().await
    }

    async fn poll_device(&self, issuer: &str, device_code: &str) -> Result<Poll, IssuerError> {
        self.oidc.issuer(issuer)?.poll_device(device_code).await
    }
}
