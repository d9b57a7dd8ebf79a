//! Sessions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{SecretText, UserEnvironment, UserRole};

/// Who logs in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoginRequest {
    /// The username.
    #[schema(min_length = 1, max_length = 256)]
    pub username: String,
    /// The password.
    pub password: SecretText,
    /// A new password, where the old one counts only once (`PASSWORD_CHANGE_REQUIRED`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_password: Option<SecretText>,
}

/// A token, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginReply {
    /// The token, for `Authorization: Bearer`. Empty where a browser keeps the session in a cookie.
    pub token: SecretText,
    /// When it ends; renew it before.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// Until when it can be renewed.
    #[schema(value_type = String, format = DateTime)]
    pub session_ends_at: Timestamp,
    /// Whose it is.
    pub user: LoggedInUser,
}

/// Somebody who is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoggedInUser {
    /// The username.
    pub username: String,
    /// What they are.
    pub role: UserRole,
    /// The environments that an owner decides for.
    pub environments: Vec<UserEnvironment>,
}

/// Another password.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PasswordRequest {
    /// The one you have.
    pub current_password: SecretText,
    /// The one you want: 12 characters or more, without your username.
    pub new_password: SecretText,
}

/// Who one is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Me {
    /// The username, or the owner and name of a machine's token.
    pub name: String,
    /// `user` or `token`.
    pub kind: String,
    /// What you are.
    pub role: UserRole,
    /// The environments that you decide for.
    pub environments: Vec<UserEnvironment>,
    /// Your full name.
    pub full_name: Option<String>,
    /// Where mails for you go.
    pub email: Option<String>,
    /// The issuer that you log in through; nothing for a local user or a machine.
    pub issuer: Option<String>,
    /// What you may do.
    pub permissions: Vec<String>,
}
