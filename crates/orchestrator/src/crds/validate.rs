//! Judging a schema before it comes.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_crd_compat::options::KubernetesVersion;
use slipway_crd_compat::report::Report;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::crd::{CrdChange, StoredCrd};
use slipway_domain::name::Name;
use slipway_domain::problem::Problems;
use slipway_domain::version::Version;

use super::CrdChoice;
use super::changes::changes;
use super::compare::Definition;
use super::find::resource;
use super::record::read_definition;
use crate::error::Error;
use crate::manager::Manager;

/// A schema that somebody wants judged.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidateCrd {
    /// The CRD.
    pub name: String,
    /// The operator that brings it, where several do.
    pub operator: Option<String>,
    /// The definition; or the schema alone, which then takes the place of the stored version's.
    pub definition: Value,
    /// The version of the operator that will bring it.
    pub operator_version: String,
    /// The release of the cluster it is for; the newest, where nobody says.
    pub kubernetes: Option<String>,
}

/// What was found about it.
#[derive(Debug, Clone)]
pub struct CrdVerdict {
    /// The schema that it was compared with.
    pub against: StoredCrd,
    /// Everything that was found.
    pub report: Arc<Report>,
    /// What breaks something, as lines of a history.
    pub breaking: Vec<CrdChange>,
    /// What breaks nothing.
    pub non_breaking: Vec<CrdChange>,
    /// When it was judged.
    pub validated_at: Timestamp,
}

impl CrdVerdict {
    /// Whether nothing breaks.
    pub fn is_compatible(&self) -> bool {
        self.breaking.is_empty()
    }
}

impl Manager {
    /// Judges a schema against the one that is stored: the newest before the version that will bring it.
    pub async fn validate_crd(&self, actor: &Actor, asked: ValidateCrd) -> Result<CrdVerdict, Error> {
        self.permit(actor, Permission::ManageCrds, "crd.validate", &resource(&asked.name)).await?;
        let mut problems = Problems::new();
        let version = problems.take("newOperatorVersion", asked.operator_version.parse::<Version>());
        let operator = asked.operator.and_then(|name| problems.take("operatorName", name.parse::<Name>()));
        let kubernetes = asked
            .kubernetes
            .and_then(|release| problems.take("kubernetesVersion", release.parse::<KubernetesVersion>()));
        let Some(version) = version else { return Err(problems.into()) };
        problems.or(())?;
        let choice = CrdChoice { name: asked.name, operator, operator_version: None };
        let current = self.find_crd(&choice).await?;
        let against = self.before(&current, &version).await?;
        let old = Definition::stored(&self.definition(&against).await?)?;
        let new = read_definition(whole_definition(asked.definition, &old))
            .map_err(|problem| Problems::one("newSchemaDefinition", problem))?;
        if new.crd.name() != choice.name {
            let problem = format!("defines {}, not {}", new.crd.name(), choice.name);
            return Err(Problems::one("newSchemaDefinition", problem).into());
        }
        let policy = self.crd_policy(&against.operator).await?;
        let report = self.compare(&old, &new, kubernetes, &policy).await?;
        let validated_at = self.now();
        let lines = changes(&report, &version, validated_at);
        let (breaking, non_breaking): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line.is_breaking);
        self.metrics.crd_validated(breaking.is_empty());
        Ok(CrdVerdict { against, report, breaking, non_breaking, validated_at })
    }

    /// The newest stored schema of the same operator before a version; the current one if there is none.
    async fn before(&self, current: &StoredCrd, version: &Version) -> Result<StoredCrd, Error> {
        let stored = self.store().crd_versions(&current.name).await?;
        let before = stored
            .into_iter()
            .filter(|crd| crd.operator == current.operator && crd.operator_version < *version)
            .max_by(|a, b| a.operator_version.cmp(&b.operator_version));
        Ok(before.unwrap_or_else(|| current.clone()))
    }
}

/// A schema alone is put into the stored definition, in the version that objects are stored in.
fn whole_definition(given: Value, stored: &Definition) -> Value {
    let value = match &given {
        Value::String(text) => serde_json::from_str::<Value>(text).unwrap_or(Value::Null),
        value => value.clone(),
    };
    let is_schema = value.get("kind").is_none()
        && value.get("apiVersion").is_none()
        && (value.get("properties").is_some() || value.get("type").is_some());
    let Some(storage) = stored.crd.storage_version().filter(|_| is_schema) else { return given };
    let mut whole = (*stored.written).clone();
    let versions = whole.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        if version.get("name").and_then(Value::as_str) == Some(storage.name()) {
            version["schema"] = json!({"openAPIV3Schema": value});
        }
    }
    whole
}
