//! `cloudnative.elide.dev/v1beta1`: served beside [`super::v1`], in another shape.
//!
//! It names the container and lists its environment, as a pod does, and does not know resources.
#![allow(clippy::duplicated_attributes, reason = "two printer columns have the same type")]

use kube::CustomResource;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::ApplicationStatus;

/// What somebody wants to run.
#[derive(CustomResource, JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "cloudnative.elide.dev",
    version = "v1beta1",
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
    /// What runs in each pod.
    pub container: Container,
    /// Environment of the container. `PORT` is where it listens, 8080 when it is not given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = keyed_by_name)]
    pub env: Vec<EnvVar>,
    /// How pods are replaced when the application changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Rolling"))]
    pub rollout: Option<Rollout>,
}

/// What runs in each pod.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// The container image.
    #[schemars(length(min = 1), regex(pattern = r"\S"))]
    pub image: String,
}

/// One entry of the environment.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvVar {
    /// Name of the variable.
    #[schemars(length(max = 253), regex(pattern = r"^[-._a-zA-Z0-9]+$"))]
    pub name: String,
    /// Its value.
    #[serde(default)]
    pub value: String,
}

/// How pods are replaced when the application changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Rollout {
    /// New pods first, a few at a time.
    #[default]
    Rolling,
    /// All old pods go before a new one comes.
    Recreate,
}

/// A name stands once in an environment, so the API server may refuse a second one and merge by name.
fn keyed_by_name(schema: &mut Schema) {
    schema.insert("x-kubernetes-list-type".to_owned(), "map".into());
    schema.insert("x-kubernetes-list-map-keys".to_owned(), vec!["name"].into());
}
