//! Control planes with an operator's workload, webhook and custom resources, as far as health checks see them.

use std::time::Duration;

use axum::routing::post;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use slipway_testkit::charts::{Chart, ChartBuilder};
use slipway_testkit::loopback::{Access, HttpServer, Identity};
use slipway_testkit::{ControlPlane, until};

use super::super::helm;

/// The operator, its chart, its release and its namespace.
pub(super) const OPERATOR: &str = "harbour";
pub(super) const CRD: &str = "boats.sea.dev";
const PATIENCE: Duration = Duration::from_mins(10);
/// How many objects are written at once to one control plane.
const AT_ONCE: usize = 4;

/// The control planes.
pub(super) struct Harbour {
    planes: Vec<ControlPlane>,
    empty: ControlPlane,
    chart: Chart,
    _webhook: HttpServer,
}

impl Harbour {
    /// So many planes with so many objects each; the last one has many.
    pub(super) async fn start(planes: usize, objects: usize, many: usize) -> anyhow::Result<Self> {
        let identity = Identity::new()?;
        let webhook =
            HttpServer::start(Router::new().route("/admit", post(admit)), Access::Anyone, Some(&identity))
                .await?;
        let chart = chart(&webhook.url(), identity.authority_pem())?;
        let empty = ControlPlane::start().await?;
        let starting = (0..planes).map(|_| ControlPlane::builder().nodes(1).start());
        let planes: Vec<_> = futures::future::try_join_all(starting).await?;
        let last = planes.len() - 1;
        let filling = planes.iter().enumerate().map(async |(number, plane)| {
            let client = plane.client().await?;
            fill(&client, if number == last { many } else { objects }).await?;
            install(plane, &client, &chart).await
        });
        futures::stream::iter(filling).buffer_unordered(4).try_collect::<Vec<()>>().await?;
        Ok(Self { planes, empty, chart, _webhook: webhook })
    }

    pub(super) fn chart(&self) -> &Chart {
        &self.chart
    }

    /// Those with the operator; the last one has many objects.
    pub(super) fn occupied(&self) -> impl Iterator<Item = &ControlPlane> {
        self.planes.iter()
    }

    /// The one without.
    pub(super) fn empty(&self) -> &ControlPlane {
        &self.empty
    }
}

/// What registers a plane as a cluster.
pub(super) fn registration(number: usize, plane: &ControlPlane, again: bool) -> Value {
    let environment = ["Development", "Staging", "Production"][number % 3];
    json!({
        "name": format!("cluster-{number:03}"), "environment": environment,
        "labels": {"region": format!("region-{}", number % 5), "tier": if number.is_multiple_of(2) { "one" } else { "two" }},
        "kubeconfig": BASE64.encode(plane.kubeconfig()), "allowDuplicate": again,
    })
}

/// What registers an operator.
pub(super) fn operator(name: &str, repository: &str) -> Value {
    json!({
        "name": name, "namespace": name, "chartRepository": repository, "chartName": name,
        "description": "one of many", "labels": {"team": "sea"},
    })
}

/// A CRD of an operator that is not installed anywhere.
pub(super) fn other_crd(number: usize) -> String {
    let definition = definition(&format!("things{number}"), &format!("Thing{number}"), "other.dev");
    definition.to_string()
}

fn definition(plural: &str, kind: &str, group: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"sails": {"type": "integer"}, "home": {"type": "string"}}},
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                }}}}],
        }
    })
}

fn chart(webhook: &str, authority: &str) -> anyhow::Result<Chart> {
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": OPERATOR},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": OPERATOR}}, "template": {
            "metadata": {"labels": {"app": OPERATOR}},
            "spec": {"containers": [{"name": "controller", "image": "example.test/harbour:1"}]},
        }},
    });
    let webhooks = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": OPERATOR},
        "webhooks": [{
            "name": "validate.sea.dev", "sideEffects": "None", "failurePolicy": "Fail", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": format!("{webhook}/admit"), "caBundle": BASE64.encode(authority)},
            "rules": [{"apiGroups": ["sea.dev"], "apiVersions": ["v1"], "resources": ["boats"], "operations": ["CREATE", "UPDATE"]}],
        }],
    });
    ChartBuilder::new(OPERATOR, "1.0.0")
        .crd("boats.yaml", &definition("boats", "Boat", "sea.dev").to_string())
        .template("deployment.yaml", &deployment.to_string())
        .template("webhooks.yaml", &webhooks.to_string())
        .build()
}

/// The CRD and the objects, before the webhook is there: the measurement is not about writing them.
async fn fill(client: &Client, objects: usize) -> anyhow::Result<()> {
    let definition: CustomResourceDefinition =
        serde_json::from_value(definition("boats", "Boat", "sea.dev"))?;
    Api::all(client.clone()).create(&PostParams::default(), &definition).await?;
    let boats = boats(client);
    until("boats to be served", PATIENCE, async || boats.list(&ListParams::default().limit(1)).await.ok())
        .await?;
    let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let status = json!({"status": {"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True",
        "reason": "Afloat", "message": "it is in the water", "lastTransitionTime": at}]}});
    let writing = (0..objects).map(async |number| {
        let boat: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "sea.dev/v1", "kind": "Boat", "metadata": {"name": format!("boat-{number:05}")},
            "spec": {"sails": number % 5, "home": "a harbour with a name of usual length"},
        }))?;
        boats.create(&PostParams::default(), &boat).await?;
        boats.patch_status(&boat.name_any(), &PatchParams::default(), &Patch::Merge(&status)).await?;
        anyhow::Ok(())
    });
    futures::stream::iter(writing).buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await?;
    Ok(())
}

/// By helm, as people do it; the pods are kwok's.
async fn install(plane: &ControlPlane, client: &Client, chart: &Chart) -> anyhow::Result<()> {
    helm::install(plane, OPERATOR, chart).await?;
    let deployments = Api::<Deployment>::namespaced(client.clone(), OPERATOR);
    until("the controller to be ready", PATIENCE, async || {
        (deployments.get(OPERATOR).await.ok()?.status?.ready_replicas == Some(2)).then_some(())
    })
    .await
}

fn boats(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("sea.dev", "v1", "Boat");
    Api::namespaced_with(client.clone(), "default", &ApiResource::from_gvk(&kind))
}

async fn admit(Json(review): Json<Value>) -> Json<Value> {
    Json(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": true}}))
}
