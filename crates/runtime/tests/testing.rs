//! Reconcilers driven turn by turn, on the stand-in and on a real API server.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::{Client, CustomResource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slipway_runtime::crd::{Policy, install};
use slipway_runtime::error::Category;
use slipway_runtime::prelude::*;
use slipway_runtime::queue::Done;
use slipway_runtime::testing::{Drive, FakeServer, Turn};
use slipway_testkit::ControlPlane;

#[derive(CustomResource, JsonSchema, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "example.test", version = "v1", kind = "Pantry", plural = "pantries", namespaced)]
#[kube(status = "PantryStatus")]
struct PantrySpec {
    #[serde(default)]
    jars: Vec<String>,
}

#[derive(JsonSchema, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PantryStatus {
    observed_generation: Option<i64>,
    phase: Option<String>,
    jars: Option<usize>,
    conditions: Vec<Condition>,
}

const FINALIZER: &str = "example.test/swept";

/// A `ConfigMap` for each jar.
struct Keeper;

impl Reconcile<Pantry> for Keeper {
    async fn reconcile(&self, pantry: Arc<Pantry>, context: Context<Pantry>) -> Result<Outcome, Error> {
        if pantry.spec.jars.iter().any(|jar| jar == "poison") {
            return Err(Error::permanent("spec.jars: poison is not kept here"));
        }
        let mut children = Children::new();
        for jar in &pantry.spec.jars {
            let name = format!("{}-{jar}", context.key().name);
            let map: ConfigMap =
                serde_json::from_value(json!({"metadata": {"name": name}, "data": {"holds": jar}})).unwrap();
            children.add(&map)?;
        }
        context.apply(children).await?;
        Outcome::done().status(&PantryStatus {
            phase: Some("Stocked".to_owned()),
            jars: Some(pantry.spec.jars.len()),
            conditions: vec![Condition::holds(READY, "Stocked", "every jar is there")],
            ..PantryStatus::default()
        })
    }

    async fn cleanup(&self, _: Arc<Pantry>, context: Context<Pantry>) -> Result<(), Error> {
        context.event(Note::info("Swept", "the pantry was swept"));
        Ok(())
    }
}

/// A pantry with two jars, and what drives its controller.
struct Kitchen {
    client: Client,
    drive: Drive,
}

impl Kitchen {
    async fn new(client: Client) -> Self {
        let controller = ControllerSpec::new(Keeper).owns::<ConfigMap>().finalizer(FINALIZER);
        let kitchen = Self { drive: Drive::new(controller, client.clone()), client };
        let pantry = Pantry::new("p", PantrySpec { jars: vec!["jam".into(), "salt".into()] });
        kitchen.pantries().create(&PostParams::default(), &pantry).await.unwrap();
        kitchen
    }

    fn pantries(&self) -> Api<Pantry> {
        Api::namespaced(self.client.clone(), "kitchen")
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "kitchen")
    }

    async fn turn(&self) -> Turn {
        self.drive.reconcile(&ObjectKey::namespaced("kitchen", "p")).await.unwrap()
    }

    async fn change(&self, change: Value) {
        self.pantries().patch("p", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    async fn jar(&self, name: &str) -> Option<String> {
        let map = self.maps().get_opt(&format!("p-{name}")).await.unwrap()?;
        Some(map.data.unwrap_or_default()["holds"].clone())
    }
}

fn writes(turn: &Turn) -> Vec<String> {
    assert!(turn.failure.is_none(), "{:?}", turn.failure);
    turn.writes().map(ToString::to_string).collect()
}

/// What holds on the stand-in and on Kubernetes alike.
async fn a_pantry_is_kept(client: Client) {
    let kitchen = Kitchen::new(client).await;

    let first = kitchen.turn().await;
    assert_eq!(
        writes(&first),
        [
            "patch pantries kitchen/p → 200",
            "create configmaps kitchen/p-jam → 201",
            "create configmaps kitchen/p-salt → 201",
            "patch pantries/status kitchen/p → 200",
        ]
    );
    assert_eq!(first.done, Done::Settled);
    let status = kitchen.pantries().get("p").await.unwrap().status.unwrap();
    assert_eq!((status.jars, status.observed_generation), (Some(2), Some(1)));

    assert!(writes(&kitchen.turn().await).is_empty(), "a second look writes nothing");

    let meddling = json!({"data": {"holds": "sand"}});
    kitchen.maps().patch("p-jam", &PatchParams::default(), &Patch::Merge(meddling)).await.unwrap();
    kitchen.turn().await;
    assert_eq!(kitchen.jar("jam").await.as_deref(), Some("jam"));
    assert!(writes(&kitchen.turn().await).is_empty());
    let told = &kitchen.drive.events()[0];
    assert_eq!((told.reason.as_str(), told.count), ("DriftCorrected", 1));
    assert!(told.message.contains("data.holds"), "{}", told.message);

    kitchen.change(json!({"spec": {"jars": ["salt", "tea"]}})).await;
    kitchen.turn().await;
    assert_eq!((kitchen.jar("jam").await, kitchen.jar("tea").await.as_deref()), (None, Some("tea")));
    assert!(writes(&kitchen.turn().await).is_empty());
    let status = kitchen.pantries().get("p").await.unwrap().status.unwrap();
    assert_eq!(status.observed_generation, Some(2));

    kitchen.change(json!({"spec": {"jars": ["poison"]}})).await;
    let failed = kitchen.turn().await;
    assert_eq!(failed.failure.unwrap().category(), Category::Permanent);
    assert_eq!(failed.done, Done::Parked);
    let status = kitchen.pantries().get("p").await.unwrap().status.unwrap();
    assert_eq!(status.conditions[0].message.as_deref(), Some("spec.jars: poison is not kept here"));

    kitchen.pantries().delete("p", &DeleteParams::default()).await.unwrap();
    assert!(kitchen.pantries().get_opt("p").await.unwrap().is_some(), "the finalizer holds it");
    assert_eq!(writes(&kitchen.turn().await), ["patch pantries kitchen/p → 200"]);
    assert!(kitchen.pantries().get_opt("p").await.unwrap().is_none());
    assert_eq!(kitchen.drive.events()[0].reason, "Swept");
    assert!(kitchen.turn().await.requests.is_empty(), "what is gone needs nothing");
}

#[tokio::test]
async fn a_reconciler_is_driven_on_the_stand_in() {
    a_pantry_is_kept(FakeServer::new().client()).await;
}

#[tokio::test]
async fn a_reconciler_is_driven_on_a_real_api_server() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let definition = MultiVersion::stored::<Pantry>().build().unwrap();
    install(client.clone(), &definition, Policy::Safe).await.unwrap();
    let kitchen: Namespace = serde_json::from_value(json!({"metadata": {"name": "kitchen"}})).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &kitchen).await.unwrap();
    a_pantry_is_kept(client).await;
}

#[tokio::test]
async fn a_refusal_of_the_script_is_met_once_and_told() {
    let server = FakeServer::new();
    let kitchen = Kitchen::new(server.client()).await;
    server.forget_requests();
    server.refuse_next("create", "configmaps", 503, "the server is restarting");
    let turn = kitchen.turn().await;
    let failure = turn.failure.unwrap();
    assert_eq!((failure.category(), turn.done), (Category::Transient, Done::Unreached));
    assert!(failure.to_string().contains("the server is restarting"), "{failure}");
    let refused = turn.requests.iter().find(|sent| sent.status == 503).unwrap();
    assert_eq!(refused.body["data"]["holds"], "jam");
    assert!(server.requests().contains(refused));
    assert_eq!(kitchen.jar("salt").await.as_deref(), Some("salt"), "the rest goes on");

    kitchen.turn().await;
    assert_eq!(kitchen.jar("jam").await.as_deref(), Some("jam"));
}
