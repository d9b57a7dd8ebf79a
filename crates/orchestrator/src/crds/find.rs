//! Which of the stored schemas is meant.

use slipway_domain::crd::{CrdStatus, StoredCrd};
use slipway_domain::name::Name;
use slipway_domain::version::Version;

use crate::error::{Code, Error};
use crate::manager::Manager;

/// Which schema is meant: of the newest release, unless somebody says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdChoice {
    /// The name of the CRD.
    pub name: String,
    /// The operator that brings it, where several do.
    pub operator: Option<Name>,
    /// The version of the operator.
    pub operator_version: Option<Version>,
}

impl CrdChoice {
    /// The current one.
    pub fn current(name: impl Into<String>) -> Self {
        Self { name: name.into(), operator: None, operator_version: None }
    }

    /// As the audit names it.
    pub(crate) fn resource(&self) -> String {
        resource(&self.name)
    }
}

/// What the audit calls a CRD; somebody may have asked for anything.
pub(super) fn resource(name: &str) -> String {
    let shown: String = name.chars().filter(|character| !character.is_control()).take(253).collect();
    format!("crd/{shown}")
}

impl Manager {
    pub(crate) async fn find_crd(&self, choice: &CrdChoice) -> Result<StoredCrd, Error> {
        // No name holds this, and the database does not take it.
        let mut crds = if choice.name.contains('\0') {
            Vec::new()
        } else {
            self.store().crd_versions(&choice.name).await?
        };
        crds.retain(|crd| choice.operator.as_ref().is_none_or(|operator| crd.operator == *operator));
        if crds.is_empty() {
            let whose = choice.operator.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
            return Err(Error::new(
                Code::NotFound,
                format!("there is no CRD {}{whose}; list those there are: slipway crd list", choice.name),
            ));
        }
        let Some(version) = &choice.operator_version else {
            return choose_current(crds).ok_or_else(|| Error::not_found(Code::NotFound, "CRD", &choice.name));
        };
        let versions: Vec<String> = crds.iter().map(|crd| crd.operator_version.to_string()).collect();
        crds.into_iter().find(|crd| crd.operator_version == *version).ok_or_else(|| {
            Error::new(
                Code::NotFound,
                format!("{} is not stored for {version}, but for {}", choice.name, versions.join(", ")),
            )
        })
    }

    /// The text of a stored schema.
    pub(crate) async fn definition(&self, crd: &StoredCrd) -> Result<String, Error> {
        let found = self.store().crd_definition(crd.id).await?;
        found.ok_or_else(|| Error::not_found(Code::NotFound, "CRD", &crd.name))
    }
}

/// Where several operators bring it: one that still does, the first by name.
fn choose_current(crds: Vec<StoredCrd>) -> Option<StoredCrd> {
    crds.into_iter()
        .filter(|crd| crd.current)
        .min_by_key(|crd| (crd.status() == CrdStatus::Removed, crd.operator.clone()))
}
