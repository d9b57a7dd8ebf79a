//! Many Applications, and what is asked of them.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Config, ResourceExt};
use serde_json::{Value, json};
use slipway_application_operator::controller::ApplicationController;
use slipway_application_operator::crd::{self, Application};
use slipway_runtime::crd::{Conversion, Policy, install};
use slipway_runtime::runtime::{Runtime, Started};
use slipway_runtime::settings::Settings;
use slipway_testkit::{ControlPlane, until};

use crate::running::{PATIENCE, Running};
use crate::world::World;

/// A control plane with nodes and the CRD, and nobody who looks after Applications yet.
pub(crate) async fn unattended(plane: ControlPlane) -> Running {
    slipway_testkit::init();
    let client = plane.client().await.unwrap();
    install(client.clone(), &crd::definition(Conversion::None).unwrap(), Policy::Safe).await.unwrap();
    Running { plane, client, operator: None }
}

/// The operator, talking to the API server like this.
pub(crate) async fn operator(config: Config, settings: Settings) -> Started {
    Runtime::builder("application-operator")
        .client_config(config)
        .settings(settings)
        .controller(ApplicationController::spec())
        .start()
        .await
        .unwrap()
}

/// The Applications as somebody asked for them.
#[derive(Default)]
pub(crate) struct Fleet {
    asked: BTreeMap<String, Value>,
}

fn spec(image: &str, replicas: u32) -> Value {
    json!({"replicas": replicas, "image": image, "config": {"MODE": image}})
}

impl Fleet {
    /// Asks for Applications, however often the API server has to be asked.
    pub(crate) async fn create(&mut self, running: &Running, names: impl IntoIterator<Item = String>) {
        for name in names {
            let spec = spec("nginx:1", 2);
            let app: Application = serde_json::from_value(json!({
                "apiVersion": "cloudnative.elide.dev/v1", "kind": "Application",
                "metadata": {"name": name}, "spec": spec,
            }))
            .unwrap();
            until("the Application to be taken", PATIENCE, || async {
                match running.apps().create(&PostParams::default(), &app).await {
                    Ok(_) => Some(()),
                    // The answer to an earlier try was lost.
                    Err(kube::Error::Api(status)) if status.code == 409 => Some(()),
                    Err(_) => None,
                }
            })
            .await
            .unwrap();
            self.asked.insert(name, spec);
        }
    }

    /// Asks for something else.
    pub(crate) async fn change(&mut self, running: &Running, name: &str, image: &str, replicas: u32) {
        let spec = spec(image, replicas);
        let change = Patch::Merge(json!({"spec": spec}));
        until("the change to be taken", PATIENCE, || async {
            running.apps().patch(name, &PatchParams::default(), &change).await.ok()
        })
        .await
        .unwrap();
        self.asked.insert(name.to_owned(), spec);
    }

    pub(crate) async fn delete(&mut self, running: &Running, name: &str) {
        running.apps().delete(name, &DeleteParams::default()).await.unwrap();
        self.asked.remove(name);
    }

    /// Waits until everything is as it was asked for, with one child of each kind for each Application, and
    /// no more.
    pub(crate) async fn settled(&self, running: &Running) -> World {
        let world = until("all Applications, and no others", PATIENCE, || async {
            let world = World::look(&running.client, "default").await.ok()?;
            let there: Vec<_> = world.apps.iter().map(ResourceExt::name_any).collect();
            there.iter().eq(self.asked.keys()).then_some(())
        });
        world.await.unwrap();
        let world = World::settled(&running.client, "default", PATIENCE).await;
        for app in &world.apps {
            let (asked, name) = (&self.asked[&app.name_any()], app.name_any());
            assert_eq!(app.spec.image, asked["image"], "{name}");
            assert_eq!(json!(app.spec.replicas), asked["replicas"], "{name}");
        }
        world
    }

    /// How many revisions the pods of each Application went through.
    pub(crate) async fn revisions(&self, running: &Running) -> BTreeMap<String, usize> {
        let sets = running.of::<ReplicaSet>().list(&ListParams::default()).await.unwrap();
        let mut revisions: BTreeMap<String, usize> = BTreeMap::new();
        for set in sets {
            *revisions.entry(set.owner_references()[0].name.clone()).or_default() += 1;
        }
        revisions
    }
}

/// Names such as `web-3`.
pub(crate) fn names(range: std::ops::Range<u32>) -> impl Iterator<Item = String> {
    range.map(|number| format!("web-{number:02}"))
}
