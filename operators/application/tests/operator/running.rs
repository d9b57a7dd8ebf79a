//! The operator at work in this process, on a control plane of its own.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use slipway_application_operator::controller::ApplicationController;
use slipway_application_operator::crd::{self, Application, Phase};
use slipway_runtime::crd::{Conversion, Policy, install};
use slipway_runtime::runtime::{Runtime, Started};
use slipway_runtime::settings::Settings;
use slipway_testkit::metrics::Scrape;
use slipway_testkit::{ControlPlane, until};

/// How long anything may take on a machine that is busy with other things.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);

/// A control plane with nodes, the CRD, and the operator.
pub(crate) struct Running {
    pub(crate) plane: ControlPlane,
    pub(crate) client: Client,
    pub(crate) operator: Option<Started>,
}

pub(crate) async fn config(plane: &ControlPlane) -> Config {
    let kubeconfig = Kubeconfig::from_yaml(plane.kubeconfig()).unwrap();
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap()
}

/// Settings for a single instance without webhooks, on free ports.
pub(crate) fn alone() -> Settings {
    let mut settings = Settings::default();
    settings.admin_address = ([127, 0, 0, 1], 0).into();
    settings.leader_election = false;
    settings.webhooks = false;
    settings
}

impl Running {
    pub(crate) async fn start() -> Self {
        Self::with(alone()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        slipway_testkit::init();
        let plane = ControlPlane::builder().nodes(2).start().await.unwrap();
        let client = plane.client().await.unwrap();
        install(client.clone(), &crd::definition(Conversion::None).unwrap(), Policy::Safe).await.unwrap();
        let operator = Some(operator(&plane, settings).await);
        Self { plane, client, operator }
    }

    pub(crate) async fn restart(&mut self) {
        if let Some(operator) = self.operator.take() {
            operator.stop().await;
        }
        self.operator = Some(operator(&self.plane, alone()).await);
    }

    pub(crate) fn apps(&self) -> Api<Application> {
        Api::namespaced(self.client.clone(), "default")
    }

    pub(crate) fn of<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), "default")
    }

    pub(crate) async fn create(&self, name: &str, spec: Value) {
        let app = serde_json::from_value(json!({
            "apiVersion": "cloudnative.elide.dev/v1", "kind": "Application", "metadata": {"name": name}, "spec": spec,
        }))
        .unwrap();
        self.apps().create(&PostParams::default(), &app).await.unwrap();
    }

    pub(crate) async fn change(&self, name: &str, change: Value) {
        self.apps().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    /// Changes a child as somebody else would.
    pub(crate) async fn meddle<K>(&self, name: &str, change: Value)
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
    {
        let params = PatchParams { field_manager: Some("meddler".into()), ..PatchParams::default() };
        self.of::<K>().patch(name, &params, &Patch::Merge(change)).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.apps().delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until an Application is seen like this.
    pub(crate) async fn app(
        &self,
        name: &str,
        what: &str,
        like: impl Fn(&Application) -> bool,
    ) -> Application {
        let apps = self.apps();
        let seen = until(what, PATIENCE, || async { apps.get(name).await.ok().filter(&like) }).await;
        match seen {
            Ok(app) => app,
            Err(error) => panic!("{error}; it is {:#?}", apps.get(name).await.map(|app| app.status)),
        }
    }

    /// Waits until an Application runs as its present generation asks.
    pub(crate) async fn running(&self, name: &str) -> Application {
        self.app(name, "the Application to run", |app| {
            let status = app.status.clone().unwrap_or_default();
            status.phase == Some(Phase::Running)
                && status.observed_generation == app.metadata.generation
                && status.ready_replicas == Some(app.spec.replicas)
        })
        .await
    }

    /// Waits until a child is seen like this.
    pub(crate) async fn child<K>(&self, name: &str, what: &str, like: impl Fn(&K) -> bool) -> K
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
    {
        let children = self.of::<K>();
        until(what, PATIENCE, || async { children.get(name).await.ok().filter(&like) }).await.unwrap()
    }

    pub(crate) async fn gone<K>(&self, name: &str)
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
    {
        let children = self.of::<K>();
        let what = format!("{} {name} to be gone", K::kind(&()));
        until(&what, PATIENCE, || async { children.get_opt(name).await.unwrap().is_none().then_some(()) })
            .await
            .unwrap();
    }

    pub(crate) fn scrape(&self) -> Scrape {
        let (_, page) = self.operator.as_ref().unwrap().metrics().render(None);
        Scrape::parse(&page).unwrap()
    }

    /// How often the operator wrote, Events and Leases aside.
    pub(crate) fn writes(&self) -> u64 {
        let scrape = self.scrape();
        let wrote = scrape.samples().iter().filter(|sample| {
            sample.name == "rest_client_requests_total"
                && ["create", "update", "patch", "delete"].contains(&sample.labels["verb"].as_str())
                && !["events", "leases"].contains(&sample.labels["resource"].as_str())
        });
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
        wrote.map(|sample| sample.value as u64).sum()
    }

    pub(crate) fn turns(&self) -> f64 {
        self.scrape().value("controller_reconcile_total", &[]).unwrap_or_default()
    }

    /// Waits until the operator has looked at everything once more.
    pub(crate) async fn next_look(&self) {
        let before = self.turns();
        until("another look", PATIENCE, || async { (self.turns() >= before + 3.0).then_some(()) })
            .await
            .unwrap();
        let operator = self.operator.as_ref().unwrap();
        until("the queue to be empty", PATIENCE, || async { operator.is_idle().then_some(()) })
            .await
            .unwrap();
    }

    pub(crate) async fn deployment(&self, name: &str) -> Deployment {
        self.of::<Deployment>().get(name).await.unwrap()
    }
}

pub(crate) async fn operator(plane: &ControlPlane, settings: Settings) -> Started {
    Runtime::builder("application-operator")
        .client_config(config(plane).await)
        .settings(settings)
        .controller(ApplicationController::spec())
        .start()
        .await
        .unwrap()
}
