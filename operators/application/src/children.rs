//! The objects that an Application consists of, as a function of it.
//!
//! Only fields that the operator means are set, so that server-side apply owns those and no others. Owner
//! references are the runtime's to add. Nothing here reads a cluster or a clock.

mod budget;
mod config;
mod deployment;
mod labels;
mod names;
mod quantity;
mod service;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use thiserror::Error;

use crate::crd::{Application, PortError};

pub use config::{CONFIG_HASH, config_hash};
pub use labels::{labels, selector, selector_string};
pub use names::Names;
pub use quantity::{Quantity, QuantityError};

/// Everything an Application consists of. What is `None` must not exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Children {
    /// Runs the pods.
    pub deployment: Deployment,
    /// Reaches them on port 80.
    pub service: Service,
    /// Their environment, when there is any.
    pub config_map: Option<ConfigMap>,
    /// Keeps all but one of them during drains, when there are several.
    pub budget: Option<PodDisruptionBudget>,
}

/// A spec that no children can be made of; it does not help to try again before it changes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The port is none.
    #[error(transparent)]
    Port(#[from] PortError),
    /// An amount of a resource is none.
    #[error("spec.resources.{field} is {value:?}, which is not a quantity; write one such as 500m or 128Mi")]
    Quantity {
        /// Where, beneath `spec.resources`.
        field: String,
        /// What is written there.
        value: String,
        /// What is wrong with it.
        source: QuantityError,
    },
}

impl Children {
    /// What the Application consists of.
    pub fn of(app: &Application) -> Result<Children, SpecError> {
        let names = Names::of(app);
        Ok(Children {
            deployment: deployment::deployment(app, &names)?,
            service: service::service(app, &names),
            config_map: config::config_map(app, &names),
            budget: budget::budget(app, &names),
        })
    }
}

#[cfg(test)]
mod tests;
