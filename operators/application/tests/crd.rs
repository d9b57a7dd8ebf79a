//! The definition of Applications on a real API server.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::time::Duration;

use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Client, CustomResourceExt};
use serde_json::{Value, json};
use slipway_application_operator::crd::{self, Application, Strategy, v1beta1};
use slipway_runtime::crd::{Conversion, Installed, Policy, WebhookClient, install, print_yaml};
use slipway_testkit::{ControlPlane, until};

const MINUTE: Duration = Duration::from_mins(1);

/// As it is served where nothing converts: both versions would be one shape, so only `v1` is written.
fn definition() -> CustomResourceDefinition {
    crd::definition(Conversion::None).unwrap()
}

async fn with_applications() -> (ControlPlane, Client) {
    slipway_testkit::init();
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    assert_eq!(install(client.clone(), &definition(), Policy::Safe).await.unwrap(), Installed::Created);
    (plane, client)
}

fn raw(client: &Client, resource: &ApiResource) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), "default", resource)
}

fn object(api_version: &str, spec: &Value) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": format!("cloudnative.elide.dev/{api_version}"), "kind": "Application",
        "metadata": {"name": "web"}, "spec": spec,
    }))
    .unwrap()
}

#[test]
fn the_definition_is_the_one_that_objects_were_written_for() {
    insta::assert_snapshot!(print_yaml(&[definition()]).unwrap());
}

#[test]
fn both_versions_say_the_same_about_names() {
    let (one, other) = (Application::crd(), v1beta1::Application::crd());
    assert_eq!(one.spec.names, other.spec.names);
    assert_eq!(one.spec.scope, other.spec.scope);
}

#[tokio::test]
async fn an_application_is_accepted_completed_and_scaled() {
    let (_plane, client) = with_applications().await;
    let spec = json!({
        "replicas": 3,
        "image": "nginx:latest",
        "config": {"PORT": "8080", "LOG_LEVEL": "info"},
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "0.5", "memory": "512Mi"}},
    });
    raw(&client, &Application::api_resource())
        .create(&PostParams::default(), &object("v1", &spec))
        .await
        .unwrap();
    let apps = Api::<Application>::namespaced(client.clone(), "default");
    let created = apps.get("web").await.unwrap();
    assert_eq!(created.spec.strategy, Some(Strategy::RollingUpdate), "the schema has the default");

    let status = json!({"status": {
        "observedGeneration": 1, "replicas": 3, "readyReplicas": 2, "phase": "Pending",
        "labelSelector": "app.kubernetes.io/instance=web",
        "conditions": [{"type": "Ready", "status": "False"}],
    }});
    let status: Application =
        apps.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    assert_eq!(status.status.unwrap().ready_replicas, Some(2));

    let scale: Scale =
        serde_json::from_value(serde_json::to_value(apps.get_scale("web").await.unwrap()).unwrap()).unwrap();
    assert_eq!(scale.status.unwrap().selector.as_deref(), Some("app.kubernetes.io/instance=web"));
    apps.patch_scale("web", &PatchParams::default(), &Patch::Merge(json!({"spec": {"replicas": 5}})))
        .await
        .unwrap();
    assert_eq!(apps.get("web").await.unwrap().spec.replicas, 5);
}

#[tokio::test]
async fn invalid_applications_are_refused_by_field_and_rule() {
    let (_plane, client) = with_applications().await;
    let refused = async |api_version: &str, resource: &ApiResource, spec: Value| -> String {
        let api = raw(&client, resource);
        // A new definition takes a moment until every handler knows it.
        until("an answer about the object", MINUTE, async || {
            match api
                .create(&PostParams { dry_run: true, ..PostParams::default() }, &object(api_version, &spec))
                .await
            {
                Err(kube::Error::Api(status)) if status.code == 404 => None,
                Err(error) => Some(error.to_string()),
                Ok(_) => panic!("{spec} was accepted"),
            }
        })
        .await
        .unwrap()
    };
    let one = Application::api_resource();
    for (spec, words) in [
        (json!({"image": "nginx"}), vec!["spec.replicas: Required value"]),
        (json!({"replicas": 1}), vec!["spec.image: Required value"]),
        (json!({"replicas": 101, "image": "nginx"}), vec!["spec.replicas", "less than or equal to 100"]),
        (json!({"replicas": -1, "image": "nginx"}), vec!["spec.replicas", "greater than or equal to 0"]),
        (json!({"replicas": "1", "image": "nginx"}), vec!["spec.replicas", "must be of type integer"]),
        (json!({"replicas": 1, "image": ""}), vec!["spec.image", "at least 1 chars long"]),
        (json!({"replicas": 1, "image": " \t"}), vec!["spec.image", "the image must not be blank"]),
        (
            json!({"replicas": 1, "image": "nginx", "strategy": "Canary"}),
            vec!["spec.strategy", "\"RollingUpdate\", \"Recreate\""],
        ),
        (
            json!({"replicas": 1, "image": "nginx", "config": {"PORT": "70000"}}),
            vec!["spec.config", "PORT must be a port number from 1 to 65535"],
        ),
        (
            json!({"replicas": 1, "image": "nginx", "config": {"PORT": "http"}}),
            vec!["spec.config", "PORT must be a port number from 1 to 65535"],
        ),
        (
            json!({"replicas": 1, "image": "nginx", "config": {"no blanks": "1"}}),
            vec!["spec.config", "names have 1 to 253 letters, digits"],
        ),
        (
            json!({"replicas": 1, "image": "nginx", "config": {"DEBUG": true}}),
            vec!["spec.config.DEBUG", "must be of type string"],
        ),
        (
            json!({"replicas": 1, "image": "nginx", "resources": {"limits": {"memory": "128mb"}}}),
            vec!["spec.resources.limits.memory", "must be a quantity such as 128Mi"],
        ),
        (
            json!({"replicas": 1, "image": "nginx", "resources": {"requests": {"cpu": "-1"}}}),
            vec!["spec.resources.requests.cpu", "must be a quantity such as 500m"],
        ),
        (
            json!({"replicas": 1, "image": "nginx", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "500m"}}}),
            vec!["spec.resources", "requests.cpu must not be above limits.cpu"],
        ),
    ] {
        let message = refused("v1", &one, spec).await;
        for word in words {
            assert!(message.contains(word), "{word:?} is not in: {message}");
        }
    }
    let beta = v1beta1::Application::api_resource();
    let with = |name: &str, value: &str| {
        let env = json!([{"name": "A", "value": "x"}, {"name": name, "value": value}]);
        json!({"replicas": 1, "container": {"image": "nginx"}, "env": env})
    };
    let twice = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    for (spec, words) in [
        (json!({"replicas": 1, "container": {"image": " "}}), vec!["spec.container.image"]),
        (with("no blanks", ""), vec!["spec.env[1].name"]),
        (
            json!({"replicas": 1, "container": {"image": "nginx"}, "env": twice}),
            vec!["spec.env[1]", "Duplicate value"],
        ),
        (
            json!({"replicas": 1, "container": {"image": "nginx"}, "rollout": "Canary"}),
            vec!["spec.rollout", "\"Rolling\", \"Recreate\""],
        ),
    ] {
        let message = refused("v1beta1", &beta, spec).await;
        for word in words {
            assert!(message.contains(word), "{word:?} is not in: {message}");
        }
    }
}

#[tokio::test]
async fn the_definition_with_its_conversion_webhook_is_accepted_without_a_warning() {
    slipway_testkit::init();
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let webhook =
        WebhookClient::service("elide-system", "application-operator-webhook", crd::CONVERSION_PATH);
    let definition = crd::definition(Conversion::Webhook(webhook)).unwrap();
    let request = http::Request::post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All&fieldValidation=Strict",
    )
    .header("content-type", "application/json")
    .body(serde_json::to_vec(&definition).unwrap().into())
    .unwrap();
    let answer = client.send(request).await.unwrap();
    let warnings: Vec<_> = answer.headers().get_all("warning").iter().collect();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(answer.status().is_success(), "{}", answer.status());
}
