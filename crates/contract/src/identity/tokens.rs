//! Tokens of machines.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{SecretText, UserEnvironment, UserRole};
use crate::page::PageInfo;

/// Whether a token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum TokenState {
    /// It does.
    Active,
    /// Its time is over.
    Expired,
    /// Somebody ended it.
    Revoked,
}

/// A token of a machine, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    /// Which.
    pub token_id: Uuid,
    /// What its maker calls it.
    pub name: String,
    /// Who made it; it ends with them.
    pub owner: String,
    /// What it may do.
    pub role: UserRole,
    /// The environments that it decides for.
    pub environments: Vec<UserEnvironment>,
    /// Whether it counts.
    pub state: TokenState,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it ends.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// About when it was used last.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_used_at: Option<Timestamp>,
}

/// Which tokens are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TokensQuery {
    /// Those of everybody, for whoever manages users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// How many, 1 to 100; 20 where nothing is said.
    #[param(minimum = 1, maximum = 100)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// After how many.
    #[param(minimum = 0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

/// A part of the tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// The newest first.
    pub tokens: Vec<Token>,
    /// Which part.
    #[serde(flatten)]
    pub page: PageInfo,
}

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateTokenRequest {
    /// What you call it: lower-case letters, digits and dashes.
    #[schema(min_length = 1, max_length = 63)]
    pub name: String,
    /// What it may do; nothing that you may not.
    pub role: UserRole,
    /// The environments that it decides for, as an owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environments: Vec<UserEnvironment>,
    /// When it ends, a year from now at most; in 90 days where nothing is said.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A token that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedToken {
    /// Which.
    #[serde(flatten)]
    pub token: Token,
    /// What the machine sends. It is shown this once.
    pub secret: SecretText,
}
