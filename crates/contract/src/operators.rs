//! Operators: what is registered, what their repositories offer, and where they are installed.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use slipway_domain::access::Permission;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::endpoint::{Endpoint, Method};
use crate::page::PageInfo;

/// Registers.
pub const REGISTER: Endpoint =
    Endpoint::new(Method::Post, "/operators", "registerOperator", Permission::ManageOperators, 10)
        .takes::<RegisterOperator>()
        .gives::<OperatorReply>(201)
        .fails(&[400, 409, 413, 415])
        .up_to(1024 * 1024)
        .says("Register an operator from a chart repository, which is asked for the chart first");

/// Lists.
pub const LIST: Endpoint = Endpoint::new(Method::Get, "/operators", "listOperators", Permission::Read, 60)
    .asks::<OperatorsQuery>()
    .gives::<OperatorsReply>(200)
    .fails(&[400])
    .says("List operators by name");

/// Shows.
pub const SHOW: Endpoint =
    Endpoint::new(Method::Get, "/operators/{name}", "getOperator", Permission::Read, 60)
        .gives::<OperatorDetailReply>(200)
        .fails(&[404])
        .tagged()
        .says("Show an operator and where it is installed");

/// Changes.
pub const UPDATE: Endpoint =
    Endpoint::new(Method::Put, "/operators/{name}", "updateOperator", Permission::ManageOperators, 10)
        .takes::<UpdateOperator>()
        .gives::<OperatorDetailReply>(200)
        .fails(&[400, 404, 412, 413, 415])
        .up_to(1024 * 1024)
        .tagged()
        .says("Change an operator; what is not sent stays. Name, namespace and chart cannot be changed");

/// Removes.
pub const REMOVE: Endpoint =
    Endpoint::new(Method::Delete, "/operators/{name}", "removeOperator", Permission::RemoveOperators, 10)
        .gives_nothing(204)
        .fails(&[404, 409])
        .says("Forget an operator that is installed nowhere");

/// Lists versions.
pub const VERSIONS: Endpoint =
    Endpoint::new(Method::Get, "/operators/{name}/versions", "listOperatorVersions", Permission::Read, 30)
        .gives::<VersionsReply>(200)
        .fails(&[404])
        .says("List the versions that the repository offers, the newest first, pre-releases apart");

/// Reads the repository.
pub const REFRESH: Endpoint = Endpoint::new(
    Method::Post,
    "/operators/{name}/refresh",
    "refreshOperator",
    Permission::ManageOperators,
    10,
)
.gives::<VersionsReply>(200)
.fails(&[400, 404])
.says("Read the repository now instead of within a quarter of an hour");

/// Shows the profile.
pub const PROFILE: Endpoint =
    Endpoint::new(Method::Get, "/operators/{name}/profile", "getOperatorProfile", Permission::Read, 60)
        .gives::<ProfileReply>(200)
        .fails(&[404])
        .says("Show what has to be known to roll the operator out");

/// Adopts.
pub const ADOPT: Endpoint =
    Endpoint::new(Method::Post, "/operators/{name}/adopt", "adoptRelease", Permission::ManageOperators, 10)
        .takes::<AdoptRelease>()
        .gives::<DeployedCluster>(200)
        .fails(&[400, 404, 409, 413, 415])
        .says("Hand a release that helm installed to Slipway; nothing on the cluster is touched");

/// Lists what is installed.
pub const INSTALLED: Endpoint =
    Endpoint::new(Method::Get, "/clusters/{name}/operators", "listInstallations", Permission::Read, 60)
        .gives::<InstallationsReply>(200)
        .fails(&[404])
        .says("List what is installed on a cluster, as it was last seen");

/// Looks at a cluster.
pub const DISCOVER: Endpoint = Endpoint::new(
    Method::Post,
    "/clusters/{name}/discover",
    "discoverInstallations",
    Permission::ManageOperators,
    10,
)
.gives::<InstallationsReply>(200)
.fails(&[404, 409])
.says("Look for releases on a cluster now instead of within a minute");

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] =
    &[REGISTER, LIST, SHOW, UPDATE, REMOVE, VERSIONS, REFRESH, PROFILE, ADOPT, INSTALLED, DISCOVER];

/// How a repository is told who asks: a user name with a password, or a token. Never returned.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepositoryCredentials {
    /// The user name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// The password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = Password)]
    pub password: Option<String>,
    /// The token, instead of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = Password)]
    pub token: Option<String>,
}

impl fmt::Debug for RepositoryCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RepositoryCredentials(…)")
    }
}

/// An operator to register.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisterOperator {
    /// What it is to be called.
    #[schema(example = "cert-manager")]
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where it is installed on clusters.
    #[schema(example = "cert-manager")]
    pub namespace: String,
    /// The address of the repository: `https://`, `http://` or `oci://`.
    #[schema(example = "https://charts.example.com")]
    pub chart_repository: String,
    /// The chart there.
    #[schema(example = "cert-manager")]
    pub chart_name: String,
    /// The version the fleet is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "v1.13.0")]
    pub current_version: Option<String>,
    /// Its definitions; found from the chart where none are given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crd_names: Vec<String>,
    /// For selecting it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The helm values that every installation starts from. No place for secrets: they are shown.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub default_values: Map<String, Value>,
    /// What has to be known to roll it out, as in `docs/reference/operator-profile.schema.json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub profile: Option<Value>,
    /// How the repository is told who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<RepositoryCredentials>,
    /// The authority that vouches for the repository, as PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_certificate: Option<String>,
}

/// What of an operator shall be otherwise; what is not sent stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateOperator {
    /// Cannot be changed; accepted where it is as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Cannot be changed; accepted where it is as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Cannot be changed; accepted where it is as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_repository: Option<String>,
    /// Cannot be changed; accepted where it is as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart_name: Option<String>,
    /// What it is for; an empty text removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// All labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// All values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub default_values: Option<Map<String, Value>>,
    /// The version the fleet is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_version: Option<String>,
    /// The profile; `null` goes back to the built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "sent")]
    #[schema(value_type = Option<Object>)]
    pub profile: Option<Value>,
    /// New credentials; `null` removes them.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "sent")]
    pub credentials: Option<Option<RepositoryCredentials>>,
    /// A new authority; `null` removes it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "sent")]
    pub ca_certificate: Option<Option<String>>,
}

/// Tells what was sent as `null` from what was not sent.
fn sent<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Which operators are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(rename_all = "camelCase")]
pub struct OperatorsQuery {
    /// Only of this namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Only with this label, `key=value`; several with commas between them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Only with, or without, a newer version in the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_update: Option<bool>,
    /// How many, 1 to 100; 20 where nothing is said.
    #[param(minimum = 1, maximum = 100)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// After how many.
    #[param(minimum = 0)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

/// An operator in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorReply {
    /// Its id.
    pub operator_id: Uuid,
    /// Its name.
    pub name: String,
    /// Where it is installed on clusters.
    pub namespace: String,
    /// The version the fleet is on.
    pub current_version: Option<String>,
    /// The newest stable version that the repository offers.
    pub latest_version: Option<String>,
    /// Whether that is newer.
    pub has_update: bool,
    /// On how many clusters it is.
    pub deployed_cluster_count: u32,
    /// When it was registered.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// Operators.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorsReply {
    /// Them.
    pub operators: Vec<OperatorReply>,
    /// Which part of all it is.
    #[serde(flatten)]
    pub page: PageInfo,
}

/// An operator with everything that is known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorDetailReply {
    /// What is in the list, too.
    #[serde(flatten)]
    pub operator: OperatorReply,
    /// What it is for.
    pub description: Option<String>,
    /// The address of the repository.
    pub chart_repository: String,
    /// The chart there.
    pub chart_name: String,
    /// Its definitions.
    pub crd_names: Vec<String>,
    /// For selecting it.
    pub labels: BTreeMap<String, String>,
    /// The helm values that every installation starts from.
    #[schema(value_type = Object)]
    pub default_values: Map<String, Value>,
    /// Whether credentials are kept for the repository; they are never returned.
    pub has_credentials: bool,
    /// When the repository was last read.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub checked_at: Option<Timestamp>,
    /// Why it could not be read the last time.
    pub check_error: Option<String>,
    /// Where it is installed.
    pub deployed_clusters: Vec<DeployedCluster>,
    /// When somebody last changed it.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// An installation of an operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeployedCluster {
    /// The cluster.
    pub cluster_name: String,
    /// The version there.
    pub version: String,
    /// How the operator is there: `Healthy`, `Degraded`, `Unhealthy` or `Unknown`.
    pub health: String,
    /// When it was last changed there.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deployed_at: Option<Timestamp>,
    /// Its namespace there.
    pub namespace: String,
    /// The name of the release.
    pub release: String,
    /// helm's number; 0 where there is no release of helm.
    pub revision: u32,
    /// How far helm came: `deployed`, `failed`, `pending`, `uninstalled` or `unknown`.
    pub state: String,
    /// Who manages it: `slipway`, `helm`, `argocd`, `flux` or `olm`.
    pub managed_by: String,
    /// What that tool calls it.
    pub manager_reference: Option<String>,
    /// What is not as it was released any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<DriftReply>,
}

/// What of a release is not as it was released any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriftReply {
    /// When it was first seen.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// What differs.
    pub objects: Vec<DriftedObject>,
}

/// An object that is not as it was released.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriftedObject {
    /// Which: `Deployment shop/web`.
    pub object: String,
    /// Whether it is not there any more.
    pub gone: bool,
    /// The fields that differ, each as `path: is → was released`, or the path alone where the value is text.
    pub fields: Vec<String>,
}

/// The versions of an operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionsReply {
    /// The operator.
    pub operator_name: String,
    /// The version the fleet is on.
    pub current_version: Option<String>,
    /// Released versions, the newest first.
    pub versions: Vec<VersionReply>,
    /// Versions that come before a release, the newest first.
    pub pre_releases: Vec<VersionReply>,
    /// When the repository was last read.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub checked_at: Option<Timestamp>,
    /// Why it could not be read the last time.
    pub check_error: Option<String>,
}

/// A version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = OperatorVersion)]
#[serde(rename_all = "camelCase")]
pub struct VersionReply {
    /// It.
    pub version: String,
    /// When it was published, where the repository says so.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub release_date: Option<Timestamp>,
    /// Whether it is the newest stable one.
    pub is_latest: bool,
    /// Where its changes are told, as far as the chart says so.
    pub changelog_url: Option<String>,
    /// The version of what the chart installs.
    pub app_version: Option<String>,
    /// Whether its authors gave it up.
    pub deprecated: bool,
}

/// What has to be known to roll an operator out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileReply {
    /// The operator.
    pub operator_name: String,
    /// Who says so: `own`, `builtIn` or `default`.
    pub origin: String,
    /// The profile.
    #[schema(value_type = Object)]
    pub profile: Value,
}

/// A release to hand over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdoptRelease {
    /// The cluster.
    pub cluster_name: String,
    /// The release, `namespace/name` or only the name; needed where several could be meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
}

/// What is installed on a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallationsReply {
    /// The cluster.
    pub cluster_name: String,
    /// By namespace and name.
    pub installations: Vec<InstallationReply>,
}

/// Something that is installed on a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallationReply {
    /// The registered operator it belongs to.
    pub operator_name: Option<String>,
    /// Its namespace.
    pub namespace: String,
    /// The name of the release.
    pub release: String,
    /// The chart.
    pub chart: String,
    /// The chart's version.
    pub version: String,
    /// The version of what it installs.
    pub app_version: Option<String>,
    /// helm's number; 0 where there is no release of helm.
    pub revision: u32,
    /// How far helm came: `deployed`, `failed`, `pending`, `uninstalled` or `unknown`.
    pub state: String,
    /// Who manages it: `slipway`, `helm`, `argocd`, `flux` or `olm`.
    pub managed_by: String,
    /// What that tool calls it.
    pub manager_reference: Option<String>,
    /// When it was last changed.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deployed_at: Option<Timestamp>,
    /// When it was last seen to change.
    #[schema(value_type = String, format = DateTime)]
    pub seen_at: Timestamp,
    /// What is not as it was released any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<DriftReply>,
}
