//! Several replicas of the program: one leads, and another takes over whatever becomes of it.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use slipway_application_operator::crd::{self, Application, Phase};
use slipway_runtime::crd::{Conversion, Policy, install};
use slipway_testkit::{ControlPlane, Part, Signal, until};

const PATIENCE: Duration = Duration::from_mins(3);

/// Replicas of the program by name, on one control plane.
struct Replicas {
    _plane: ControlPlane,
    client: Client,
    parts: HashMap<String, Part>,
}

impl Replicas {
    async fn start(names: &[&str]) -> Self {
        slipway_testkit::init();
        let plane = ControlPlane::builder().nodes(1).start().await.unwrap();
        let client = plane.client().await.unwrap();
        install(client.clone(), &crd::definition(Conversion::None).unwrap(), Policy::Safe).await.unwrap();
        let mut parts = HashMap::new();
        for name in names {
            let part = Part::builder(name, env!("CARGO_BIN_EXE_application-operator"))
                .args(["--admin-address", "127.0.0.1:0", "--webhooks=false", "--log-format", "json"])
                .env("KUBECONFIG", plane.kubeconfig_file())
                .env("POD_NAME", name)
                .env("POD_NAMESPACE", "default")
                .start()
                .unwrap();
            parts.insert((*name).to_owned(), part);
        }
        Self { _plane: plane, client, parts }
    }

    fn apps(&self) -> Api<Application> {
        Api::namespaced(self.client.clone(), "default")
    }

    async fn lease(&self) -> Option<Lease> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), "default");
        leases.get_opt("application-operator-leader").await.unwrap()
    }

    /// The replica that holds the Lease, if it is none of those.
    async fn leader(&self, not: &str) -> String {
        until("a leader", PATIENCE, || async {
            let holder = self.lease().await?.spec?.holder_identity?;
            self.parts.keys().find(|name| holder.starts_with(*name) && **name != not).cloned()
        })
        .await
        .unwrap()
    }

    async fn create(&self, name: &str) {
        let app = serde_json::from_value(json!({
            "apiVersion": "cloudnative.elide.dev/v1", "kind": "Application", "metadata": {"name": name},
            "spec": {"replicas": 1, "image": "nginx:1.27"},
        }))
        .unwrap();
        self.apps().create(&PostParams::default(), &app).await.unwrap();
    }

    async fn running(&self, name: &str, image: &str) {
        let (apps, deployments) =
            (self.apps(), Api::<Deployment>::namespaced(self.client.clone(), "default"));
        until(&format!("{name} to run {image}"), PATIENCE, || async {
            let app = apps.get(name).await.ok()?;
            let status = app.status?;
            let deployment = deployments.get(name).await.ok()?;
            let runs = deployment.spec.template.spec?.containers.first()?.image.as_deref() == Some(image);
            (runs
                && status.phase == Some(Phase::Running)
                && status.observed_generation == app.metadata.generation)
                .then_some(())
        })
        .await
        .unwrap();
    }
}

/// From the last sign of life of one holder to the acquisition of the next, as the Lease itself says.
fn pause(before: &Lease, after: &Lease) -> SignedDuration {
    let time = |lease: &Lease, acquired: bool| -> Timestamp {
        let spec = lease.spec.as_ref().unwrap();
        let time = if acquired { &spec.acquire_time } else { &spec.renew_time };
        time.as_ref().unwrap().0
    };
    time(after, true).duration_since(time(before, false))
}

#[tokio::test]
async fn when_the_leader_is_killed_another_takes_over() {
    let mut replicas = Replicas::start(&["one", "two", "three"]).await;
    replicas.create("before").await;
    replicas.running("before", "nginx:1.27").await;
    let leader = replicas.leader("").await;
    replicas.parts[&leader].signal(Signal::KILL).unwrap();
    let before = replicas.lease().await.unwrap();
    replicas.create("after").await;
    let next = replicas.leader(&leader).await;
    let after = replicas.lease().await.unwrap();
    assert_ne!(next, leader);
    let pause = pause(&before, &after);
    assert!(pause <= SignedDuration::from_secs(17), "nobody led for {pause}");
    replicas.running("after", "nginx:1.27").await;
    replicas.parts.remove(&leader);
}

#[tokio::test]
async fn a_leader_that_is_asked_to_end_hands_over_at_once_and_ends_well() {
    let mut replicas = Replicas::start(&["one", "two"]).await;
    replicas.create("before").await;
    replicas.running("before", "nginx:1.27").await;
    let leader = replicas.leader("").await;
    let part = replicas.parts.remove(&leader).unwrap();
    part.signal(Signal::TERM).unwrap();
    let asked = Timestamp::now();
    until("the program to end", PATIENCE, || async { (!part.is_running()).then_some(()) }).await.unwrap();
    assert!(part.log().contains("\"ended\""), "{}", part.log());
    let next = replicas.leader(&leader).await;
    let acquired = replicas.lease().await.unwrap().spec.unwrap().acquire_time.unwrap().0;
    let pause = acquired.duration_since(asked);
    assert!(pause <= SignedDuration::from_secs(3), "{next} took over after {pause}");
    replicas.create("after").await;
    replicas.running("after", "nginx:1.27").await;
}

#[tokio::test]
async fn a_leader_that_was_frozen_reverts_and_doubles_nothing_when_it_wakes() {
    let replicas = Replicas::start(&["one", "two"]).await;
    for number in 0..20 {
        replicas.create(&format!("app-{number}")).await;
    }
    let leader = replicas.leader("").await;
    // In the middle of its work.
    until("the first children", PATIENCE, || async {
        let deployments: Api<Deployment> = Api::namespaced(replicas.client.clone(), "default");
        (deployments.list(&ListParams::default()).await.unwrap().items.len() >= 3).then_some(())
    })
    .await
    .unwrap();
    replicas.parts[&leader].signal(Signal::STOP).unwrap();
    replicas.leader(&leader).await;
    for number in 0..20 {
        let change = json!({"spec": {"image": "nginx:1.28"}});
        let name = format!("app-{number}");
        replicas.apps().patch(&name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }
    for number in 0..20 {
        replicas.running(&format!("app-{number}"), "nginx:1.28").await;
    }
    let deployments: Api<Deployment> = Api::namespaced(replicas.client.clone(), "default");
    let facts =
        |deployment: &Deployment| (deployment.name_any(), deployment.uid(), deployment.metadata.generation);
    let before: Vec<_> = deployments.list(&ListParams::default()).await.unwrap().iter().map(facts).collect();

    replicas.parts[&leader].signal(Signal::CONT).unwrap();
    // What it had under way it sends now, if it sends it at all; then it must know that it does not lead.
    until("the woken one to notice", PATIENCE, || async {
        replicas.parts[&leader].log().contains("not leading any more").then_some(())
    })
    .await
    .unwrap();
    replicas.create("last").await;
    replicas.running("last", "nginx:1.27").await;
    let after: Vec<_> = deployments
        .list(&ListParams::default())
        .await
        .unwrap()
        .iter()
        .filter(|deployment| deployment.name_any() != "last")
        .map(facts)
        .collect();
    assert_eq!(after, before, "a Deployment was replaced or its spec written again");
}
