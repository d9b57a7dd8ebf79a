//! Logging in through other issuers.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{LoginReply, SecretText};

/// How people can log in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LoginMethods {
    /// Whether by username and password.
    pub password: bool,
    /// Through these issuers.
    pub issuers: Vec<IssuerMethod>,
}

/// An issuer that people can log in through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IssuerMethod {
    /// Its name in paths and for `--oidc`.
    pub name: String,
    /// What people read.
    pub title: String,
}

/// Where a browser wants to go afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartQuery {
    /// A path on this server; `/` where nothing is said.
    #[param(max_length = 512)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_to: Option<String>,
}

/// What a browser brings back from an issuer.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
pub struct CallbackQuery {
    /// What the login is redeemed with.
    #[param(max_length = 4096)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Which login it belongs to.
    #[param(max_length = 512)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Why there is none.
    #[param(max_length = 512)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Which issuer says so.
    #[param(max_length = 512)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iss: Option<String>,
}

impl std::fmt::Debug for CallbackQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallbackQuery").field("error", &self.error).finish_non_exhaustive()
    }
}

/// A login on another device that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceStart {
    /// What to ask with.
    pub handle: SecretText,
    /// What to type on the issuer's page.
    pub user_code: String,
    /// The page.
    pub verification_uri: String,
    /// The page with the code in it.
    pub verification_uri_complete: Option<String>,
    /// Until when.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// How many seconds to wait between questions.
    pub interval_seconds: u64,
}

/// Which login is asked about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeviceTokenRequest {
    /// As it was given.
    pub handle: SecretText,
}

/// How far a login on another device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum DeviceStatus {
    /// Nobody has decided yet.
    Pending,
    /// Nobody has decided yet; wait five seconds longer between questions.
    SlowDown,
    /// Done.
    LoggedIn,
}

/// What there is to say about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeviceReply {
    /// How far it is.
    pub status: DeviceStatus,
    /// The token, once it is done.
    pub login: Option<LoginReply>,
}
