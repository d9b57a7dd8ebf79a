//! The interface has what the specification's own table and samples have: paths, roles, limits, statuses, fields.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::collections::BTreeSet;

use serde_json::Value;
use slipway_contract::{Access, endpoints, openapi_json};

const ALL: &str = "Viewer Operator EnvironmentOwner Admin";

/// Verb, path, roles, requests a minute where the specification has a number, status, and query parameters.
type Row = (&'static str, &'static str, &'static str, Option<u32>, u16, &'static str);

const ROWS: &[Row] = &[
    ("POST", "/authentication/login", "", None, 200, ""),
    ("POST", "/operators", "Operator Admin", Some(10), 201, ""),
    ("GET", "/operators", ALL, Some(60), 200, "namespace label hasUpdate limit offset"),
    ("GET", "/operators/{name}", ALL, Some(60), 200, ""),
    ("PUT", "/operators/{name}", "Operator Admin", Some(10), 200, ""),
    ("DELETE", "/operators/{name}", "Admin", Some(10), 204, ""),
    ("GET", "/operators/{name}/versions", ALL, Some(30), 200, ""),
    ("GET", "/operators/{name}/health", ALL, Some(60), 200, ""),
    ("POST", "/deployments", "Operator Admin", Some(10), 202, ""),
    ("GET", "/deployments", ALL, Some(60), 200, "operatorName status initiatedBy strategy limit offset"),
    ("GET", "/deployments/{id}", ALL, Some(60), 200, ""),
    ("POST", "/deployments/{id}/rollback", "Admin", Some(10), 202, ""),
    ("GET", "/deployments/{id}/rollback-status", ALL, None, 200, ""),
    ("DELETE", "/deployments/{id}", "Operator Admin", Some(10), 202, ""),
    ("POST", "/clusters", "Admin", Some(5), 201, ""),
    ("GET", "/clusters", ALL, Some(60), 200, "environment healthStatus label limit offset"),
    ("GET", "/clusters/{name}", ALL, Some(60), 200, ""),
    ("GET", "/clusters/{name}/health", ALL, Some(60), 200, ""),
    ("DELETE", "/clusters/{name}", "Admin", Some(5), 204, ""),
    ("GET", "/clusters/{cluster}/operators/{operator}/health", ALL, Some(60), 200, ""),
    ("POST", "/crds", "Operator Admin", None, 201, ""),
    ("GET", "/crds", ALL, Some(60), 200, "operatorName status limit offset"),
    ("GET", "/crds/{name}", ALL, Some(60), 200, ""),
    ("POST", "/crds/{name}/validate", "Operator Admin", Some(30), 200, ""),
    ("POST", "/crds/{name}/approve", "Admin", Some(10), 200, ""),
    ("POST", "/crds/{name}/deprecate", "Admin", None, 200, ""),
    ("GET", "/approvals", "EnvironmentOwner Admin", Some(60), 200, "status limit offset"),
    ("POST", "/approvals/{id}/approve", "EnvironmentOwner Admin", Some(10), 200, ""),
    ("POST", "/approvals/{id}/reject", "EnvironmentOwner Admin", Some(10), 200, ""),
];

/// A type on the wire, and the fields that the specification's samples have.
const SHAPES: &[(&str, &str)] = &[
    ("LoginReply", "token expiresAt user"),
    ("LoggedInUser", "username role"),
    (
        "RegisterOperator",
        "name description namespace chartRepository chartName currentVersion crdNames labels defaultValues",
    ),
    (
        "OperatorReply",
        "operatorId name namespace currentVersion latestVersion hasUpdate deployedClusterCount createdAt",
    ),
    (
        "OperatorDetailReply",
        "operatorId name namespace currentVersion latestVersion hasUpdate deployedClusterCount createdAt \
         description chartRepository chartName crdNames deployedClusters updatedAt",
    ),
    ("DeployedCluster", "clusterName version health deployedAt"),
    ("VersionsReply", "operatorName currentVersion versions"),
    ("OperatorVersion", "version releaseDate isLatest changelogUrl"),
    (
        "StartDeployment",
        "operatorName targetVersion strategy targetClusters strategyConfig helmValues autoRollbackEnabled \
         directConfig canaryConfig rollingConfig blueGreenConfig clusters",
    ),
    ("DirectConfig", "parallelClusters skipHealthChecks timeout"),
    (
        "CanaryConfig",
        "initialPercentage incrementPercentage evaluationPeriod successThreshold autoRollbackEnabled \
         healthCheckInterval",
    ),
    ("RollingConfig", "clusterOrder validationPeriod pauseBetweenClusters stopOnFailure"),
    (
        "BlueGreenConfig",
        "blueNamespace greenNamespace validationPeriod autoSwitch retentionPeriod switchMonitoringPeriod",
    ),
    (
        "DeploymentReply",
        "deploymentId operatorName targetVersion previousVersion strategy status targetClusters initiatedBy \
         approvalStatus startedAt completedAt successfulClusters failedClusters successRate \
         estimatedCompletionAt",
    ),
    (
        "DeploymentDetailReply",
        "deploymentId status clusterStatuses approvedBy approvedAt strategyConfig autoRollbackEnabled \
         errorMessage rollbackReason rolledBackAt",
    ),
    ("ClusterRollout", "clusterName status startedAt completedAt errorMessage healthCheck"),
    ("RollbackRequest", "reason targetClusters"),
    ("RollbackReply", "deploymentId status rollbackReason targetClusters rolledBackAt"),
    ("RegisterCluster", "name description environment kubeconfig labels"),
    (
        "Cluster",
        "clusterId name environment apiServerUrl kubernetesVersion nodeCount healthStatus registeredAt",
    ),
    (
        "ClusterHealth",
        "clusterName healthStatus kubernetesVersion nodeCount nodeHealth apiServerReachable \
         apiServerLatencyMs deployedOperators lastCheckedAt",
    ),
    ("ClusterNodeHealth", "ready notReady"),
    (
        "CrdReply",
        "crdId name group versions scope operatorName operatorVersion schemaDefinition schemaVersion status \
         approvalStatus approvedBy approvedAt schemaHistory createdAt",
    ),
    ("ValidateCrd", "newSchemaDefinition newOperatorVersion"),
    ("ValidateReply", "isCompatible breakingChanges nonBreakingChanges requiresApproval validatedAt"),
    ("ValidatedChange", "changeType fieldPath description severity"),
    (
        "Approval",
        "approvalId type deploymentId operatorName targetVersion environment status initiatedBy createdAt",
    ),
    ("ApproveRequest", "notes"),
    ("ApproveReply", "approvalId status approvedBy approvedAt"),
    ("RejectRequest", "reason"),
    ("RejectReply", "approvalId status rejectedBy rejectedAt reason"),
    (
        "OperatorHealthReply",
        "operatorName overallHealth healthyClusters unhealthyClusters degradedClusters clusters",
    ),
    (
        "ClusterOperatorHealth",
        "health controllerPods webhookStatus crdReconciliation lastChecked controllerPodHealth webhookHealth \
         crdReconciliationHealth lastCheckedAt errorMessage consecutiveFailures",
    ),
    ("ErrorReply", "error"),
    ("ErrorBody", "code message details traceId timestamp"),
    ("ErrorDetail", "cluster message"),
    ("PageInfo", "total limit offset hasMore nextOffset"),
];

fn words(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn document() -> Value {
    serde_json::from_str(&openapi_json()).unwrap()
}

#[test]
fn endpoints_are_those_of_the_specification() {
    let document = document();
    for (verb, path, roles, most, status, query) in ROWS {
        let row = endpoints().find(|row| row.method.as_str() == *verb && row.path == *path);
        let row = row.unwrap_or_else(|| panic!("{verb} {path} is missing"));
        let who = match row.access {
            Access::Open => BTreeSet::new(),
            Access::Needs(permission) => permission.roles().iter().map(ToString::to_string).collect(),
        };
        assert_eq!(who, words(roles), "{verb} {path}");
        assert!(most.is_none() || row.per_minute == *most, "{verb} {path}: {:?} a minute", row.per_minute);
        assert_eq!(row.success, *status, "{verb} {path}");
        let operation = &document["paths"][format!("/api/v1{path}")][verb.to_lowercase()];
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let asked: BTreeSet<String> = parameters
            .filter(|parameter| parameter["in"] == "query")
            .map(|parameter| parameter["name"].as_str().unwrap().to_owned())
            .collect();
        assert!(asked.is_superset(&words(query)), "{verb} {path} takes {asked:?}");
    }
}

/// The fields of a type, with those of the types that are flattened into it.
fn fields(schemas: &Value, schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(target) = schema["$ref"].as_str() {
        fields(schemas, &schemas[target.rsplit('/').next().unwrap()], found);
    }
    found.extend(schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()));
    for part in schema["allOf"].as_array().into_iter().flatten() {
        fields(schemas, part, found);
    }
}

#[test]
fn replies_have_the_fields_of_the_specification() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    for (name, wanted) in SHAPES {
        let mut found = BTreeSet::new();
        fields(schemas, &schemas[name], &mut found);
        let missing: Vec<_> = words(wanted).into_iter().filter(|field| !found.contains(field)).collect();
        assert!(missing.is_empty(), "{name} has no {missing:?}");
    }
}
