//! Clusters.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slipway_domain::access::Permission;
use slipway_domain::{access, cluster};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::endpoint::{Endpoint, Method};
use crate::page::PageInfo;

/// A kubeconfig of 1 MiB in base64, and what is said about the cluster.
const LARGEST: usize = 3 * 512 * 1024;

/// Makes a cluster known.
pub const REGISTER: Endpoint =
    Endpoint::new(Method::Post, "/clusters", "registerCluster", Permission::ManageClusters, 5)
        .takes::<RegisterCluster>()
        .gives::<Cluster>(201)
        .fails(&[400, 409])
        .up_to(LARGEST)
        .says("Register a cluster; it is looked at before it is kept");

/// The clusters.
pub const LIST: Endpoint = Endpoint::new(Method::Get, "/clusters", "listClusters", Permission::Read, 60)
    .asks::<ClustersQuery>()
    .gives::<ClusterList>(200)
    .fails(&[400])
    .says("List clusters, by environment and name");

/// One cluster.
pub const SHOW: Endpoint = Endpoint::new(Method::Get, "/clusters/{name}", "getCluster", Permission::Read, 60)
    .gives::<Cluster>(200)
    .fails(&[404])
    .tagged()
    .says("Show a cluster");

/// How a cluster is.
pub const HEALTH: Endpoint =
    Endpoint::new(Method::Get, "/clusters/{name}/health", "getClusterHealth", Permission::Read, 60)
        .gives::<ClusterHealth>(200)
        .fails(&[404])
        .says("Show how a cluster is, as it was last seen; it is looked at every minute");

/// What is said about a cluster.
pub const UPDATE: Endpoint =
    Endpoint::new(Method::Patch, "/clusters/{name}", "updateCluster", Permission::ManageClusters, 10)
        .takes::<UpdateCluster>()
        .gives::<Cluster>(200)
        .fails(&[400, 404, 412])
        .tagged()
        .says("Change the description, environment or labels of a cluster; what is left out stays");

/// Lets a cluster take part.
pub const ENABLE: Endpoint =
    Endpoint::new(Method::Post, "/clusters/{name}/enable", "enableCluster", Permission::ManageClusters, 10)
        .gives::<Cluster>(200)
        .fails(&[404])
        .says("Let a cluster take part again");

/// Leaves a cluster alone.
pub const DISABLE: Endpoint =
    Endpoint::new(Method::Post, "/clusters/{name}/disable", "disableCluster", Permission::ManageClusters, 10)
        .gives::<Cluster>(200)
        .fails(&[404])
        .says("Leave a cluster alone: it is not looked at, and no rollout chooses it");

/// Another credential.
pub const ROTATE: Endpoint =
    Endpoint::new(Method::Post, "/clusters/{name}/rotate", "rotateCluster", Permission::ManageClusters, 5)
        .takes::<RotateCluster>()
        .gives::<RotatedCluster>(200)
        .fails(&[400, 404, 409])
        .up_to(LARGEST)
        .says("Change the credential of a cluster: to the one given, or to one that the cluster gives out");

/// Forgets a cluster.
pub const REMOVE: Endpoint =
    Endpoint::new(Method::Delete, "/clusters/{name}", "removeCluster", Permission::ManageClusters, 5)
        .asks::<RemoveQuery>()
        .gives_nothing(204)
        .fails(&[400, 404, 409])
        .says("Forget a cluster, and remove from it what Slipway made there for itself");

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[REGISTER, LIST, SHOW, HEALTH, UPDATE, ENABLE, DISABLE, ROTATE, REMOVE];

/// A text that is sent and never shown; it is wiped when it is dropped.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Zeroize, ZeroizeOnDrop)]
#[serde(transparent)]
#[schema(value_type = String, format = Password)]
pub struct Confidential(String);

impl Confidential {
    /// Of a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for whoever it is meant for.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Confidential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Where a cluster stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum ClusterEnvironment {
    /// For trying things.
    #[default]
    Development,
    /// The rehearsal.
    Staging,
    /// Where it hurts.
    Production,
}

/// How a cluster is, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum ClusterHealthStatus {
    /// Nobody has looked yet, or it is left alone.
    Unknown,
    /// Its API server answers and all its nodes are ready.
    Healthy,
    /// It answers, and something is wrong with it.
    Degraded,
    /// It does not answer, or does not let us in.
    Unhealthy,
}

/// What a cluster is reached with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ClusterCredentialKind {
    /// The token of a ServiceAccount, which the server renews.
    ServiceAccountToken,
    /// A token of another kind.
    Token,
    /// A client's certificate.
    ClientCertificate,
}

/// A cluster to be registered: either a kubeconfig, or its parts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisterCluster {
    /// Its name: lower-case letters, digits and dashes. It never changes.
    #[schema(min_length = 1, max_length = 63, example = "prod-eu")]
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it stands.
    #[serde(default)]
    pub environment: ClusterEnvironment,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// A kubeconfig with embedded credentials, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<Confidential>,
    /// Or: the address of the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server_url: Option<String>,
    /// The certificate of the authority that signed the API server's own, PEM in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_data: Option<String>,
    /// The name in the API server's certificate, if it is not that of the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// The token of a ServiceAccount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Confidential>,
    /// Whether it may be a cluster that is registered already under another name.
    #[serde(default)]
    pub allow_duplicate: bool,
}

/// What shall be said about a cluster; what is left out stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateCluster {
    /// What it is for; an empty text takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<ClusterEnvironment>,
    /// All its labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
}

/// Another credential; an empty object lets the cluster give one out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RotateCluster {
    /// A kubeconfig with embedded credentials, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<Confidential>,
    /// Or: the address of the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_server_url: Option<String>,
    /// The certificate of the authority that signed the API server's own, PEM in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_data: Option<String>,
    /// The name in the API server's certificate, if it is not that of the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_server_name: Option<String>,
    /// The token of a ServiceAccount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Confidential>,
}

/// A cluster with another credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RotatedCluster {
    /// The cluster.
    pub cluster: Cluster,
    /// Whether the credential from before is of no use any more; otherwise it lasts until it ends.
    pub previous_revoked: bool,
}

/// Which clusters are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(rename_all = "camelCase")]
pub struct ClustersQuery {
    /// Of this environment.
    #[param(inline)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<ClusterEnvironment>,
    /// With this health.
    #[param(inline)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_status: Option<ClusterHealthStatus>,
    /// With this label, as key=value; several are separated by commas, and all have to be there.
    #[param(example = "team=core")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How many, 1 to 100; 20 where nothing is said.
    #[param(minimum = 1, maximum = 100)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// After how many.
    #[param(minimum = 0)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

/// How a cluster is forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct RemoveQuery {
    /// Even if it does not answer any more; what Slipway made there is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// Part of the clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClusterList {
    /// They.
    pub clusters: Vec<Cluster>,
    /// Which part.
    #[serde(flatten)]
    pub page: PageInfo,
}

/// A cluster. Its credential is never shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// Its id.
    pub cluster_id: Uuid,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Where it stands.
    pub environment: ClusterEnvironment,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The address of its API server.
    pub api_server_url: String,
    /// The version of its API server.
    pub kubernetes_version: Option<String>,
    /// How many nodes it has.
    pub node_count: u32,
    /// How it is.
    pub health_status: ClusterHealthStatus,
    /// Why it is not healthy.
    pub health_reason: Option<String>,
    /// Since when it is so.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub health_since: Option<Timestamp>,
    /// When somebody last looked.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_health_check_at: Option<Timestamp>,
    /// Whether it takes part.
    pub is_enabled: bool,
    /// What it is reached with.
    pub credential_kind: ClusterCredentialKind,
    /// When that ends; the token of a ServiceAccount is renewed before.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub credential_expires_at: Option<Timestamp>,
    /// Since when it is known.
    #[schema(value_type = String, format = DateTime)]
    pub registered_at: Timestamp,
    /// When somebody last changed what is said about it.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// How a cluster is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterHealth {
    /// Which.
    pub cluster_name: String,
    /// In one word.
    pub health_status: ClusterHealthStatus,
    /// Why it is not healthy.
    pub reason: Option<String>,
    /// Since when it is so.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
    /// The version of its API server.
    pub kubernetes_version: Option<String>,
    /// How many nodes it has.
    pub node_count: u32,
    /// How they are.
    pub node_health: ClusterNodeHealth,
    /// Whether its API server answered the last time.
    pub api_server_reachable: bool,
    /// How long that took, in milliseconds.
    pub api_server_latency_ms: Option<u32>,
    /// The operators that are installed there.
    pub deployed_operators: Vec<ClusterOperator>,
    /// When somebody last looked.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_checked_at: Option<Timestamp>,
    /// How it was, the newest first: every change, and the samples of a day.
    pub history: Vec<ClusterHealthSample>,
}

/// How nodes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterNodeHealth {
    /// So many are ready.
    pub ready: u32,
    /// So many are not.
    pub not_ready: u32,
}

/// An operator on a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterOperator {
    /// Its name.
    pub operator_name: String,
    /// Which version.
    pub version: String,
    /// Where.
    pub namespace: String,
    /// When it was last changed.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deployed_at: Option<Timestamp>,
}

/// How a cluster was at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterHealthSample {
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// How.
    pub health_status: ClusterHealthStatus,
    /// Why.
    pub reason: Option<String>,
    /// How long its API server took, in milliseconds.
    pub latency_ms: Option<u32>,
    /// Whether the status was another before.
    pub changed: bool,
}

macro_rules! same {
    ($domain:path, $wire:ident: $($variant:ident),+) => {
        impl From<$domain> for $wire {
            fn from(value: $domain) -> Self {
                match value { $(<$domain>::$variant => Self::$variant),+ }
            }
        }

        impl From<$wire> for $domain {
            fn from(value: $wire) -> Self {
                match value { $($wire::$variant => Self::$variant),+ }
            }
        }
    };
}

same!(access::Environment, ClusterEnvironment: Development, Staging, Production);
same!(cluster::HealthStatus, ClusterHealthStatus: Unknown, Healthy, Degraded, Unhealthy);
same!(cluster::CredentialKind, ClusterCredentialKind: ServiceAccountToken, Token, ClientCertificate);

impl fmt::Display for ClusterEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        access::Environment::from(*self).fmt(f)
    }
}

impl fmt::Display for ClusterHealthStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        cluster::HealthStatus::from(*self).fmt(f)
    }
}

impl From<cluster::Cluster> for Cluster {
    fn from(cluster: cluster::Cluster) -> Self {
        Self {
            cluster_id: cluster.id.0,
            name: cluster.name.into(),
            description: cluster.description,
            environment: cluster.environment.into(),
            labels: cluster.labels.as_map().clone(),
            api_server_url: cluster.server,
            kubernetes_version: cluster.health.kubernetes_version,
            node_count: cluster.health.nodes.total(),
            health_status: cluster.health.status.into(),
            health_reason: cluster.health.reason,
            health_since: cluster.health.since,
            last_health_check_at: cluster.health.checked_at,
            is_enabled: cluster.state == cluster::State::Enabled,
            credential_kind: cluster.credentials.kind.into(),
            credential_expires_at: cluster.credentials.expires_at,
            registered_at: cluster.registered_at,
            updated_at: cluster.updated_at,
        }
    }
}
