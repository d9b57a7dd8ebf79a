//! One control plane for all tests, with two kinds of its own and a namespace for each test.

use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::ApiResource;
use kube::{Client, Config, CustomResource, Resource};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slipway_runtime::conditions::Condition;
use slipway_runtime::controller::ControllerSpec;
use slipway_runtime::runtime::{Runtime, Started};
use slipway_runtime::settings::Settings;
use slipway_testkit::metrics::Scrape;
use slipway_testkit::{ControlPlane, until};

/// Long enough for a busy machine, and only ever reached by a failing test.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

#[derive(CustomResource, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "example.test",
    version = "v1",
    kind = "Widget",
    namespaced,
    schema = "disabled",
    status = "Progress"
)]
pub(crate) struct WidgetSpec {
    pub(crate) size: i64,
    #[serde(default)]
    pub(crate) colour: String,
}

#[derive(CustomResource, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.test", version = "v1", kind = "Gadget", namespaced, schema = "disabled")]
pub(crate) struct GadgetSpec {
    pub(crate) size: i64,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default)]
pub(crate) struct Progress {
    #[serde(default)]
    pub(crate) conditions: Vec<Condition>,
}

/// Lives as long as the process; closing its socket then gives it back.
fn shared() -> &'static str {
    static SHARED: OnceLock<String> = OnceLock::new();
    SHARED.get_or_init(|| {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let plane = ControlPlane::start().await.unwrap();
                let client = plane.client().await.unwrap();
                for (plural, kind) in [("widgets", "Widget"), ("gadgets", "Gadget")] {
                    define(&client, plural, kind).await;
                }
                tell.send(plane.kubeconfig().to_owned()).unwrap();
                std::future::pending::<()>().await;
            });
        });
        told.recv().expect("the control plane starts")
    })
}

async fn define(client: &Client, plural: &str, kind: &str) {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "metadata": {"name": format!("{plural}.example.test")},
        "spec": {
            "group": "example.test", "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": anything, "status": anything},
                }},
            }],
        },
    });
    let crds = Api::<CustomResourceDefinition>::all(client.clone());
    crds.create(&PostParams::default(), &serde_json::from_value(definition).unwrap()).await.unwrap();
    let api = ApiResource::erase::<Widget>(&());
    let api = ApiResource { kind: kind.to_owned(), plural: plural.to_owned(), ..api };
    let objects = Api::<DynamicObject>::all_with(client.clone(), &api);
    until("the kind to be served", PATIENCE, || async { objects.list(&ListParams::default()).await.ok() })
        .await
        .unwrap();
}

/// A namespace of a test's own.
pub(crate) struct Workshop {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    config: Config,
}

impl Workshop {
    pub(crate) async fn new(namespace: &str) -> Self {
        slipway_testkit::init();
        let kubeconfig = tokio::task::spawn_blocking(shared).await.unwrap();
        let kubeconfig = Kubeconfig::from_yaml(kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let client = Client::try_from(config.clone()).unwrap();
        let metadata = ObjectMeta { name: Some(namespace.to_owned()), ..ObjectMeta::default() };
        Api::<Namespace>::all(client.clone())
            .create(&PostParams::default(), &Namespace { metadata, ..Namespace::default() })
            .await
            .unwrap();
        Self { client, namespace: namespace.to_owned(), config }
    }

    pub(crate) fn of<K>(&self) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Settings for an operator of this namespace without webhooks and elections, on free ports.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.admin_address = ([127, 0, 0, 1], 0).into();
        settings.watch_namespaces = vec![self.namespace.clone()];
        settings.pod_namespace = Some(self.namespace.clone());
        settings.leader_election = false;
        settings.webhooks = false;
        settings
    }

    pub(crate) async fn start<K>(&self, controller: ControllerSpec<K>) -> Started
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        self.runtime(self.settings()).controller(controller).start().await.unwrap()
    }

    pub(crate) fn runtime(&self, settings: Settings) -> slipway_runtime::runtime::RuntimeBuilder {
        Runtime::builder("workshop").client_config(self.config.clone()).settings(settings)
    }

    /// Makes a Widget, fit or not.
    pub(crate) async fn put(&self, name: &str, spec: Value) {
        self.put_kind::<Widget>(json!({"name": name}), spec).await;
    }

    /// Makes an object of a kind, fit or not.
    pub(crate) async fn put_kind<K: Resource<DynamicType = ()>>(&self, metadata: Value, spec: Value) {
        let api = ApiResource::erase::<K>(&());
        let object = json!({
            "apiVersion": api.api_version, "kind": api.kind, "metadata": metadata, "spec": spec,
        });
        let objects = Api::<DynamicObject>::namespaced_with(self.client.clone(), &self.namespace, &api);
        objects.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    /// A Widget as it is, fit or not.
    pub(crate) async fn look(&self, name: &str) -> Option<DynamicObject> {
        self.anything().get_opt(name).await.unwrap()
    }

    pub(crate) async fn change(&self, name: &str, change: Value) {
        self.anything().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    pub(crate) async fn change_status(&self, name: &str, change: Value) {
        let change = Patch::Merge(json!({"status": change}));
        self.anything().patch_status(name, &PatchParams::default(), &change).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.anything().delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn gone(&self, name: &str) {
        until("the Widget to be gone", PATIENCE, || async { self.look(name).await.is_none().then_some(()) })
            .await
            .unwrap();
    }

    fn anything(&self) -> Api<DynamicObject> {
        let api = ApiResource::erase::<Widget>(&());
        Api::namespaced_with(self.client.clone(), &self.namespace, &api)
    }

    /// The Events about an object, by reason and note.
    pub(crate) async fn told(&self, name: &str) -> Vec<(String, String)> {
        let events = self.of::<Event>().list(&ListParams::default()).await.unwrap();
        let about = events.items.into_iter().filter(|event| {
            event.regarding.as_ref().and_then(|regarding| regarding.name.as_deref()) == Some(name)
        });
        about.map(|event| (event.reason.unwrap_or_default(), event.note.unwrap_or_default())).collect()
    }

    /// Waits until an Event with this reason is there, and gives its note.
    pub(crate) async fn hear(&self, name: &str, reason: &str) -> String {
        until(&format!("an Event {reason} about {name}"), PATIENCE, || async {
            self.told(name).await.into_iter().find(|(found, _)| found == reason).map(|(_, note)| note)
        })
        .await
        .unwrap()
    }

    /// The condition `Ready` of a Widget.
    pub(crate) async fn ready(&self, name: &str) -> Option<Value> {
        let conditions = self.look(name).await?.data["status"]["conditions"].clone();
        conditions.as_array()?.iter().find(|condition| condition["type"] == "Ready").cloned()
    }
}

/// What an operator counts.
pub(crate) fn scrape(operator: &Started) -> Scrape {
    Scrape::parse(&operator.metrics().render(None).1).unwrap()
}

/// How often it wrote, Events and Leases aside.
pub(crate) fn writes(operator: &Started) -> f64 {
    let scrape = scrape(operator);
    let wrote = scrape.samples().iter().filter(|sample| {
        sample.name == "rest_client_requests_total"
            && ["create", "update", "patch", "delete"].contains(&sample.labels["verb"].as_str())
            && !["events", "leases"].contains(&sample.labels["resource"].as_str())
    });
    wrote.map(|sample| sample.value).sum()
}
