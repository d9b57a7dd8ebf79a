//! `cloudnative.elide.dev/v1`: the version that is stored.
#![allow(clippy::duplicated_attributes, reason = "two printer columns have the same type")]

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{ApplicationStatus, Resources, rule};

/// The entry of `config` that says where the container listens.
pub const PORT: &str = "PORT";

/// Where the container listens when `config` does not say.
const DEFAULT_PORT: u16 = 8080;

/// What somebody wants to run.
#[derive(CustomResource, JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "cloudnative.elide.dev",
    version = "v1",
    kind = "Application",
    plural = "applications",
    namespaced,
    shortname = "app",
    shortname = "apps",
    category = "all",
    doc = "An application: a Deployment, its configuration, its Service and its disruption budget.",
    status = "ApplicationStatus",
    derive = "PartialEq",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.labelSelector"
    ),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationSpec {
    /// How many pods run.
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,
    /// The container image.
    #[schemars(
        length(min = 1),
        extend("x-kubernetes-validations" = [rule("self.trim() != ''", "the image must not be blank")])
    )]
    pub image: String,
    /// How pods are replaced when the application changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "RollingUpdate"))]
    pub strategy: Option<Strategy>,
    /// Environment of the container. `PORT` is where it listens, 8080 when it is not given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("x-kubernetes-validations" = [
        rule(
            "self.all(key, key.matches('^[-._a-zA-Z0-9]{1,253}$'))",
            "names have 1 to 253 letters, digits, '-', '_' and '.'"
        ),
        rule(
            "!('PORT' in self) || (self['PORT'].matches('^[1-9][0-9]{0,4}$') && int(self['PORT']) <= 65535)",
            "PORT must be a port number from 1 to 65535"
        ),
    ]))]
    pub config: BTreeMap<String, String>,
    /// Processor time and memory of each pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
}

/// How pods are replaced when the application changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Strategy {
    /// New pods first, a few at a time.
    #[default]
    RollingUpdate,
    /// All old pods go before a new one comes.
    Recreate,
}

/// A `PORT` that is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("spec.config.PORT is {0:?}; it must be a port number from 1 to 65535")]
pub struct PortError(String);

impl Application {
    /// How pods are replaced; a rolling update when nobody says.
    pub fn strategy(&self) -> Strategy {
        self.spec.strategy.unwrap_or_default()
    }

    /// Where the container listens.
    pub fn port(&self) -> Result<u16, PortError> {
        let Some(text) = self.spec.config.get(PORT) else { return Ok(DEFAULT_PORT) };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        text.parse().ok().filter(|_| digits).ok_or_else(|| PortError(text.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_port(port: Option<&str>) -> Application {
        let config = port.map(|port| (PORT.to_owned(), port.to_owned())).into_iter().collect();
        let spec = ApplicationSpec {
            replicas: 1,
            image: "docker.io/library/nginx:1.29".to_owned(),
            strategy: None,
            config,
            resources: None,
        };
        Application::new("web", spec)
    }

    #[test]
    fn the_port_is_the_configured_one_or_8080() {
        assert_eq!(with_port(None).port(), Ok(8080));
        assert_eq!(with_port(Some("1")).port(), Ok(1));
        assert_eq!(with_port(Some("65535")).port(), Ok(65535));
    }

    #[test]
    fn what_is_no_port_is_refused_by_its_value() {
        for wrong in ["", "0", "65536", "http", "+80", " 80", "080", "-1", "8080/tcp"] {
            let error = with_port(Some(wrong)).port().unwrap_err();
            assert!(error.to_string().contains(&format!("{wrong:?}")), "{error}");
        }
    }
}
