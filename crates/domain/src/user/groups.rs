//! What the groups of another issuer mean here.

use serde::{Deserialize, Serialize};

use crate::access::{Environment, Role};

/// Members of a group have a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GroupMapping {
    /// The group, exactly as the issuer writes it.
    pub group: String,
    /// What its members are here.
    pub role: Role,
    /// The environments that they decide for as owners.
    #[serde(default)]
    pub environments: Vec<Environment>,
}

/// What somebody is by their groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The role.
    pub role: Role,
    /// The environments, for an owner.
    pub environments: Vec<Environment>,
}

/// The first mapping that fits gives the role, so that whoever writes them decides what outranks what;
/// all that fit and give the same role add their environments. Without any, the default counts, if there is
/// one.
pub fn standing_of(groups: &[String], mappings: &[GroupMapping], default: Option<Role>) -> Option<Standing> {
    let mut fitting = mappings.iter().filter(|mapping| groups.contains(&mapping.group)).peekable();
    let role = fitting.peek().map(|mapping| mapping.role).or(default)?;
    let mut environments: Vec<Environment> = if role == Role::EnvironmentOwner {
        fitting
            .filter(|mapping| mapping.role == role)
            .flat_map(|mapping| mapping.environments.iter().copied())
            .collect()
    } else {
        Vec::new()
    };
    environments.sort_unstable();
    environments.dedup();
    Some(Standing { role, environments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(group: &str, role: Role, environments: &[Environment]) -> GroupMapping {
        GroupMapping { group: group.to_owned(), role, environments: environments.to_vec() }
    }

    #[test]
    fn the_first_group_that_fits_gives_the_role() {
        use Environment::{Production, Staging};
        let mappings = [
            mapping("root", Role::Admin, &[]),
            mapping("owners-prod", Role::EnvironmentOwner, &[Production]),
            mapping("owners-stage", Role::EnvironmentOwner, &[Staging, Production]),
            mapping("ops", Role::Operator, &[]),
        ];
        let of = |groups: &[&str], default| {
            let groups: Vec<String> = groups.iter().map(ToString::to_string).collect();
            standing_of(&groups, &mappings, default).map(|standing| (standing.role, standing.environments))
        };
        assert_eq!(of(&["ops", "root"], None), Some((Role::Admin, vec![])));
        assert_eq!(
            of(&["ops", "owners-stage", "owners-prod"], None),
            Some((Role::EnvironmentOwner, vec![Staging, Production]))
        );
        assert_eq!(of(&["ROOT", "other"], None), None, "groups are compared exactly");
        assert_eq!(of(&[], Some(Role::Viewer)), Some((Role::Viewer, vec![])));
    }
}
