//! Forgetting clusters.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::json;
use slipway_infra::kubernetes::enrol::{Rights, enrol};
use slipway_infra::kubernetes::role::{NAME, NAMESPACE};
use slipway_orchestrator::Code;
use slipway_orchestrator::clusters::{CLUSTER_HEALTH, CLUSTER_TOKENS, Removal};
use slipway_orchestrator::ports::store::{ClusterRows as _, WorkRows as _};
use slipway_testkit::{ControlPlane, until};

use crate::server::{Server, admin, registration, uploaded};
use crate::support::database;

const MINUTE: Duration = Duration::from_mins(1);

/// What of ours is in a cluster.
async fn ours(client: &Client) -> Vec<String> {
    let mut there = Vec::new();
    let secrets = Api::<Secret>::namespaced(client.clone(), NAMESPACE);
    for secret in secrets.list(&ListParams::default()).await.unwrap() {
        there.push(format!("Secret {}", secret.name_any()));
    }
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), NAMESPACE);
    there.extend(accounts.get_opt(NAME).await.unwrap().map(|_| "ServiceAccount".to_owned()));
    let roles = Api::<ClusterRole>::all(client.clone());
    there.extend(roles.get_opt(NAME).await.unwrap().map(|_| "ClusterRole".to_owned()));
    let bindings = Api::<ClusterRoleBinding>::all(client.clone());
    there.extend(bindings.get_opt(NAME).await.unwrap().map(|_| "ClusterRoleBinding".to_owned()));
    there
}

#[tokio::test]
async fn removal_removes_the_account_and_the_credential_and_the_name_is_free_again() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let client = plane.client().await.unwrap();
    let id = server.add("dev-1", &plane).await.id;
    assert_eq!(ours(&client).await.len(), 4);
    server.manager.remove_cluster(&admin(), "dev-1", Removal::Orderly).await.unwrap();
    until("the cluster to be left", MINUTE, async || ours(&client).await.is_empty().then_some(()))
        .await
        .unwrap();
    assert_eq!(stored.store.cluster_access(id).await.unwrap(), None);
    for kind in [CLUSTER_HEALTH, CLUSTER_TOKENS] {
        assert_eq!(stored.store.next_due(kind).await.unwrap(), None);
    }
    assert!(server.connections.client(id).await.is_err());
    server.add("dev-1", &plane).await;
}

#[tokio::test]
async fn a_cluster_that_is_gone_is_forgotten_by_force_only() {
    let stored = database().await;
    let plane = ControlPlane::builder().own_etcd().start().await.unwrap();
    let server = Server::new(&stored.store);
    server.add("dev-1", &plane).await;
    plane.kill("kube-apiserver").await.unwrap();
    let error = server.manager.remove_cluster(&admin(), "dev-1", Removal::Orderly).await.unwrap_err();
    assert_eq!(error.code, Code::ClusterUnreachable);
    assert!(error.to_string().contains("slipway cluster remove dev-1 --force"), "{error}");
    server.manager.remove_cluster(&admin(), "dev-1", Removal::Forced).await.unwrap();
    assert_eq!(server.manager.cluster(&admin(), "dev-1").await.unwrap_err().code, Code::ClusterNotFound);
}

#[tokio::test]
async fn what_people_made_is_left_alone() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let client = plane.client().await.unwrap();
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), "default");
    let account = serde_json::from_value(json!({"metadata": {"name": "people"}})).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let wanted = registration("dev-1", uploaded(plane.kubeconfig()));
    server.manager.register_cluster(&admin(), wanted).await.unwrap();
    server.manager.remove_cluster(&admin(), "dev-1", Removal::Orderly).await.unwrap();
    accounts.get("people").await.unwrap();
}

#[tokio::test]
async fn preparing_a_cluster_is_taken_back_when_a_step_fails() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    // A ServiceAccount of that name that is not ours stops it half way.
    let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE}})).unwrap();
    let namespaces = Api::<k8s_openapi::api::core::v1::Namespace>::all(client.clone());
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    let account: ServiceAccount = serde_json::from_value(json!({"metadata": {"name": NAME}})).unwrap();
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), NAMESPACE);
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let error = enrol(&client, &Rights::Documented).await.unwrap_err().to_string();
    assert!(error.contains("ServiceAccount slipway-manager is there already"), "{error}");
    assert_eq!(ours(&client).await, ["ServiceAccount"], "only what was there before");
    accounts.delete(NAME, &DeleteParams::default()).await.unwrap();

    let error = enrol(&client, &Rights::Existing("no-such-role".to_owned())).await.unwrap_err().to_string();
    assert!(error.contains("no ClusterRole no-such-role"), "{error}");
    assert_eq!(ours(&client).await, [""; 0]);
    let enrolment = enrol(&client, &Rights::Existing("view".to_owned())).await.unwrap();
    assert_eq!(ours(&client).await.len(), 3, "no role is made");
    assert_eq!(enrolment.undo().await, [""; 0]);
    assert_eq!(ours(&client).await, [""; 0]);
    namespaces.get(NAMESPACE).await.expect("it was there before");
}
