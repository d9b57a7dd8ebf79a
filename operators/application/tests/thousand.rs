//! A thousand Applications at once: they all converge, all change, and all go.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "operator/running.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod running;

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, ListParams};
use running::Running;
use serde_json::json;
use slipway_application_operator::crd::{Application, Phase};
use slipway_testkit::until;

const LONG: Duration = Duration::from_mins(12);
const MANY: usize = 1000;

async fn all_run(running: &Running, image: &str) {
    let apps = running.apps();
    until(&format!("all to run {image}"), LONG, || async {
        let found = apps.list(&ListParams::default()).await.ok()?;
        let done = found.iter().filter(|app| {
            let status = app.status.clone().unwrap_or_default();
            app.spec.image == image
                && status.phase == Some(Phase::Running)
                && status.observed_generation == app.metadata.generation
                && status.ready_replicas == Some(app.spec.replicas)
        });
        let done = done.count();
        if done < MANY {
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        (done == MANY).then_some(())
    })
    .await
    .unwrap();
}

async fn count<K>(running: &Running) -> usize
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    // The cluster has a Service and a ConfigMap of its own.
    let labels = ListParams::default().labels("app.kubernetes.io/managed-by=elide-operator");
    running.of::<K>().list(&labels).await.unwrap().items.len()
}

#[tokio::test]
async fn a_thousand_applications_converge_change_and_go() {
    let running = Running::start().await;
    let names: Vec<String> = (0..MANY).map(|number| format!("app-{number:04}")).collect();
    futures::stream::iter(&names)
        .for_each_concurrent(20, |name| {
            running.create(name, json!({"replicas": 1, "image": "nginx:1.27", "config": {"A": "b"}}))
        })
        .await;
    all_run(&running, "nginx:1.27").await;
    assert_eq!((count::<Deployment>(&running).await, count::<Service>(&running).await), (MANY, MANY));

    futures::stream::iter(&names)
        .for_each_concurrent(20, |name| running.change(name, json!({"spec": {"image": "nginx:1.28"}})))
        .await;
    all_run(&running, "nginx:1.28").await;
    assert_eq!(count::<Deployment>(&running).await, MANY, "no child was doubled");
    let conflicts =
        running.scrape().value("rest_client_requests_total", &[("code", "409")]).unwrap_or_default();

    // An API server ends a request after a minute, which a busy machine may need for a thousand.
    until("all to be deleted", LONG, || async {
        running.apps().delete_collection(&DeleteParams::default(), &ListParams::default()).await.ok()
    })
    .await
    .unwrap();
    until("everything to be gone", LONG, || async {
        let left = count::<Deployment>(&running).await
            + count::<Service>(&running).await
            + count::<ConfigMap>(&running).await
            + count::<PodDisruptionBudget>(&running).await
            + count::<Pod>(&running).await
            + count::<Application>(&running).await;
        if left > 0 {
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        (left == 0).then_some(())
    })
    .await
    .unwrap();
    println!("conflicts: {conflicts}");
}
