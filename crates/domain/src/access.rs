//! Who may do what: one table.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::id::{TokenId, UserId};

/// Where a cluster stands in the line from trying to running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Environment {
    /// For trying things.
    Development,
    /// The rehearsal.
    Staging,
    /// Where it hurts.
    Production,
}

/// What somebody is to the manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Looks.
    Viewer,
    /// Rolls out.
    Operator,
    /// Decides for some environments.
    EnvironmentOwner,
    /// May do everything.
    Admin,
}

/// Something that can be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Permission {
    /// See operators, clusters, rollouts, CRDs, their health and what happens.
    Read,
    /// Register and change operators.
    ManageOperators,
    /// Forget operators.
    RemoveOperators,
    /// Register, change, disable and forget clusters.
    ManageClusters,
    /// Store and judge schemas of CRDs.
    ManageCrds,
    /// Approve and deprecate schemas of CRDs.
    DecideCrds,
    /// Start, pause, resume, promote, retry, skip, extend and cancel rollouts.
    Deploy,
    /// Take rollouts back.
    RollBack,
    /// See what waits for a decision.
    ReadApprovals,
    /// Approve and reject.
    Decide,
    /// Go past approvals in an emergency.
    BreakGlass,
    /// See and export what was done.
    ReadAudit,
    /// Make, change and disable people, and tokens of others.
    ManageUsers,
    /// Change policies, approval rules, windows and profiles, and apply files.
    ManageSettings,
    /// See and change oneself: password and own tokens.
    OwnAccount,
}

/// Which roles have a permission. This is the whole truth; `slipway roles` prints it.
pub const TABLE: &[(Permission, &[Role])] = {
    use Role::{Admin, EnvironmentOwner, Operator, Viewer};
    &[
        (Permission::Read, &[Viewer, Operator, EnvironmentOwner, Admin]),
        (Permission::ManageOperators, &[Operator, Admin]),
        (Permission::RemoveOperators, &[Admin]),
        (Permission::ManageClusters, &[Admin]),
        (Permission::ManageCrds, &[Operator, Admin]),
        (Permission::DecideCrds, &[Admin]),
        (Permission::Deploy, &[Operator, Admin]),
        (Permission::RollBack, &[Admin]),
        (Permission::ReadApprovals, &[EnvironmentOwner, Admin]),
        (Permission::Decide, &[EnvironmentOwner, Admin]),
        (Permission::BreakGlass, &[Admin]),
        (Permission::ReadAudit, &[Admin]),
        (Permission::ManageUsers, &[Admin]),
        (Permission::ManageSettings, &[Admin]),
        (Permission::OwnAccount, &[Viewer, Operator, EnvironmentOwner, Admin]),
    ]
};

impl Permission {
    /// The roles that have it.
    pub fn roles(self) -> &'static [Role] {
        TABLE.iter().find(|(permission, _)| *permission == self).map_or(&[], |(_, roles)| roles)
    }
}

impl Role {
    /// All, from the least to the most.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Operator, Self::EnvironmentOwner, Self::Admin];

    /// Whether the role has a permission.
    pub fn may(self, permission: Permission) -> bool {
        permission.roles().contains(&self)
    }
}

/// What kind of somebody acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum ActorKind {
    /// A person.
    User {
        /// Which.
        id: UserId,
    },
    /// A machine with a token.
    Token {
        /// Which.
        id: TokenId,
    },
    /// The manager itself, such as its health checks.
    System,
    /// Nobody known: whoever tries to log in.
    Anonymous,
}

/// Somebody who acts, and from where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// Who.
    pub kind: ActorKind,
    /// How they are called in the audit.
    pub name: String,
    /// What they are; nothing for whoever is not known.
    pub role: Option<Role>,
    /// The environments that an owner decides for.
    pub environments: Vec<Environment>,
    /// The address that the request came from.
    pub source: Option<String>,
    /// What ties everything together that one request causes.
    pub trace_id: Option<String>,
}

impl Actor {
    /// The manager itself, acting under a name such as `health`.
    pub fn system(name: &str) -> Self {
        Self {
            kind: ActorKind::System,
            name: format!("system:{name}"),
            role: Some(Role::Admin),
            environments: Vec::new(),
            source: None,
            trace_id: None,
        }
    }

    /// Somebody who is not known.
    pub fn anonymous() -> Self {
        Self {
            kind: ActorKind::Anonymous,
            name: "anonymous".to_owned(),
            role: None,
            environments: Vec::new(),
            source: None,
            trace_id: None,
        }
    }

    /// Whether they have a permission, environments aside.
    pub fn may(&self, permission: Permission) -> bool {
        self.role.is_some_and(|role| role.may(permission))
    }

    /// Whether they decide for an environment: admins for all, owners for theirs.
    pub fn decides_for(&self, environment: Environment) -> bool {
        match self.role {
            Some(Role::Admin) => true,
            Some(Role::EnvironmentOwner) => self.environments.contains(&environment),
            _ => false,
        }
    }

    /// Who this is, as a key that never changes; the same person has the same.
    pub fn subject(&self) -> Option<Uuid> {
        match self.kind {
            ActorKind::User { id } => Some(id.0),
            ActorKind::Token { id } => Some(id.0),
            ActorKind::System | ActorKind::Anonymous => None,
        }
    }
}

macro_rules! words {
    ($type:ident: $($variant:ident),+) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $(Self::$variant => stringify!($variant)),+ })
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                $(if text.eq_ignore_ascii_case(stringify!($variant)) { return Ok(Self::$variant); })+
                Err(format!("{text:?} is none of {}", [$(stringify!($variant)),+].join(", ")))
            }
        }
    };
}

pub(crate) use words;

words!(Environment: Development, Staging, Production);
words!(Role: Viewer, Operator, EnvironmentOwner, Admin);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_permission_once() {
        for (index, (permission, roles)) in TABLE.iter().enumerate() {
            assert!(!TABLE[..index].iter().any(|(other, _)| other == permission), "{permission:?} twice");
            assert!(roles.contains(&Role::Admin), "an admin may do everything");
        }
        assert!(Role::Operator.may(Permission::Deploy));
        assert!(!Role::Operator.may(Permission::RollBack));
        assert!(!Role::Viewer.may(Permission::ReadApprovals));
    }

    #[test]
    fn an_owner_decides_for_own_environments_only() {
        let mut owner = Actor::anonymous();
        assert!(!owner.may(Permission::Read) && !owner.decides_for(Environment::Staging));
        owner.role = Some(Role::EnvironmentOwner);
        owner.environments = vec![Environment::Staging];
        assert!(owner.decides_for(Environment::Staging) && !owner.decides_for(Environment::Production));
        assert!(Actor::system("health").decides_for(Environment::Production));
        assert_eq!(owner.subject(), None);
    }

    #[test]
    fn words_are_read_whatever_their_case() {
        assert_eq!("production".parse(), Ok(Environment::Production));
        assert_eq!(Role::EnvironmentOwner.to_string().parse(), Ok(Role::EnvironmentOwner));
        assert_eq!(
            "root".parse::<Role>().unwrap_err(),
            "\"root\" is none of Viewer, Operator, EnvironmentOwner, Admin"
        );
    }
}
