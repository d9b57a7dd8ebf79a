//! Where one sequence runs: a namespace, an operator for it, and an Application.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, PropagationPolicy};
use kube::{Client, Config, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use slipway_application_operator::controller::ApplicationController;
use slipway_application_operator::crd::Application;
use slipway_runtime::runtime::{Runtime, Started};
use slipway_testkit::metrics::Scrape;
use slipway_testkit::{ControlPlane, until};

use crate::action::{APP, Action, Target, sequence};
use crate::running::{PATIENCE, alone, config};
use crate::world::World;

/// Looks at everything often enough for a test to wait for several.
const OFTEN: Duration = Duration::from_millis(200);

pub(crate) struct Stage {
    seed: u64,
    namespace: String,
    client: Client,
    config: Config,
    operator: Option<Started>,
}

impl Stage {
    pub(crate) async fn set(plane: &ControlPlane, seed: u64) -> Self {
        let client = plane.client().await.unwrap();
        let namespace = format!("seed-{seed}");
        let metadata = ObjectMeta { name: Some(namespace.clone()), ..ObjectMeta::default() };
        Api::<Namespace>::all(client.clone())
            .create(&PostParams::default(), &Namespace { metadata, ..Namespace::default() })
            .await
            .unwrap();
        let mut stage = Self { seed, namespace, client, config: config(plane).await, operator: None };
        stage.restart(None).await;
        stage
    }

    /// Runs the sequence to its end, and looks at what it led to once more.
    pub(crate) async fn play(mut self) {
        let actions = sequence(self.seed);
        println!("seed {}: {actions:?}", self.seed);
        for action in actions {
            self.act(action).await;
        }
        self.settled().await;

        // Another process knows nothing of what this one remembers. It may still have to report what the
        // Deployment said last, but finds no child that it would write to.
        self.restart(Some(OFTEN)).await;
        self.looks(3.0).await;
        let once = self.settled().await.snapshot();
        let operator = self.operator.as_ref().unwrap();
        let written = writes(operator);
        let children: Vec<_> = written.keys().filter(|what| !what.contains("applications/status")).collect();
        assert!(children.is_empty(), "seed {}: it wrote without need: {written:?}", self.seed);

        self.looks(3.0).await;
        let twice = World::look(&self.client, &self.namespace).await.unwrap().snapshot();
        assert_eq!(twice, once, "seed {}: looking again changed something", self.seed);
        assert_eq!(writes(operator), written, "seed {}: nothing differed, and yet it wrote", self.seed);
        if let Some(operator) = self.operator.take() {
            operator.stop().await;
        }
    }

    /// Waits until the operator has looked at the Application so often again.
    async fn looks(&self, times: f64) {
        let operator = self.operator.as_ref().unwrap();
        let turns = || scrape(operator).value("controller_reconcile_total", &[]).unwrap_or_default();
        let enough = turns() + times;
        until("several looks", PATIENCE, || async {
            (turns() >= enough && operator.is_idle()).then_some(())
        })
        .await
        .unwrap();
    }

    async fn settled(&self) -> World {
        println!("seed {}: settling", self.seed);
        World::settled(&self.client, &self.namespace, PATIENCE).await
    }

    async fn restart(&mut self, resync: Option<Duration>) {
        if let Some(operator) = self.operator.take() {
            operator.stop().await;
        }
        let mut settings = alone();
        settings.watch_namespaces = vec![self.namespace.clone()];
        settings.resync = resync;
        let operator = Runtime::builder("application-operator")
            .client_config(self.config.clone())
            .settings(settings)
            .controller(ApplicationController::spec())
            .start();
        self.operator = Some(operator.await.unwrap());
    }

    fn of<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn act(&mut self, action: Action) {
        match action {
            Action::Want(spec) => self.want(spec).await,
            Action::Meddle { target, change, apply } => self.meddle(target, change, apply).await,
            Action::Remove { target, foreground } => self.remove(target, foreground).await,
            Action::Replace(spec) => {
                self.delete::<Application>(APP, false).await;
                until("the Application to be gone", PATIENCE, || async {
                    self.of::<Application>().get_opt(APP).await.unwrap().is_none().then_some(())
                })
                .await
                .unwrap();
                self.want(spec).await;
            }
            Action::Restart => self.restart(None).await,
            Action::Settle => drop(self.settled().await),
        }
    }

    async fn want(&self, spec: Value) {
        let apps = self.of::<Application>();
        if apps.get_opt(APP).await.unwrap().is_some() {
            let change = serde_json::from_value(json!([{"op": "replace", "path": "/spec", "value": spec}]));
            let change: Patch<Application> = Patch::Json(change.unwrap());
            apps.patch(APP, &PatchParams::default(), &change).await.unwrap();
            return;
        }
        let app = json!({
            "apiVersion": "cloudnative.elide.dev/v1", "kind": "Application",
            "metadata": {"name": APP}, "spec": spec,
        });
        apps.create(&PostParams::default(), &serde_json::from_value(app).unwrap()).await.unwrap();
    }

    async fn meddle(&self, target: Target, change: Value, apply: bool) {
        match target {
            Target::Application => self.patch::<Application>(APP, change, apply).await,
            Target::Deployment => self.patch::<Deployment>(APP, change, apply).await,
            Target::Service => self.patch::<Service>(APP, change, apply).await,
            Target::ConfigMap => self.patch::<ConfigMap>("web-config", change, apply).await,
            Target::Budget => self.patch::<PodDisruptionBudget>(APP, change, apply).await,
        }
    }

    async fn patch<K>(&self, name: &str, mut change: Value, apply: bool)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let api = self.of::<K>();
        let Some(live) = api.get_opt(name).await.unwrap() else { return };
        let params = PatchParams { field_manager: Some("somebody".into()), ..PatchParams::default() };
        // An apply cannot take away what another has set, and would make what is not there.
        let done = if apply && !change.to_string().contains("null") {
            change["apiVersion"] = json!(K::api_version(&()));
            change["kind"] = json!(K::kind(&()));
            change["metadata"]["uid"] = json!(live.uid());
            api.patch(name, &params.force(), &Patch::Apply(&change)).await
        } else if K::group(&()) == Application::group(&()) {
            // Kinds of one's own know no other.
            api.patch(name, &params, &Patch::Merge(&change)).await
        } else {
            api.patch(name, &params, &Patch::Strategic(&change)).await
        };
        // It may be gone by now, and not everything that somebody wishes is allowed.
        if let Err(error) = done {
            println!("seed {}: not done to {name}: {error}", self.seed);
        }
    }

    async fn remove(&self, target: Target, foreground: bool) {
        match target {
            Target::Application => self.delete::<Application>(APP, foreground).await,
            Target::Deployment => self.delete::<Deployment>(APP, foreground).await,
            Target::Service => self.delete::<Service>(APP, foreground).await,
            Target::ConfigMap => self.delete::<ConfigMap>("web-config", foreground).await,
            Target::Budget => self.delete::<PodDisruptionBudget>(APP, foreground).await,
        }
    }

    async fn delete<K>(&self, name: &str, foreground: bool)
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let policy = if foreground { PropagationPolicy::Foreground } else { PropagationPolicy::Background };
        let params = DeleteParams { propagation_policy: Some(policy), ..DeleteParams::default() };
        match self.of::<K>().delete(name, &params).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn scrape(operator: &Started) -> Scrape {
    Scrape::parse(&operator.metrics().render(None).1).unwrap()
}

/// What it wrote and how often, Events aside.
fn writes(operator: &Started) -> BTreeMap<String, String> {
    let scrape = scrape(operator);
    let wrote = scrape.samples().iter().filter(|sample| {
        sample.name == "rest_client_requests_total"
            && ["create", "update", "patch", "delete"].contains(&sample.labels["verb"].as_str())
            && sample.labels["resource"] != "events"
    });
    wrote.map(|sample| (format!("{:?}", sample.labels), sample.value.to_string())).collect()
}
