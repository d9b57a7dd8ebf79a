//! Tokens of machines.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::{Actor, ActorKind, Environment, Role, TABLE};
use crate::id::{TokenId, UserId};
use crate::name::Name;

/// No token lasts longer than a year.
pub const LONGEST_TOKEN_LIFE: Duration = Duration::from_hours(366 * 24);

/// A token that a machine uses, without its secret, which is shown once and kept nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiToken {
    /// Which.
    pub id: TokenId,
    /// What its maker calls it; unique among the maker's living tokens.
    pub name: Name,
    /// Who made it and answers for it: it ends with them.
    pub owner: UserId,
    /// Their name.
    pub owner_name: String,
    /// What it may do.
    pub role: Role,
    /// The environments that it decides for, with that role.
    pub environments: Vec<Environment>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
    /// When it was ended.
    pub revoked_at: Option<Timestamp>,
    /// About when it was used last.
    pub last_used_at: Option<Timestamp>,
}

/// Whether a token counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenState {
    /// It does.
    Active,
    /// Its time is over.
    Expired,
    /// Somebody ended it.
    Revoked,
}

impl ApiToken {
    /// Whether it counts.
    pub fn state(&self, now: Timestamp) -> TokenState {
        if self.revoked_at.is_some() {
            TokenState::Revoked
        } else if self.expires_at <= now {
            TokenState::Expired
        } else {
            TokenState::Active
        }
    }

    /// It, as somebody who acts.
    pub fn actor(&self) -> Actor {
        Actor {
            kind: ActorKind::Token { id: self.id },
            name: format!("{}/{}", self.owner_name, self.name),
            role: Some(self.role),
            environments: self.environments.clone(),
            source: None,
            trace_id: None,
        }
    }
}

/// Whether whoever has the first role may hand out the second: it allows nothing that the first does not.
/// Operator and `EnvironmentOwner` cover each other in neither direction.
pub fn covers(holder: Role, wanted: Role) -> bool {
    TABLE.iter().all(|(_, roles)| !roles.contains(&wanted) || roles.contains(&holder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_hands_out_more_than_they_have() {
        use Role::{Admin, EnvironmentOwner, Operator, Viewer};
        for role in Role::ALL {
            assert!(covers(role, role) && covers(Admin, role) && covers(role, Viewer));
            assert_eq!(covers(role, Admin), role == Admin);
        }
        assert!(!covers(Operator, EnvironmentOwner) && !covers(EnvironmentOwner, Operator));
    }
}
