//! The children of an Application on a real API server.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use slipway_application_operator::children::Children;
use slipway_application_operator::crd::{Application, Strategy};
use slipway_testkit::ControlPlane;

fn app(name: &str) -> Application {
    serde_json::from_value(json!({
        "apiVersion": "cloudnative.elide.dev/v1", "kind": "Application",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 3,
            "image": "docker.io/library/nginx:1.29",
            "config": {"PORT": "3000", "GREETING": "ahoy"},
            "resources": {
                "requests": {"cpu": "0.5", "memory": "1024Mi"},
                "limits": {"cpu": "1500m", "memory": "1.5Gi"},
            },
        },
    }))
    .unwrap()
}

async fn apply<K>(client: &Client, child: &K) -> Value
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let mut wanted = serde_json::to_value(child).unwrap();
    wanted["apiVersion"] = Value::from(K::api_version(&()));
    wanted["kind"] = Value::from(K::kind(&()));
    let api = Api::<K>::namespaced(client.clone(), "default");
    let applied = api
        .patch(&child.name_any(), &PatchParams::apply("test").force(), &Patch::Apply(&wanted))
        .await
        .unwrap_or_else(|error| panic!("{} {}: {error}", K::kind(&()), child.name_any()));
    serde_json::to_value(applied).unwrap()
}

async fn apply_all(client: &Client, children: &Children) -> Vec<Value> {
    vec![
        apply(client, &children.deployment).await,
        apply(client, &children.service).await,
        apply(client, children.config_map.as_ref().unwrap()).await,
        apply(client, children.budget.as_ref().unwrap()).await,
    ]
}

/// Whether everything that is wanted is there, as it is wanted.
fn holds(live: &Value, wanted: &Value, path: &str) {
    match wanted {
        Value::Object(fields) => {
            for (key, inner) in fields {
                holds(&live[key], inner, &format!("{path}.{key}"));
            }
        }
        Value::Array(items) => {
            assert_eq!(live.as_array().map(Vec::len), Some(items.len()), "{path}");
            for (index, inner) in items.iter().enumerate() {
                holds(&live[index], inner, &format!("{path}[{index}]"));
            }
        }
        other => assert_eq!(live, other, "{path}"),
    }
}

#[tokio::test]
async fn what_is_applied_is_kept_to_the_letter_and_a_second_apply_changes_nothing() {
    slipway_testkit::init();
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let children = Children::of(&app("web")).unwrap();
    let first = apply_all(&client, &children).await;
    let Children { deployment, service, config_map, budget } = &children;
    let wanted = [
        serde_json::to_value(deployment).unwrap(),
        serde_json::to_value(service).unwrap(),
        serde_json::to_value(config_map).unwrap(),
        serde_json::to_value(budget).unwrap(),
    ];
    // No quantity, port or default is written back in other words: drift can be seen by comparing.
    for (live, wanted) in first.iter().zip(&wanted) {
        holds(live, wanted, "");
    }
    let second = apply_all(&client, &children).await;
    // Their controllers write the status of a Deployment and of a budget meanwhile; the spec is what counts.
    for (index, what) in
        [(0, "generation"), (1, "resourceVersion"), (2, "resourceVersion"), (3, "generation")]
    {
        assert_eq!(
            first[index]["metadata"][what], second[index]["metadata"][what],
            "{}",
            second[index]["kind"]
        );
    }
}

#[tokio::test]
async fn the_way_pods_are_replaced_can_change_both_ways() {
    slipway_testkit::init();
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let mut app = app("web");
    for strategy in [Strategy::RollingUpdate, Strategy::Recreate, Strategy::RollingUpdate] {
        app.spec.strategy = Some(strategy);
        let live = apply(&client, &Children::of(&app).unwrap().deployment).await;
        let rolling = live["spec"]["strategy"].get("rollingUpdate").is_some();
        assert_eq!(rolling, strategy == Strategy::RollingUpdate, "{live}");
    }
}

#[tokio::test]
async fn children_of_applications_with_any_name_are_accepted() {
    slipway_testkit::init();
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let names = [
        "my.dotted.app".to_owned(),
        "1st".to_owned(),
        "a".repeat(63),
        "a".repeat(253),
        format!("{}.b", "a".repeat(240)),
    ];
    for name in names {
        apply_all(&client, &Children::of(&app(&name)).unwrap()).await;
    }
}

#[tokio::test]
async fn resources_that_are_taken_back_are_gone() {
    slipway_testkit::init();
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let mut app = app("web");
    apply(&client, &Children::of(&app).unwrap().deployment).await;
    app.spec.resources = None;
    app.spec.config.clear();
    let live = apply(&client, &Children::of(&app).unwrap().deployment).await;
    let container = &live["spec"]["template"]["spec"]["containers"][0];
    assert!(container["resources"].as_object().is_none_or(serde_json::Map::is_empty), "{container}");
    assert!(container.get("envFrom").is_none(), "{container}");
    assert_eq!(container["ports"], json!([{"name": "http", "containerPort": 8080, "protocol": "TCP"}]));
}
