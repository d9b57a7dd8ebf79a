//! The chart on a real node: three replicas elect, serve webhooks in the cluster, and run Applications.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use slipway_application_operator::crd::{Application, Phase};
use slipway_testkit::metrics::Scrape;
use slipway_testkit::{Image, Part, Program, RealCluster, Scratch, scratch, skipped, until};

const PATIENCE: Duration = Duration::from_mins(4);
const NAMESPACE: &str = "operators";
const WEB: &str = "docker.io/library/web";

/// What is granted and needed only when something goes wrong: reading afresh what somebody else wrote in
/// between, and what the API server asks of whoever sets an owner that blocks deletion.
const SELDOM: [&str; 6] = [
    "get applications",
    "get poddisruptionbudgets",
    "get services",
    "patch events",
    "update applications/finalizers",
    "update secrets",
];

struct Cluster {
    node: RealCluster,
    client: Client,
    home: Scratch,
}

/// An image that serves its own name over HTTP, as an Application would.
fn web(version: &str) -> Image {
    let busybox = Program::Busybox.find().unwrap();
    Image::builder(&format!("{WEB}:{version}"))
        .busybox(busybox)
        .file("www/index.html", format!("version {version}"))
        .entrypoint(["/bin/sh", "-c", "exec /bin/busybox httpd -f -p \"$PORT\" -h /www"])
        .env("PORT", "8080")
        .build()
}

impl Cluster {
    async fn start() -> Self {
        slipway_testkit::init();
        let cluster = RealCluster::start("harbour").await.unwrap();
        let operator = env!("CARGO_BIN_EXE_application-operator");
        let image = Image::from_binary("slipway.dev/application-operator:0.1.0", operator).unwrap();
        for image in [image, web("1"), web("2")] {
            cluster.load_image(&image).await.unwrap();
        }
        let client = cluster.client().await.unwrap();
        let home = scratch("helm").unwrap();
        std::fs::write(home.path().join("kubeconfig"), cluster.kubeconfig()).unwrap();
        Self { node: cluster, client, home }
    }

    async fn helm(&self, arguments: &[&str]) -> String {
        let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/application-operator");
        let mut part = Part::builder("helm", Program::Helm4.find().unwrap())
            .args(arguments.iter().map(|argument| argument.replace("CHART", chart.to_str().unwrap())))
            .args(["--namespace", NAMESPACE])
            .env("KUBECONFIG", self.home.path().join("kubeconfig"));
        for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            part = part.env(variable, self.home.path());
        }
        part.run().await.unwrap()
    }

    fn apps(&self) -> Api<Application> {
        Api::namespaced(self.client.clone(), "default")
    }

    /// Waits until all replicas of the operator are ready.
    async fn operators_ready(&self) {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), NAMESPACE);
        let ready = until("three replicas of the operator", PATIENCE, || async {
            let status = deployments.get("harbour-application-operator").await.ok()?.status?;
            (status.ready_replicas == Some(3)
                && status.updated_replicas == Some(3)
                && status.replicas == Some(3))
            .then_some(())
        })
        .await;
        if let Err(error) = ready {
            panic!("{error}\n{}", self.told().await);
        }
    }

    /// What the operators' pods say, for a test that fails.
    async fn told(&self) -> String {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), NAMESPACE);
        let mut told = String::new();
        for pod in pods.list(&ListParams::default()).await.unwrap() {
            let name = pod.name_any();
            let log = pods
                .logs(&name, &kube::api::LogParams::default())
                .await
                .unwrap_or_else(|error| error.to_string());
            let states = pod.status.map(|status| status.container_statuses);
            let _ = writeln!(told, "--- {name}: {states:?}\n{log}");
        }
        told
    }

    async fn create(&self, name: &str, spec: Value) -> kube::Result<Application> {
        let app = serde_json::from_value(json!({
            "apiVersion": "cloudnative.elide.dev/v1", "kind": "Application", "metadata": {"name": name}, "spec": spec,
        }))
        .unwrap();
        self.apps().create(&PostParams::default(), &app).await
    }

    async fn change(&self, name: &str, change: Value) {
        self.apps().patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    async fn running(&self, name: &str, pods: i32) -> Application {
        let apps = self.apps();
        let seen = until(&format!("{name} to run"), PATIENCE, || async {
            let app = apps.get(name).await.ok()?;
            let status = app.status.clone()?;
            (status.phase == Some(Phase::Running)
                && status.observed_generation == app.metadata.generation
                && status.ready_replicas == Some(pods)
                && status.replicas == Some(pods))
            .then_some(app)
        })
        .await;
        match seen {
            Ok(app) => app,
            Err(error) => panic!("{error}: {:#?}\n{}", apps.get(name).await, self.told().await),
        }
    }

    /// What the Application answers through its Service.
    async fn answers(&self, name: &str, wanted: &str) {
        let path = format!("/api/v1/namespaces/default/services/{name}:80/proxy/");
        until(&format!("{name} to answer {wanted:?}"), PATIENCE, || async {
            let request = http::Request::get(&path).body(Vec::new()).unwrap();
            self.client.request_text(request).await.ok().filter(|answer| answer == wanted)
        })
        .await
        .unwrap();
    }

    /// The verbs that the chart's roles grant and no replica ever used, as `verb resource`.
    async fn unused_permissions(&self) -> BTreeSet<String> {
        let mut used = BTreeSet::new();
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), NAMESPACE);
        for pod in pods.list(&ListParams::default()).await.unwrap() {
            let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{}:3000/proxy/metrics", pod.name_any());
            let request = http::Request::get(&path).body(Vec::new()).unwrap();
            let page = Scrape::parse(&self.client.request_text(request).await.unwrap()).unwrap();
            for sample in page.samples().iter().filter(|sample| sample.name == "rest_client_requests_total") {
                used.insert(format!("{} {}", sample.labels["verb"], sample.labels["resource"]));
            }
        }
        let mut granted = BTreeSet::new();
        let roles: Api<Role> = Api::all(self.client.clone());
        let cluster_roles: Api<ClusterRole> = Api::all(self.client.clone());
        let ours = ListParams::default().labels("app.kubernetes.io/instance=harbour");
        let mut granting: Vec<PolicyRule> = Vec::new();
        granting.extend(
            roles.list(&ours).await.unwrap().into_iter().flat_map(|role| role.rules.unwrap_or_default()),
        );
        granting.extend(
            cluster_roles
                .list(&ours)
                .await
                .unwrap()
                .into_iter()
                .flat_map(|role| role.rules.unwrap_or_default()),
        );
        for rule in granting {
            for resource in rule.resources.iter().flatten() {
                granted.extend(rule.verbs.iter().map(|verb| format!("{verb} {resource}")));
            }
        }
        assert!(!granted.is_empty() && !used.is_empty());
        granted.difference(&used).cloned().collect()
    }

    async fn leader(&self) -> String {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), NAMESPACE);
        until("a leader", PATIENCE, || async {
            leases
                .get("application-operator-leader")
                .await
                .ok()?
                .spec?
                .holder_identity
                .filter(|holder| !holder.is_empty())
        })
        .await
        .unwrap()
    }
}

/// A patch in the name of somebody else.
fn meddling() -> PatchParams {
    PatchParams { field_manager: Some("meddler".into()), ..PatchParams::default() }
}

/// Everything that is wrong is said at once, and defaults are filled in.
async fn webhooks_answer_in_the_cluster(cluster: &Cluster) {
    let refused = cluster
        .create("bad", json!({"replicas": 1, "image": "quay.io/library/ubuntu:24.04", "resources": {}}))
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("spec.image") && refused.contains("quay.io"), "{refused}");
    let made = cluster
        .create("web", json!({"replicas": 1, "image": format!("{WEB}:1"), "config": {"PORT": "8080"}}))
        .await
        .unwrap();
    assert_eq!(made.annotations()["elide.dev/webhook-mutated"], "true");
    assert_eq!(made.finalizers(), ["cloudnative.elide.dev/finalizer"], "the webhook adds it");
    cluster.running("web", 1).await;
    cluster.answers("web", "version 1").await;
}

/// An Application reads in its other version too.
async fn the_other_version_is_converted(cluster: &Cluster) {
    let beta = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("cloudnative.elide.dev", "v1beta1", "Application"),
        "applications",
    );
    let old: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), "default", &beta);
    let seen = old.get("web").await.unwrap();
    assert_eq!(seen.data["spec"]["container"]["image"], format!("{WEB}:1"));
}

/// Scaled through the scale subresource, drifted, and given another image.
async fn it_is_scaled_drifted_and_upgraded(cluster: &Cluster) {
    let scale = json!({"spec": {"replicas": 2}});
    cluster.apps().patch_scale("web", &PatchParams::default(), &Patch::Merge(scale)).await.unwrap();
    cluster.running("web", 2).await;
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), "default");
    deployments.patch("web", &meddling(), &Patch::Merge(json!({"spec": {"replicas": 0}}))).await.unwrap();
    until("the drift to be corrected", PATIENCE, || async {
        (deployments.get("web").await.unwrap().spec.replicas == Some(2)).then_some(())
    })
    .await
    .unwrap();
    cluster.change("web", json!({"spec": {"image": format!("{WEB}:2")}})).await;
    cluster.running("web", 2).await;
    cluster.answers("web", "version 2").await;
}

/// Its configuration changed and given up, its budget and its Service meddled with.
async fn what_is_meddled_with_is_put_right(cluster: &Cluster) {
    cluster.change("web", json!({"spec": {"config": {"MODE": "fast"}}})).await;
    cluster.running("web", 2).await;
    let services: Api<Service> = Api::namespaced(cluster.client.clone(), "default");
    services
        .patch(
            "web",
            &meddling(),
            &Patch::Merge(json!({"metadata": {"labels": {"app.kubernetes.io/name": "x"}}})),
        )
        .await
        .unwrap();
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(cluster.client.clone(), "default");
    budgets.patch("web", &meddling(), &Patch::Merge(json!({"spec": {"maxUnavailable": 2}}))).await.unwrap();
    until("the children to be put right", PATIENCE, || async {
        let service = services.get("web").await.ok()?;
        let budget = budgets.get("web").await.ok()?;
        (service.labels()["app.kubernetes.io/name"] != "x"
            && budget.spec?.max_unavailable == Some(IntOrString::Int(1)))
        .then_some(())
    })
    .await
    .unwrap();
    cluster.change("web", json!({"spec": {"replicas": 1, "config": null}})).await;
    cluster.running("web", 1).await;
}

/// The node's kubelet is restarted.
async fn everything_goes_on_when_the_kubelet_restarts(cluster: &Cluster) {
    cluster.node.restart_kubelet().await.unwrap();
    cluster.create("after", json!({"replicas": 1, "image": format!("{WEB}:1")})).await.unwrap();
    cluster.running("after", 1).await;
    cluster.operators_ready().await;
}

/// What API servers verify the webhooks with survives, and new rules are taken up.
async fn an_upgrade_keeps_the_webhooks_working(cluster: &Cluster) {
    cluster.helm(&["upgrade", "harbour", "CHART", "--set", "policy.maxReplicas=3"]).await;
    cluster.operators_ready().await;
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(cluster.client.clone());
    let configured = configurations.list(&ListParams::default()).await.unwrap();
    let webhooks: Vec<_> = configured.iter().flat_map(|one| one.webhooks.iter().flatten()).collect();
    assert!(!webhooks.is_empty() && webhooks.iter().all(|webhook| webhook.client_config.ca_bundle.is_some()));
    until("the new rule", PATIENCE, || async {
        let many = cluster.create("many", json!({"replicas": 4, "image": format!("{WEB}:1")})).await;
        match many {
            Err(kube::Error::Api(status)) => status.message.contains("spec.replicas").then_some(()),
            Ok(_) => {
                cluster.apps().delete("many", &DeleteParams::default()).await.unwrap();
                None
            }
            Err(_) => None,
        }
    })
    .await
    .unwrap();
}

/// Applications deleted, then the operator itself; Applications stay defined.
async fn nothing_is_left(cluster: &Cluster) {
    for name in ["web", "after"] {
        cluster.apps().delete(name, &DeleteParams::default()).await.unwrap();
    }
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), "default");
    let services: Api<Service> = Api::namespaced(cluster.client.clone(), "default");
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "default");
    until("everything to be gone", PATIENCE, || async {
        let left = cluster.apps().list(&ListParams::default()).await.unwrap().items.len()
            + deployments.list(&ListParams::default()).await.unwrap().items.len()
            + services
                .list(&ListParams::default().labels("app.kubernetes.io/instance=web"))
                .await
                .unwrap()
                .items
                .len()
            + maps
                .list(&ListParams::default().labels("app.kubernetes.io/instance=web"))
                .await
                .unwrap()
                .items
                .len();
        (left == 0).then_some(())
    })
    .await
    .unwrap();
    let mut unused = cluster.unused_permissions().await;
    unused.retain(|permission| !SELDOM.contains(&permission.as_str()));
    assert!(unused.is_empty(), "granted, but never needed: {unused:?}");
    cluster.helm(&["uninstall", "harbour", "--wait"]).await;
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    definitions.get("applications.cloudnative.elide.dev").await.unwrap();
}

#[tokio::test]
async fn the_chart_runs_applications_on_a_real_node_from_installation_to_removal() {
    if let Err(reason) = RealCluster::allowed() {
        return skipped(&reason);
    }
    let cluster = Cluster::start().await;
    cluster.helm(&["install", "harbour", "CHART", "--create-namespace"]).await;
    cluster.operators_ready().await;
    cluster.leader().await;

    webhooks_answer_in_the_cluster(&cluster).await;
    the_other_version_is_converted(&cluster).await;
    it_is_scaled_drifted_and_upgraded(&cluster).await;
    what_is_meddled_with_is_put_right(&cluster).await;
    everything_goes_on_when_the_kubelet_restarts(&cluster).await;
    an_upgrade_keeps_the_webhooks_working(&cluster).await;
    nothing_is_left(&cluster).await;
    cluster.node.stop().await;
}
