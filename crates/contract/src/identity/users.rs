//! People.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{SecretText, UserEnvironment, UserRole};
use crate::page::PageInfo;

/// Whether somebody may log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum UserState {
    /// They may.
    Enabled,
    /// Not now.
    Disabled,
    /// Never again.
    Deleted,
}

/// Somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct User {
    /// Which.
    pub user_id: Uuid,
    /// What they type to log in.
    pub username: String,
    /// What people call them.
    pub full_name: Option<String>,
    /// Where mails go.
    pub email: Option<String>,
    /// What they are.
    pub role: UserRole,
    /// The environments that an owner decides for.
    pub environments: Vec<UserEnvironment>,
    /// The issuer that they log in through; nothing for a local user.
    pub issuer: Option<String>,
    /// Whether they may log in.
    pub state: UserState,
    /// Whether they have to change the password that they were given.
    pub must_change_password: bool,
    /// When they were made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When something about them changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// When they logged in last.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_login_at: Option<Timestamp>,
}

/// Which people are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UsersQuery {
    /// With this role.
    #[param(inline)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<UserRole>,
    /// In this state; all but the deleted where nothing is said.
    #[param(inline)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<UserState>,
    /// How many, 1 to 100; 20 where nothing is said.
    #[param(minimum = 1, maximum = 100)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// After how many.
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

/// A part of the people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserList {
    /// By name.
    pub users: Vec<User>,
    /// Which part.
    #[serde(flatten)]
    pub page: PageInfo,
}

/// Somebody new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateUserRequest {
    /// What they will type to log in: letters, digits and `. _ - @ +`.
    #[schema(min_length = 1, max_length = 64)]
    pub username: String,
    /// What people call them.
    #[schema(max_length = 128)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_name: Option<String>,
    /// Where mails go.
    #[schema(max_length = 254)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// What they are.
    pub role: UserRole,
    /// The environments that an owner decides for; empty for the other roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environments: Vec<UserEnvironment>,
}

/// Somebody who was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedUser {
    /// Who.
    #[serde(flatten)]
    pub user: User,
    /// The password for the first login, where it has to be changed. It is shown this once.
    pub one_time_password: SecretText,
}

/// What somebody is from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateUserRequest {
    /// What people call them.
    #[schema(max_length = 128)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_name: Option<String>,
    /// Where mails go.
    #[schema(max_length = 254)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// What they are.
    pub role: UserRole,
    /// The environments that an owner decides for; empty for the other roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environments: Vec<UserEnvironment>,
}

/// A password that counts once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneTimePassword {
    /// Whose.
    pub username: String,
    /// The password. It is shown this once, and has to be changed at the next login.
    pub one_time_password: SecretText,
}
