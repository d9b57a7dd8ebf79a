//! Other issuers that vouch for people, by `OpenID` Connect.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use slipway_domain::access::Role;
use slipway_domain::name::Name;
use slipway_domain::user::GroupMapping;

use super::Password;
use crate::error::{Code, Error};

/// An issuer that is trusted, and what its people are here.
#[derive(Debug, Clone)]
pub struct IssuerSettings {
    /// What it is called in paths and usernames, such as `corp`.
    pub name: Name,
    /// What people read on the button.
    pub title: String,
    /// The issuer's identifier: an address below which its configuration is found.
    pub issuer: String,
    /// Who we are there.
    pub client_id: String,
    /// How we prove it; a public client has none.
    pub client_secret: Option<Password>,
    /// What is asked for; `openid` is always.
    pub scopes: Vec<String>,
    /// Which claim lists the groups.
    pub groups_claim: String,
    /// Which claim names people.
    pub username_claim: String,
    /// What groups mean.
    pub mappings: Vec<GroupMapping>,
    /// What whoever is in none of them is; nothing refuses them.
    pub default_role: Option<Role>,
    /// Further certificate authorities, as PEM.
    pub ca: Option<String>,
}

impl IssuerSettings {
    /// With the usual claims and scopes, and nobody let in yet.
    pub fn new(name: Name, issuer: impl Into<String>, client_id: impl Into<String>) -> Self {
        Self {
            title: name.to_string(),
            name,
            issuer: issuer.into(),
            client_id: client_id.into(),
            client_secret: None,
            scopes: ["openid", "profile", "email"].map(str::to_owned).to_vec(),
            groups_claim: "groups".to_owned(),
            username_claim: "preferred_username".to_owned(),
            mappings: Vec::new(),
            default_role: None,
            ca: None,
        }
    }
}

/// Somebody whom an issuer vouches for: signature, audience, times and nonce were right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vouched {
    /// Who they are there.
    pub subject: String,
    /// What they are called there.
    pub called: String,
    /// Their full name.
    pub full_name: Option<String>,
    /// Their address, if the issuer says that it was proven.
    pub email: Option<String>,
    /// Their groups.
    pub groups: Vec<String>,
}

/// What has to come back from the browser, and what has to be proven then. It is secret: it travels sealed,
/// in a cookie.
#[derive(Clone, Serialize, Deserialize)]
pub struct BrowserFlow {
    /// Comes back with the code.
    pub state: String,
    /// Comes back inside the ID token.
    pub nonce: String,
    /// Proves that whoever redeems the code asked for it.
    pub verifier: String,
}

impl fmt::Debug for BrowserFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BrowserFlow(…)")
    }
}

/// Where a browser goes to log in.
#[derive(Debug, Clone)]
pub struct Authorization {
    /// The issuer's page.
    pub location: String,
    /// What to keep until it comes back.
    pub flow: BrowserFlow,
}

/// A login on another device that has begun.
#[derive(Clone)]
pub struct Device {
    /// What we ask the issuer with. It is secret.
    pub device_code: String,
    /// What the person types there.
    pub user_code: String,
    /// Where.
    pub verification_uri: String,
    /// Where, with the code in it.
    pub verification_uri_complete: Option<String>,
    /// How long it can take.
    pub expires_in: Duration,
    /// How long to wait between questions.
    pub interval: Duration,
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("verification_uri", &self.verification_uri).finish_non_exhaustive()
    }
}

/// What an issuer says about a login on another device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Poll {
    /// Nothing yet.
    Pending,
    /// Nothing yet, and ask less often.
    SlowDown,
    /// It is them.
    Vouched(Vouched),
}

/// Why an issuer does not vouch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IssuerError {
    /// There is none of that name.
    #[error("there is no issuer {0}")]
    Unknown(String),
    /// It does not answer, or not as an issuer does.
    #[error("the issuer {issuer} cannot be used now: {reason}")]
    Unusable {
        /// Which.
        issuer: String,
        /// What it did; without secrets.
        reason: String,
    },
    /// It says no, or what it says is not to be believed.
    #[error("the issuer {issuer} did not confirm who you are: {reason}")]
    Refused {
        /// Which.
        issuer: String,
        /// Why; without secrets.
        reason: String,
    },
}

impl From<IssuerError> for Error {
    fn from(error: IssuerError) -> Self {
        let code = match &error {
            IssuerError::Unknown(_) => Code::NotFound,
            IssuerError::Unusable { .. } => Code::Unavailable,
            IssuerError::Refused { .. } => Code::Unauthorized,
        };
        Self::new(code, error.to_string())
    }
}

/// Other issuers.
#[async_trait]
pub trait Issuers: Send + Sync {
    /// Those that are trusted.
    fn issuers(&self) -> &[IssuerSettings];

    /// Begins a login in a browser, which has to come back to exactly this address.
    async fn authorize(&self, issuer: &str, redirect: &str) -> Result<Authorization, IssuerError>;

    /// Ends it with the code that the browser brought.
    async fn redeem(
        &self,
        issuer: &str,
        redirect: &str,
        code: &str,
        flow: &BrowserFlow,
    ) -> Result<Vouched, IssuerError>;

    /// Begins a login on another device.
    async fn begin_device(&self, issuer: &str) -> Result<Device, IssuerError>;

    /// Asks whether it is done.
    async fn poll_device(&self, issuer: &str, device_code: &str) -> Result<Poll, IssuerError>;
}
