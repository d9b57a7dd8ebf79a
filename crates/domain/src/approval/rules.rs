//! Who decides what, as settings.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::ApprovalKind;
use crate::access::{Actor, Environment};

/// Somebody who may decide.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Approver {
    /// An owner of the environment that the rollout goes to, or an admin.
    EnvironmentOwner,
    /// An admin.
    Admin,
    /// This person, written `user:ada`; they need a role that decides, too.
    Person(String),
}

/// Why a text names no approver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("is none of EnvironmentOwner, Admin or user:NAME")]
pub struct BadApprover;

impl Approver {
    /// Whether this is somebody who decides for the environment.
    pub fn is(&self, actor: &Actor, environment: Environment) -> bool {
        match self {
            Self::EnvironmentOwner => actor.decides_for(environment),
            Self::Admin => actor.role == Some(crate::access::Role::Admin),
            Self::Person(name) => *name == actor.name,
        }
    }

    fn who(&self, environment: Environment) -> String {
        match self {
            Self::EnvironmentOwner => format!("an owner of {environment}"),
            Self::Admin => "an admin".to_owned(),
            Self::Person(name) => name.clone(),
        }
    }
}

impl FromStr for Approver {
    type Err = BadApprover;

    fn from_str(text: &str) -> Result<Self, BadApprover> {
        if text.eq_ignore_ascii_case("EnvironmentOwner") {
            Ok(Self::EnvironmentOwner)
        } else if text.eq_ignore_ascii_case("Admin") {
            Ok(Self::Admin)
        } else {
            match text.strip_prefix("user:") {
                Some(name) if !name.trim().is_empty() => Ok(Self::Person(name.trim().to_owned())),
                _ => Err(BadApprover),
            }
        }
    }
}

impl fmt::Display for Approver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EnvironmentOwner => f.write_str("EnvironmentOwner"),
            Self::Admin => f.write_str("Admin"),
            Self::Person(name) => write!(f, "user:{name}"),
        }
    }
}

impl TryFrom<String> for Approver {
    type Error = BadApprover;

    fn try_from(text: String) -> Result<Self, BadApprover> {
        text.parse()
    }
}

impl From<Approver> for String {
    fn from(approver: Approver) -> Self {
        approver.to_string()
    }
}

/// One step of an approval: so many of these people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Level {
    /// Who may decide.
    pub by: Vec<Approver>,
    /// How many of them have to agree.
    #[serde(default = "one")]
    pub quorum: u32,
}

fn one() -> u32 {
    1
}

impl Level {
    /// One of these.
    pub fn one_of(by: impl IntoIterator<Item = Approver>) -> Self {
        Self { by: by.into_iter().collect(), quorum: 1 }
    }

    /// How many have to agree; never none.
    pub fn quorum(&self) -> usize {
        usize::try_from(self.quorum).unwrap_or(usize::MAX).max(1)
    }

    /// Whether somebody may decide here.
    pub fn admits(&self, actor: &Actor, environment: Environment) -> bool {
        self.by.iter().any(|approver| approver.is(actor, environment))
    }

    /// Who, in words: `an owner of Production`, `2 of an admin, ada`.
    pub fn who(&self, environment: Environment) -> String {
        let who: Vec<String> = self.by.iter().map(|approver| approver.who(environment)).collect();
        match self.quorum() {
            1 => who.join(" or "),
            quorum => format!("{quorum} people, each {}", who.join(" or ")),
        }
    }
}

/// How one kind of approval is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Whether it is asked for at all.
    pub required: bool,
    /// Who decides, in order.
    pub levels: Vec<Level>,
    /// How long it waits before it counts as a no.
    pub expires_after: SignedDuration,
    /// Whether whoever started a rollout must not approve it.
    pub four_eyes: bool,
}

impl Rule {
    /// One of these people, within a day, and never the starter.
    pub fn by(approver: Approver) -> Self {
        Self {
            required: true,
            levels: vec![Level::one_of([approver])],
            expires_after: SignedDuration::from_hours(24),
            four_eyes: true,
        }
    }
}

/// The rules of all kinds. Where nothing is set, owners decide about production and admins about versions
/// and schemas; one person each, within a day, never the starter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// For rollouts to production.
    pub production_deployment: Rule,
    /// For another version of an operator that runs in production.
    pub operator_version_upgrade: Rule,
    /// For schemas that break in production.
    pub breaking_crd_change: Rule,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            production_deployment: Rule::by(Approver::EnvironmentOwner),
            operator_version_upgrade: Rule::by(Approver::Admin),
            breaking_crd_change: Rule::by(Approver::Admin),
        }
    }
}

impl Rules {
    /// The rule of a kind.
    pub fn of(&self, kind: ApprovalKind) -> &Rule {
        match kind {
            ApprovalKind::ProductionDeployment => &self.production_deployment,
            ApprovalKind::OperatorVersionUpgrade => &self.operator_version_upgrade,
            ApprovalKind::BreakingCrdChange => &self.breaking_crd_change,
        }
    }

    /// Puts another rule in the place of a kind's.
    pub fn set(&mut self, kind: ApprovalKind, rule: Rule) {
        *match kind {
            ApprovalKind::ProductionDeployment => &mut self.production_deployment,
            ApprovalKind::OperatorVersionUpgrade => &mut self.operator_version_upgrade,
            ApprovalKind::BreakingCrdChange => &mut self.breaking_crd_change,
        } = rule;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_level_is_kept_as_text_that_people_can_read() {
        let level = Level {
            by: vec![Approver::EnvironmentOwner, Approver::Admin, Approver::Person("ada".to_owned())],
            quorum: 2,
        };
        let kept = json!({"by": ["EnvironmentOwner", "Admin", "user:ada"], "quorum": 2});
        assert_eq!(serde_json::to_value(&level).unwrap(), kept);
        assert_eq!(serde_json::from_value::<Level>(kept).unwrap(), level);
        assert_eq!(
            level.who(Environment::Production),
            "2 people, each an owner of Production or an admin or ada"
        );
        assert!("Operator".parse::<Approver>().is_err() && "user: ".parse::<Approver>().is_err());
    }
}
