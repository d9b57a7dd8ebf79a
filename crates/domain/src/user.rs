//! People who may log in, tokens of machines, and the rules about both.
//!
//! Secrets are not here: a [`User`] can be shown, logged and compared without giving one away.

mod attempts;
mod email;
mod groups;
mod password;
mod token;
mod username;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::{Actor, ActorKind, Environment, Role};
use crate::id::UserId;
use crate::problem::Problems;

pub use attempts::{Attempts, LockRules, Turn};
pub use email::{BadEmail, Email};
pub use groups::{GroupMapping, Standing, standing_of};
pub use password::{BadPassword, LONGEST_PASSWORD, SHORTEST_PASSWORD, check_password};
pub use token::{ApiToken, LONGEST_TOKEN_LIFE, TokenState, covers};
pub use username::{BadUsername, Username};

/// Somebody who may log in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Which.
    pub id: UserId,
    /// What they type to log in; it never changes and is never given to another.
    pub username: Username,
    /// What people call them.
    pub full_name: Option<String>,
    /// Where mails go.
    pub email: Option<Email>,
    /// What they are.
    pub role: Role,
    /// The environments that an owner decides for; empty for the other roles.
    pub environments: Vec<Environment>,
    /// Who says that it is them.
    pub origin: Origin,
    /// Whether they may log in.
    pub state: UserState,
    /// Whether the password was given to them by somebody else and has to be changed.
    pub must_change_password: bool,
    /// Grows whenever what was allowed before must not count any more: a token that carries an older one is
    /// refused.
    pub version: i64,
    /// Grows with every change; for `If-Match`.
    pub revision: i64,
    /// When they were made.
    pub created_at: Timestamp,
    /// When something about them changed.
    pub updated_at: Timestamp,
    /// When they logged in last.
    pub last_login_at: Option<Timestamp>,
}

/// Who says that it is them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Origin {
    /// We do, by a password.
    Local,
    /// Another issuer does.
    Oidc {
        /// The issuer's name in the configuration.
        issuer: String,
        /// Who they are there; unique within the issuer.
        subject: String,
    },
}

/// Whether somebody may log in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UserState {
    /// They may.
    Enabled,
    /// Not now.
    Disabled,
    /// Never again. The row stays, so that the audit keeps its meaning and the name is not given away.
    Deleted,
}

impl User {
    /// Whether they may do anything at all.
    pub fn is_enabled(&self) -> bool {
        self.state == UserState::Enabled
    }

    /// Them, as somebody who acts.
    pub fn actor(&self) -> Actor {
        Actor {
            kind: ActorKind::User { id: self.id },
            name: self.username.to_string(),
            role: Some(self.role),
            environments: self.environments.clone(),
            source: None,
            trace_id: None,
        }
    }

    /// Whether they decide for an environment.
    pub fn decides_for(&self, environment: Environment) -> bool {
        self.is_enabled() && self.actor().decides_for(environment)
    }
}

impl Origin {
    /// Whether the password is ours.
    pub fn is_local(&self) -> bool {
        matches!(self, Self::Local)
    }
}

impl UserState {
    /// As it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "Enabled",
            Self::Disabled => "Disabled",
            Self::Deleted => "Deleted",
        }
    }
}

/// Sorts environments, drops doubles, and checks that they go with the role: an owner has some, the others
/// have none.
pub fn environments_for(role: Role, environments: &[Environment]) -> Result<Vec<Environment>, Problems> {
    let mut sorted = environments.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    match (role, sorted.is_empty()) {
        (Role::EnvironmentOwner, true) => {
            Err(Problems::one("environments", "has to name at least one for an EnvironmentOwner"))
        }
        (Role::EnvironmentOwner, false) | (_, true) => Ok(sorted),
        (_, false) => Err(Problems::one("environments", format!("means nothing for the role {role}"))),
    }
}

/// The longest full name.
const LONGEST_NAME: usize = 128;

/// Checks a full name: something to read, one line.
pub fn check_full_name(name: &str) -> Result<String, &'static str> {
    let name = name.trim();
    if name.is_empty() {
        Err("is empty")
    } else if name.chars().count() > LONGEST_NAME {
        Err("is longer than 128 characters")
    } else if name.chars().any(char::is_control) {
        Err("has to be one line of text")
    } else {
        Ok(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_owners_have_environments_and_they_have_some() {
        use Environment::{Production, Staging};
        assert_eq!(
            environments_for(Role::EnvironmentOwner, &[Production, Staging, Production]),
            Ok(vec![Staging, Production])
        );
        assert!(environments_for(Role::EnvironmentOwner, &[]).is_err());
        assert_eq!(environments_for(Role::Viewer, &[]), Ok(vec![]));
        let problems = environments_for(Role::Admin, &[Staging]).unwrap_err();
        assert_eq!(problems.to_string(), "environments means nothing for the role Admin");
    }

    #[test]
    fn a_full_name_is_one_line() {
        assert_eq!(check_full_name(" Ada Lovelace "), Ok("Ada Lovelace".to_owned()));
        for bad in ["", "  ", "a\nb", &"x".repeat(129)] {
            assert!(check_full_name(bad).is_err(), "{bad:?}");
        }
    }
}
