//! Roles, and what they may do.

use serde::{Deserialize, Serialize};
use slipway_domain::access::{Environment, Role, TABLE};
use utoipa::ToSchema;

/// What somebody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum UserRole {
    /// Looks.
    Viewer,
    /// Rolls out.
    Operator,
    /// Decides for some environments.
    EnvironmentOwner,
    /// May do everything.
    Admin,
}

/// An environment that an owner decides for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum UserEnvironment {
    /// For trying things.
    Development,
    /// The rehearsal.
    Staging,
    /// Where it hurts.
    Production,
}

/// Which role may do what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoleTable {
    /// The roles, from the least to the most.
    pub roles: Vec<UserRole>,
    /// What can be allowed, and to whom.
    pub permissions: Vec<PermissionRow>,
}

/// Something that can be allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PermissionRow {
    /// What.
    pub permission: String,
    /// To whom.
    pub roles: Vec<UserRole>,
}

impl RoleTable {
    /// The table of the domain: the whole truth.
    pub fn of_domain() -> Self {
        let rows = TABLE.iter().map(|(permission, roles)| PermissionRow {
            permission: format!("{permission:?}"),
            roles: roles.iter().copied().map(Into::into).collect(),
        });
        Self { roles: Role::ALL.map(Into::into).to_vec(), permissions: rows.collect() }
    }
}

macro_rules! same {
    ($domain:ident <=> $wire:ident: $($word:ident),+) => {
        impl From<$domain> for $wire {
            fn from(word: $domain) -> Self {
                match word { $($domain::$word => Self::$word),+ }
            }
        }

        impl From<$wire> for $domain {
            fn from(word: $wire) -> Self {
                match word { $($wire::$word => Self::$word),+ }
            }
        }
    };
}

same!(Role <=> UserRole: Viewer, Operator, EnvironmentOwner, Admin);
same!(Environment <=> UserEnvironment: Development, Staging, Production);
