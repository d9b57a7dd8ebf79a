//! What a leased control plane promises.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use serde_json::json;
use slipway_testkit::kwok::{BEHAVIOUR, Behaviour};
use slipway_testkit::{ControlPlane, Fleet, until};

const MINUTE: Duration = Duration::from_mins(1);

fn crd() -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.testkit.slipway.dev"},
        "spec": {
            "group": "testkit.slipway.dev",
            "scope": "Namespaced",
            "names": {"plural": "boats", "singular": "boat", "kind": "Boat"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {
                    "type": "object",
                    "properties": {"length": {"type": "integer"}, "beam": {"type": "integer"}},
                    "x-kubernetes-validations": [
                        {"rule": "self.beam <= self.length", "message": "a boat is longer than wide"}
                    ]
                }}
            }}}]
        }
    }))
    .unwrap()
}

fn boat(name: &str, length: u32, beam: u32) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": "testkit.slipway.dev/v1", "kind": "Boat",
        "metadata": {"name": name}, "spec": {"length": length, "beam": beam}
    }))
    .unwrap()
}

fn boats(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("testkit.slipway.dev", "v1", "Boat");
    Api::namespaced_with(client.clone(), "default", &ApiResource::from_gvk(&kind))
}

fn deployment(name: &str, behaviour: Option<Behaviour>) -> Deployment {
    let annotations = behaviour.map(|behaviour| json!({BEHAVIOUR: behaviour.annotation()}));
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": annotations},
                "spec": {"containers": [{"name": "main", "image": "example.test/any"}]}
            }
        }
    }))
    .unwrap()
}

async fn pods(client: &Client, app: &str) -> Vec<Pod> {
    let api = Api::<Pod>::namespaced(client.clone(), "default");
    api.list(&ListParams::default().labels(&format!("app={app}"))).await.unwrap().items
}

fn ready_replicas(deployment: &Deployment) -> i32 {
    deployment.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0)
}

#[tokio::test]
async fn a_cel_rule_of_a_crd_is_enforced() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &crd()).await.unwrap();
    let boats = boats(&client);
    until("the first boat", MINUTE, async || {
        boats.create(&PostParams::default(), &boat("slim", 9, 3)).await.ok()
    })
    .await
    .unwrap();
    let error = boats.create(&PostParams::default(), &boat("square", 3, 9)).await.unwrap_err();
    assert!(error.to_string().contains("a boat is longer than wide"), "{error}");
}

#[tokio::test]
async fn two_leases_share_nothing_and_a_returned_control_plane_is_not_used_again() {
    async fn identity(client: &Client) -> String {
        Api::<Namespace>::all(client.clone()).get("kube-system").await.unwrap().uid().unwrap()
    }
    let mut fleet = Fleet::start(2, 0).await.unwrap().clusters;
    let (second, first) = (fleet.pop().unwrap(), fleet.pop().unwrap());
    assert_ne!(first.server(), second.server());
    let (one, two) = (first.client().await.unwrap(), second.client().await.unwrap());
    Api::all(one.clone()).create(&PostParams::default(), &crd()).await.unwrap();
    let there = Api::<CustomResourceDefinition>::all(two.clone());
    assert!(there.list(&ListParams::default()).await.unwrap().items.is_empty());
    let used = [identity(&one).await, identity(&two).await];
    assert_ne!(used[0], used[1]);
    drop((first, second));
    let third = ControlPlane::start().await.unwrap();
    assert!(!used.contains(&identity(&third.client().await.unwrap()).await));
}

#[tokio::test]
async fn pods_on_kwok_nodes_become_ready_or_fail_as_told() {
    let plane = ControlPlane::builder().nodes(2).start().await.unwrap();
    let client = plane.client().await.unwrap();
    let deployments = Api::<Deployment>::namespaced(client.clone(), "default");
    for (name, behaviour) in [
        ("fine", None),
        ("crashing", Some(Behaviour::CrashLoop)),
        ("unready", Some(Behaviour::Unready)),
        ("vanishing", Some(Behaviour::Vanish)),
    ] {
        deployments.create(&PostParams::default(), &deployment(name, behaviour)).await.unwrap();
    }
    until("a Deployment to be Ready", MINUTE, async || {
        (ready_replicas(&deployments.get("fine").await.ok()?) == 2).then_some(())
    })
    .await
    .unwrap();
    until("CrashLoopBackOff", MINUTE, async || {
        let pods = pods(&client, "crashing").await;
        let status = serde_json::to_value(pods.first()?.status.as_ref()?).ok()?;
        let reason = status.pointer("/containerStatuses/0/state/waiting/reason")?.as_str()?.to_owned();
        (reason == "CrashLoopBackOff").then_some(())
    })
    .await
    .unwrap();
    until("a pod that runs without being Ready", MINUTE, async || {
        let pods = pods(&client, "unready").await;
        pods.first()?.status.as_ref()?.phase.as_deref().filter(|phase| *phase == "Running").map(|_| ())
    })
    .await
    .unwrap();
    assert_eq!(ready_replicas(&deployments.get("unready").await.unwrap()), 0);
    let before: Vec<_> = pods(&client, "vanishing").await.iter().filter_map(ResourceExt::uid).collect();
    until("other pods in the place of those that vanished", MINUTE, async || {
        let now: Vec<_> = pods(&client, "vanishing").await.iter().filter_map(ResourceExt::uid).collect();
        (!now.is_empty() && now.iter().all(|pod| !before.contains(pod))).then_some(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn an_api_server_that_was_killed_comes_back_with_its_objects() {
    let plane = ControlPlane::builder().own_etcd().start().await.unwrap();
    let client = plane.client().await.unwrap();
    let namespaces = Api::<Namespace>::all(client.clone());
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "kept"}})).unwrap();
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    plane.kill("kube-apiserver").await.unwrap();
    assert!(namespaces.get("kept").await.is_err());
    plane.start_part("kube-apiserver").await.unwrap();
    let kept = until("the namespace", MINUTE, async || namespaces.get("kept").await.ok()).await.unwrap();
    assert_eq!(kept.name_any(), "kept");
    let error = plane.kill("kube-nothing").await.unwrap_err();
    assert_eq!(error.to_string(), "kube-nothing is not running");
}
