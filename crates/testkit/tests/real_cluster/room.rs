//! A namespace of a test's own on a real cluster.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service, ServiceAccount};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{ListParams, LogParams, PostParams};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use slipway_testkit::real_cluster::RealClusterInfo;
use slipway_testkit::{Image, RealCluster, skipped, until};
use tokio::sync::OnceCell;

/// What pods run.
pub(crate) const IMAGE: &str = "localhost/slipway/probe:1";

const SOON: Duration = Duration::from_mins(1);

/// Whether a real node can run here; if not, that is noted.
pub(crate) fn possible() -> bool {
    RealCluster::allowed().map_err(|reason| skipped(&reason)).is_ok()
}

pub(crate) fn probe_image() -> Image {
    Image::from_binary(IMAGE, env!("CARGO_BIN_EXE_probe")).unwrap()
}

/// A namespace of a cluster.
pub(crate) struct Room {
    pub(crate) name: String,
    pub(crate) client: Client,
}

impl Room {
    /// A namespace of the cluster that most tests share; none where that cannot be.
    pub(crate) async fn enter(name: &str) -> Option<Self> {
        static SHARED: OnceCell<RealCluster> = OnceCell::const_new();
        if !possible() {
            return None;
        }
        let cluster = SHARED
            .get_or_init(|| async {
                let cluster = RealCluster::start("shared").await.unwrap();
                cluster.load_image(&probe_image()).await.unwrap();
                cluster
            })
            .await;
        Some(Self::of(cluster, name).await)
    }

    pub(crate) async fn of(cluster: &RealCluster, name: &str) -> Self {
        Self::at(cluster.info(), name).await
    }

    pub(crate) async fn at(info: &RealClusterInfo, name: &str) -> Self {
        let client = info.client().await.unwrap();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), name);
        until("the ServiceAccount of pods", SOON, async || accounts.get("default").await.ok().map(drop))
            .await
            .unwrap();
        Self { name: name.to_owned(), client }
    }

    pub(crate) fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.name)
    }

    pub(crate) async fn create<K>(&self, object: Value) -> K
    where
        K: Resource<Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Serialize,
        K::DynamicType: Default,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), &self.name);
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
    }

    /// Starts a pod of the probe; `more` is added to its container.
    pub(crate) async fn start(&self, name: &str, arguments: &[&str], more: Value) {
        let mut container = json!({"name": "probe", "image": IMAGE, "args": arguments});
        for (field, value) in more.as_object().unwrap() {
            container[field] = value.clone();
        }
        let volumes: Vec<Value> = container["volumeMounts"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|mount| json!({"name": mount["name"], "secret": {"secretName": mount["name"]}}))
            .collect();
        let once = arguments.first() == Some(&"get");
        self.create::<Pod>(json!({
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {
                "restartPolicy": if once { "Never" } else { "Always" },
                "terminationGracePeriodSeconds": 1,
                "containers": [container],
                "volumes": volumes,
            },
        }))
        .await;
    }

    /// Starts a pod that serves and waits until it is ready.
    pub(crate) async fn serve(&self, name: &str, mut more: Value) {
        if more.get("readinessProbe").is_none() {
            more["readinessProbe"] =
                json!({"periodSeconds": 1, "httpGet": {"path": "/healthz", "port": 8080}});
        }
        self.start(name, &[], more).await;
        let ready = until("the pod to be ready", SOON, async || {
            let conditions = self.pods().get(name).await.ok()?.status?.conditions?;
            conditions.iter().any(|it| it.type_ == "Ready" && it.status == "True").then_some(())
        })
        .await;
        assert!(ready.is_ok(), "{name} is not ready: {:#?}", self.pods().get(name).await.unwrap().status);
    }

    /// Puts a Service before the pod of this name, waits until it leads there, and gives its address.
    pub(crate) async fn service(&self, name: &str, port: u16, target: u16) -> String {
        let service = self
            .create::<Service>(json!({
                "metadata": {"name": name},
                "spec": {"selector": {"app": name}, "ports": [{"port": port, "targetPort": target}]},
            }))
            .await;
        let slices: Api<EndpointSlice> = Api::namespaced(self.client.clone(), &self.name);
        let of_service = ListParams::default().labels(&format!("kubernetes.io/service-name={name}"));
        until("the Service to have an endpoint", SOON, async || {
            let slices = slices.list(&of_service).await.ok()?;
            slices
                .items
                .iter()
                .any(|slice| slice.endpoints.as_ref().is_some_and(|endpoints| !endpoints.is_empty()))
                .then_some(())
        })
        .await
        .unwrap();
        service.spec.unwrap().cluster_ip.unwrap()
    }

    /// Runs the probe in a pod to its end, and gives what it printed.
    pub(crate) async fn run(&self, name: &str, arguments: &[&str]) -> String {
        self.start(name, arguments, json!({})).await;
        let phase = until("the pod to end", SOON, async || {
            let phase = self.pods().get(name).await.ok()?.status?.phase?;
            ["Succeeded", "Failed"].contains(&phase.as_str()).then_some(phase)
        })
        .await
        .unwrap();
        let log = self.pods().logs(name, &LogParams::default()).await.unwrap();
        assert_eq!(phase, "Succeeded", "{log}");
        log
    }
}
