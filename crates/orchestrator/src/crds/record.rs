//! Storing the CRDs that a version of an operator brings.

mod plan;

use serde_json::Value;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::crd::{LARGEST_DEFINITION, MOST_PER_VERSION};
use slipway_domain::name::Name;
use slipway_domain::problem::Problems;
use slipway_domain::version::Version;

use super::compare::Definition;
use super::{CrdChoice, CrdDetail};
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::StoreError;
use plan::Plan;

/// How often storing is tried while others store CRDs of the same operator.
const ATTEMPTS: usize = 5;

/// A schema that somebody stores by hand.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSchema {
    /// The operator that brings it.
    pub operator: String,
    /// The version of the operator that brings it.
    pub operator_version: String,
    /// The definition.
    pub definition: Value,
}

/// What storing came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// CRDs that are stored for the first time in that version.
    pub added: Vec<String>,
    /// Those of them that break the schema before them.
    pub breaking: Vec<String>,
    /// CRDs that the operator no longer has since that version.
    pub removed: Vec<String>,
}

/// Whether what is stored is all there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All CRDs of the version: what is not among them is not there.
    Whole,
    /// One of them.
    Part,
}

impl Manager {
    /// Stores all CRDs that a chart of a version brings. The same again changes nothing. Whoever calls has
    /// authorized the actor.
    pub async fn record_crds(
        &self,
        actor: &Actor,
        operator: &Name,
        version: &Version,
        definitions: Vec<Value>,
    ) -> Result<Recorded, Error> {
        let mut problems = Problems::new();
        if definitions.len() > MOST_PER_VERSION {
            problems.add("crds", format!("are more than {MOST_PER_VERSION}"));
        }
        let mut read: Vec<Definition> = Vec::new();
        for (index, definition) in definitions.into_iter().take(MOST_PER_VERSION).enumerate() {
            let place = format!("crds[{index}]");
            let Some(definition) = problems.take(&place, read_definition(definition)) else { continue };
            let name = definition.crd.name();
            match read.iter().find(|other| other.crd.name() == name) {
                // Charts repeat a CRD in `crds/` and in a template; the same twice is one.
                Some(other) if other.content == definition.content => {}
                Some(_) => problems.add(place, format!("defines {name} once more, differently")),
                None => read.push(definition),
            }
        }
        problems.or(())?;
        self.record(actor, operator, version, read, Extent::Whole).await
    }

    /// Stores one schema by hand.
    pub async fn create_crd(&self, actor: &Actor, new: NewSchema) -> Result<CrdDetail, Error> {
        self.permit(actor, Permission::ManageCrds, "crd.record", "crd").await?;
        let mut problems = Problems::new();
        let operator = problems.take("operatorName", new.operator.parse::<Name>());
        let version = problems.take("operatorVersion", new.operator_version.parse::<Version>());
        let definition = problems.take("schemaDefinition", read_definition(new.definition));
        let (Some(operator), Some(version), Some(definition)) = (operator, version, definition) else {
            return Err(problems.into());
        };
        let name = definition.crd.name().to_owned();
        self.record(actor, &operator, &version, vec![definition], Extent::Part).await?;
        let choice = CrdChoice { name, operator: Some(operator), operator_version: Some(version) };
        let crd = self.find_crd(&choice).await?;
        self.detail(crd).await
    }

    async fn record(
        &self,
        actor: &Actor,
        operator: &Name,
        version: &Version,
        definitions: Vec<Definition>,
        extent: Extent,
    ) -> Result<Recorded, Error> {
        let policy = self.crd_policy(operator).await?;
        for _ in 0..ATTEMPTS {
            let known = self.store().operator_crds(operator).await?;
            let is_known = |name: &str| known.crds.iter().any(|crd| crd.name == name);
            let brings_new = definitions.iter().any(|definition| !is_known(definition.crd.name()));
            let mut plan = Plan::new(self, operator, version, known, extent, &policy);
            for definition in &definitions {
                plan.add(definition).await?;
            }
            let (changeset, recorded) = plan.finish(actor);
            let Some(mut changeset) = changeset else { return Ok(recorded) };
            if brings_new {
                changeset = self.look_soon(changeset);
            }
            match self.store().commit(changeset).await {
                // Somebody stored CRDs of this operator meanwhile: look again.
                Err(StoreError::Stale { .. } | StoreError::Taken { .. }) => {}
                done => return done.map(|()| recorded).map_err(Error::from),
            }
        }
        Err(Error::new(
            Code::Conflict,
            format!("the CRDs of {operator} are being stored by others all the time; try again in a moment"),
        ))
    }
}

/// Reads a definition, given as an object or as text.
pub(super) fn read_definition(value: Value) -> Result<Definition, String> {
    let value = match value {
        Value::String(text) => {
            if text.len() > LARGEST_DEFINITION {
                return Err(too_large());
            }
            serde_json::from_str(&text).map_err(|error| format!("is not JSON: {error}"))?
        }
        value => {
            if value.to_string().len() > LARGEST_DEFINITION {
                return Err(too_large());
            }
            value
        }
    };
    Definition::new(value).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("cannot be used: {error}{cause}")
    })
}

fn too_large() -> String {
    format!("is larger than {} MiB", LARGEST_DEFINITION >> 20)
}
