//! What is installed on clusters: found, matched, watched and adopted.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use slipway_domain::operator::{InstallationState, Manager};
use slipway_orchestrator::Code;
use slipway_orchestrator::clusters::Removal;
use slipway_orchestrator::operators::{InstallationView, InstallationsWorker, ResealWorker};
use slipway_orchestrator::ports::store::WorkRows as _;
use slipway_orchestrator::workers::{Next, Worker as _};
use slipway_testkit::charts::ChartRepository;
use slipway_testkit::{ControlPlane, Program, Scratch, scratch};

use crate::server::{Server, admin, asked, builder, greeter};
use crate::support::database;

/// helm as somebody uses it by hand.
struct Hand {
    home: Scratch,
}

impl Hand {
    fn new() -> Self {
        Self { home: scratch("helm").unwrap() }
    }

    async fn helm(&self, program: Program, plane: &ControlPlane, arguments: &[&str]) {
        let home = self.home.path();
        let mut command = Command::new(program.find().unwrap());
        for name in ["HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(name, home);
        }
        command.args(arguments).arg("--kubeconfig").arg(plane.kubeconfig_file());
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    async fn install(
        &self,
        program: Program,
        plane: &ControlPlane,
        place: (&str, &str),
        chart: &Path,
        set: &str,
    ) {
        let (namespace, release) = place;
        let chart = chart.display().to_string();
        let arguments =
            ["upgrade", "--install", release, &chart, "--namespace", namespace, "--create-namespace"];
        let rest = ["--skip-crds", "--set", set];
        self.helm(program, plane, &[&arguments[..], &rest[..]].concat()).await;
    }
}

fn find<'a>(found: &'a [InstallationView], namespace: &str) -> &'a InstallationView {
    found.iter().find(|view| view.installation.seen.namespace == namespace).expect("it was found")
}

async fn mark(plane: &ControlPlane, namespace: &str, name: &str, metadata: Value) {
    let deployments: Api<Deployment> = Api::namespaced(plane.client().await.unwrap(), namespace);
    let patch = Patch::Merge(json!({ "metadata": metadata }));
    deployments.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "it is one story")]
async fn releases_of_both_lines_of_helm_are_found_matched_and_adopted() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let plane = ControlPlane::start().await.unwrap();
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    repository.add(&greeter("1.1.0"));
    let hand = Hand::new();
    // Only one release may own the definition among the templates; the other charts have none.
    let plain = |name: &str| builder(name, "1.0.0").template("salutes.yaml", "").build().unwrap();
    let by_three = greeter("1.0.0").write_to(hand.home.path()).unwrap();
    let by_four = plain("kafka").write_to(hand.home.path()).unwrap();
    let by_argo = plain("redis").write_to(hand.home.path()).unwrap();
    hand.install(Program::Helm3, &plane, ("greetings", "hello"), &by_three, "greeting=ahoy,secret=hunter2")
        .await;
    hand.install(Program::Helm4, &plane, ("streams", "kafka"), &by_four, "password=hunter2").await;
    hand.install(Program::Helm4, &plane, ("argo-app", "redis"), &by_argo, "a=b").await;
    mark(
        &plane,
        "argo-app",
        "redis",
        json!({"annotations": {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:argo-app/redis"}}),
    )
    .await;

    let cluster = server.add_cluster("prod-eu", &plane).await;
    let operator = server.register(asked(&repository.url())).await.unwrap();
    repository.add(&plain("redis"));
    let redis = slipway_domain::operator::Asked {
        name: "redis".to_owned(),
        chart_name: "redis".to_owned(),
        namespace: "redis".to_owned(),
        ..asked(&repository.url())
    };
    server.register(redis).await.unwrap();

    let worker = InstallationsWorker(server.manager.clone());
    assert!(matches!(server.work(&worker, cluster.id.to_string()).await.unwrap(), Next::After(_)));
    let found = server.manager.cluster_installations(&admin(), "prod-eu").await.unwrap();
    assert_eq!(found.len(), 3);
    let hello = find(&found, "greetings");
    assert_eq!(hello.operator.as_ref(), Some(&operator.name));
    let seen = &hello.installation.seen;
    assert_eq!((seen.release.as_str(), seen.version.as_str(), seen.revision), ("hello", "1.0.0", 1));
    assert_eq!((seen.state, seen.managed_by), (InstallationState::Deployed, Manager::Helm));
    let kafka = find(&found, "streams");
    assert_eq!((kafka.operator.as_ref(), kafka.installation.seen.chart.as_str()), (None, "kafka"));
    assert_eq!(kafka.installation.seen.managed_by, Manager::Helm);
    let argo = find(&found, "argo-app");
    assert_eq!(argo.installation.seen.managed_by, Manager::ArgoCd);
    assert_eq!(argo.installation.seen.manager_reference.as_deref(), Some("shop"));
    assert_eq!(
        argo.operator.as_ref().map(slipway_domain::name::Name::as_str),
        Some("redis"),
        "the one with that chart"
    );

    // Values are imported, sealed, and only of operators.
    let values = server.manager.installed_values(&hello.installation).await.unwrap();
    assert_eq!(Value::Object(values), json!({"greeting": "ahoy", "secret": "hunter2"}));
    assert!(server.manager.installed_values(&kafka.installation).await.unwrap().is_empty());
    assert_eq!(server.database_holds("hunter2").await, Vec::<String>::new());

    // A key that is added seals them anew; then the old one may go.
    let both = Server::with_keys(&stored.store, &[7, 8]);
    both.work(&ResealWorker(both.manager.clone()), "all".to_owned()).await.unwrap();
    let new =
        Server::with_keys(&stored.store, &[8]).manager.installed_values(&hello.installation).await.unwrap();
    assert_eq!(new["secret"], "hunter2");
    assert!(server.manager.installed_values(&hello.installation).await.is_err(), "not with the old one");
    let back = Server::with_keys(&stored.store, &[8, 7]);
    back.work(&ResealWorker(back.manager.clone()), "all".to_owned()).await.unwrap();
    assert_eq!(server.audit("operator.reseal").await.len(), 2);

    let error = server.manager.remove_operator(&admin(), "greeter").await.unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    assert!(error.to_string().contains("still installed on prod-eu"), "{error}");
    let error = server.manager.remove_cluster(&admin(), "prod-eu", Removal::Orderly).await.unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    assert!(
        error.to_string().starts_with("cluster prod-eu still has greeter, redis; uninstall first"),
        "{error}"
    );
    let error = server.manager.adopt(&admin(), "redis", "prod-eu", None).await.unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    assert!(
        error.to_string().starts_with("argo-app/redis on prod-eu is managed by Argo CD (shop)"),
        "{error}"
    );

    let adopted = server.manager.adopt(&admin(), "greeter", "prod-eu", None).await.unwrap();
    assert_eq!(adopted.installation.seen.managed_by, Manager::Slipway);
    assert_eq!(adopted.installation.adopted_by.as_deref(), Some("ada"));
    let shown = server.manager.operator(&admin(), "greeter").await.unwrap();
    assert_eq!(shown.operator.current_version.as_ref().unwrap().as_str(), "1.0.0", "the first that is known");
    assert_eq!((shown.deployed.len(), shown.operator.deployed_clusters), (1, 1));
    let error = server.manager.adopt(&admin(), "greeter", "prod-eu", Some("hello")).await.unwrap_err();
    assert!(error.to_string().contains("managed by Slipway already"), "{error}");
    let error = server.manager.adopt(&admin(), "greeter", "prod-eu", Some("other")).await.unwrap_err();
    assert_eq!(error.to_string(), "prod-eu has no release called other of the chart greeter");

    // A change by hand is seen, and what was adopted stays so.
    let newer = greeter("1.1.0").write_to(hand.home.path()).unwrap();
    hand.install(Program::Helm4, &plane, ("greetings", "hello"), &newer, "greeting=moin").await;
    let found = server.manager.discover_cluster(&admin(), "prod-eu").await.unwrap();
    let seen = &find(&found, "greetings").installation.seen;
    assert_eq!((seen.version.as_str(), seen.revision, seen.managed_by), ("1.1.0", 2, Manager::Slipway));
    assert!(server.news().await.contains(&"prod-eu operatorChanged".to_owned()));

    // Looking again at what did not change writes nothing.
    let before = server.news().await.len();
    server.work(&worker, cluster.id.to_string()).await.unwrap();
    assert_eq!(server.news().await.len(), before);

    hand.helm(Program::Helm4, &plane, &["uninstall", "hello", "--namespace", "greetings"]).await;
    let found = server.manager.discover_cluster(&admin(), "prod-eu").await.unwrap();
    assert_eq!(found.len(), 2);
    assert!(server.news().await.contains(&"prod-eu operatorGone".to_owned()));
    server.manager.remove_operator(&admin(), "greeter").await.unwrap();

    // An operator that is registered after its release was found is looked for there at once.
    let due = async || server.store.claim(worker.kind(), 9, Duration::from_mins(1)).await.unwrap();
    for claim in due().await {
        server.store.release(&claim, Duration::from_hours(1)).await.unwrap();
    }
    repository.add(&plain("kafka"));
    let named = |name: &str| slipway_domain::operator::Asked {
        name: name.to_owned(),
        chart_name: name.to_owned(),
        ..asked(&repository.url())
    };
    repository.add(&plain("nats"));
    server.register(named("nats")).await.unwrap();
    assert!(due().await.is_empty(), "nobody has nats");
    server.register(named("kafka")).await.unwrap();
    let claims = due().await;
    assert_eq!(claims.len(), 1);
    worker.work(&claims[0]).await.unwrap();
    let found = server.manager.cluster_installations(&admin(), "prod-eu").await.unwrap();
    assert_eq!(
        find(&found, "streams").operator.as_ref().map(slipway_domain::name::Name::as_str),
        Some("kafka")
    );
}

#[tokio::test]
async fn what_other_tools_install_without_helm_is_found_and_left_alone() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let plane = ControlPlane::start().await.unwrap();
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    server.add_cluster("prod-eu", &plane).await;
    server.register(asked(&repository.url())).await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(plane.client().await.unwrap(), "default");
    let deployment = |name: &str, metadata: Value| -> Deployment {
        let mut object = json!({
            "metadata": {"name": name},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}},
                    "spec": {"containers": [{"name": "x", "image": "example.com/x:1"}]},
                },
            },
        });
        for (key, value) in metadata.as_object().unwrap() {
            object["metadata"][key] = value.clone();
        }
        serde_json::from_value(object).unwrap()
    };
    let objects = [
        deployment(
            "by-argo",
            json!({
                "labels": {"helm.sh/chart": "greeter-1.0.0", "app.kubernetes.io/instance": "hello"},
                "annotations": {"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:default/by-argo"},
            }),
        ),
        deployment(
            "by-olm",
            json!({"labels": {"olm.owner": "kafka.v1.2.3", "olm.owner.kind": "ClusterServiceVersion"}}),
        ),
        deployment(
            "by-flux",
            json!({"labels": {"helm.sh/chart": "redis-2.0.0", "helm.toolkit.fluxcd.io/name": "redis",
                "helm.toolkit.fluxcd.io/namespace": "flux-system"}}),
        ),
        deployment("by-nobody", json!({"labels": {"helm.sh/chart": "nginx-1.0.0"}})),
    ];
    for object in objects {
        deployments.create(&kube::api::PostParams::default(), &object).await.unwrap();
    }
    let found = server.manager.discover_cluster(&admin(), "prod-eu").await.unwrap();
    let mut told: Vec<String> = found
        .iter()
        .map(|view| {
            let seen = &view.installation.seen;
            let reference = seen.manager_reference.as_deref().unwrap_or_default();
            format!(
                "{} {} {} {} {reference}",
                seen.chart,
                seen.version,
                seen.revision,
                seen.managed_by.word()
            )
        })
        .collect();
    told.sort();
    assert_eq!(
        told,
        [
            "greeter 1.0.0 0 argocd shop",
            "kafka v1.2.3 0 olm kafka.v1.2.3",
            "redis 2.0.0 0 flux flux-system/redis"
        ]
    );
    let error = server.manager.adopt(&admin(), "greeter", "prod-eu", None).await.unwrap_err();
    assert!(error.to_string().contains("managed by Argo CD (shop)"), "{error}");
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_keeps_what_was_known() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let plane = ControlPlane::start().await.unwrap();
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    server.register(asked(&repository.url())).await.unwrap();
    let hand = Hand::new();
    let chart = greeter("1.0.0").write_to(hand.home.path()).unwrap();
    hand.install(Program::Helm4, &plane, ("greetings", "hello"), &chart, "a=b").await;
    let cluster = server.add_cluster("prod-eu", &plane).await;
    assert_eq!(server.manager.discover_cluster(&admin(), "prod-eu").await.unwrap().len(), 1);
    plane.kill("kube-apiserver").await.unwrap();
    let error = server.manager.discover_cluster(&admin(), "prod-eu").await.unwrap_err();
    assert_eq!(error.code, Code::ClusterUnreachable);
    let worker = InstallationsWorker(server.manager.clone());
    assert!(matches!(server.work(&worker, cluster.id.to_string()).await.unwrap(), Next::After(_)));
    assert_eq!(server.manager.cluster_installations(&admin(), "prod-eu").await.unwrap().len(), 1);
    let error = server.manager.discover_cluster(&admin(), "prod-us").await.unwrap_err();
    assert_eq!(error.code, Code::ClusterNotFound);
}
