//! What somebody changes of an operator.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Operator;
use super::values::{check_description, check_labels, check_values};
use crate::problem::Problems;
use crate::profile::Profile;
use crate::version::Version;

/// The changes; what is not set stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OperatorChange {
    /// A new description; an empty one removes it.
    pub description: Option<String>,
    /// New labels, all of them.
    pub labels: Option<BTreeMap<String, String>>,
    /// New values, all of them.
    pub default_values: Option<Map<String, Value>>,
    /// The version the fleet is on.
    pub current_version: Option<String>,
    /// A new profile; `null` goes back to the built-in one.
    pub profile: Option<Value>,
}

impl OperatorChange {
    /// Applies the changes, or reports everything that is wrong with them.
    pub fn apply(self, operator: &mut Operator) -> Result<(), Problems> {
        let mut problems = Problems::new();
        let mut changed = operator.clone();
        if let Some(description) = self.description {
            problems.take("description", check_description(&description));
            changed.description = Some(description).filter(|text| !text.is_empty());
        }
        if let Some(labels) = self.labels {
            for problem in &check_labels(&labels) {
                problems.add(problem.path.clone(), &problem.message);
            }
            changed.labels = labels;
        }
        if let Some(values) = self.default_values {
            problems.take("defaultValues", check_values(&values));
            changed.default_values = values;
        }
        if let Some(version) = self.current_version {
            changed.current_version = problems.take("currentVersion", version.parse::<Version>());
        }
        match self.profile {
            None => {}
            Some(Value::Null) => changed.profile = None,
            Some(profile) => match Profile::parse(&profile) {
                Ok(profile) => changed.profile = Some(profile),
                Err(inner) => problems.nest("profile", inner),
            },
        }
        problems.or(())?;
        *operator = changed;
        Ok(())
    }
}
