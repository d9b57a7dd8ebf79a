//! What a setting is about: some environments, some operators, or all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Environment;
use crate::document::Fields;
use crate::name::Name;

/// What a setting is about; a list that is empty means all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Environments: Development, Staging, Production. All, where none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<EnvironmentWord>")]
    pub environments: Vec<Environment>,
    /// Names of operators. All, where none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub operators: Vec<Name>,
}

/// The words for environments, for the schema.
#[derive(JsonSchema)]
#[schemars(rename = "Environment")]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum EnvironmentWord {
    Development,
    Staging,
    Production,
}

impl Scope {
    /// Reads its two fields.
    pub(crate) fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            environments: fields.optional("environments").unwrap_or_default(),
            operators: fields.optional("operators").unwrap_or_default(),
        }
    }

    /// Whether it covers an environment, of clusters or of what is asked about.
    pub fn covers(&self, environment: Environment, operator: &Name) -> bool {
        (self.environments.is_empty() || self.environments.contains(&environment))
            && (self.operators.is_empty() || self.operators.contains(operator))
    }
}
