//! What the operator does with Applications, on a real control plane.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "operator/running.rs"]
mod running;

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use running::{PATIENCE, Running, alone};
use serde_json::{Value, json};
use slipway_application_operator::crd::{Application, Phase};
use slipway_runtime::conditions::ConditionStatus;
use slipway_testkit::until;

fn web(replicas: u32) -> Value {
    json!({
        "replicas": replicas, "image": "nginx:1.27",
        "config": {"PORT": "9000", "MODE": "fast", "OLD": "yes"},
        "resources": {"requests": {"cpu": "0.25"}, "limits": {"memory": "1024Mi"}},
    })
}

#[tokio::test]
async fn an_application_gets_its_children_and_reports_what_they_report() {
    let running = Running::start().await;
    running.create("web", web(2)).await;
    let app = running.running("web").await;

    let status = app.status.clone().unwrap();
    assert_eq!((status.replicas, status.ready_replicas), (Some(2), Some(2)));
    assert!(status.label_selector.unwrap().contains("app.kubernetes.io/instance=web"));
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready").unwrap();
    assert_eq!(ready.status, ConditionStatus::True);
    assert!(ready.last_transition_time.is_some());
    assert_eq!(app.finalizers(), ["cloudnative.elide.dev/finalizer"]);

    let service = running.of::<Service>().get("web").await.unwrap();
    let port = &service.spec.as_ref().unwrap().ports.as_ref().unwrap()[0];
    assert_eq!(port.port, 80);
    let config = running.of::<ConfigMap>().get("web-config").await.unwrap();
    assert_eq!(config.data.unwrap()["MODE"], "fast");
    running.of::<PodDisruptionBudget>().get("web").await.unwrap();
    let deployment = running.deployment("web").await;
    let owner = &deployment.owner_references()[0];
    assert_eq!((owner.kind.as_str(), owner.controller), ("Application", Some(true)));
    assert_eq!(deployment.labels()["app.kubernetes.io/managed-by"], "elide-operator");
}

#[tokio::test]
async fn nothing_is_written_when_nothing_differs_not_even_after_a_restart() {
    let mut settings = alone();
    settings.resync = Some(Duration::from_millis(300));
    let mut running = Running::with(settings).await;
    for name in ["a", "b", "c"] {
        running.create(name, web(2)).await;
    }
    for name in ["a", "b", "c"] {
        running.running(name).await;
    }
    running.next_look().await;
    let written = running.writes();
    // A finalizer, four children and a status of three objects, and no more than two statuses in between.
    assert!((18..=24).contains(&written), "{written} writes for three Applications");
    for _ in 0..3 {
        running.next_look().await;
    }
    assert_eq!(running.writes(), written);

    running.restart().await;
    let operator = running.operator.as_ref().unwrap();
    until("a first look at all three", PATIENCE, || async {
        (running.turns() >= 3.0 && operator.is_idle()).then_some(())
    })
    .await
    .unwrap();
    assert_eq!(running.writes(), 0, "a fresh process finds everything as it should be");
}

#[tokio::test]
async fn what_others_change_is_put_right_and_told() {
    let running = Running::start().await;
    running.create("web", web(2)).await;
    running.running("web").await;

    running.meddle::<Deployment>("web", json!({"spec": {"replicas": 5}})).await;
    running
        .child::<Deployment>("web", "the number of pods to be put right", |deployment| {
            deployment.spec.replicas == Some(2)
        })
        .await;
    running.meddle::<ConfigMap>("web-config", json!({"data": {"MODE": "slow"}})).await;
    running
        .child::<ConfigMap>("web-config", "the configuration to be put right", |map| {
            map.data.as_ref().is_some_and(|data| data["MODE"] == "fast")
        })
        .await;
    let service = running.of::<Service>();
    let before = service.get("web").await.unwrap().uid();
    service.delete("web", &DeleteParams::default()).await.unwrap();
    running.child::<Service>("web", "the Service to come back", |service| service.uid() != before).await;

    let events: Api<Event> = running.of();
    let told = until("the drift to be told", PATIENCE, || async {
        let events = events.list(&ListParams::default()).await.unwrap();
        events.into_iter().find(|event| {
            event.reason.as_deref() == Some("DriftCorrected")
                && event.note.as_deref().is_some_and(|note| note.contains("Deployment"))
        })
    })
    .await
    .unwrap();
    let note = told.note.unwrap();
    assert!(note.contains("spec.replicas is 5 instead of 2") && note.contains("meddler"), "{note}");
    assert_eq!(told.regarding.unwrap().name.as_deref(), Some("web"));
}

#[tokio::test]
async fn a_changed_application_changes_its_children_and_drops_what_it_no_longer_wants() {
    let running = Running::start().await;
    running.create("web", web(2)).await;
    running.running("web").await;
    let hash = |deployment: &Deployment| {
        deployment.spec.template.metadata.as_ref().map(|meta| meta.annotations.clone())
    };
    let before = hash(&running.deployment("web").await);

    // A key that was there when the child was created goes when it is no longer wanted.
    running.change("web", json!({"spec": {"config": {"OLD": null, "NEW": "1"}}})).await;
    let map = running
        .child::<ConfigMap>("web-config", "the new configuration", |map| {
            map.data.as_ref().is_some_and(|data| data.contains_key("NEW"))
        })
        .await;
    assert!(!map.data.unwrap().contains_key("OLD"), "a key that is no longer wanted stayed");
    running
        .child::<Deployment>("web", "the pods to be rolled", |deployment| hash(deployment) != before)
        .await;
    running.running("web").await;

    // And so does one that came later, and a child as a whole.
    running
        .change("web", json!({"spec": {"replicas": 1, "config": {"NEW": null}, "image": "nginx:1.28"}}))
        .await;
    running.gone::<PodDisruptionBudget>("web").await;
    let map = running
        .child::<ConfigMap>("web-config", "the newest configuration", |map| {
            map.data.as_ref().is_some_and(|data| !data.contains_key("NEW"))
        })
        .await;
    assert_eq!(map.data.unwrap().len(), 2);
    let app = running.running("web").await;
    assert_eq!(app.status.unwrap().replicas, Some(1));
    running.change("web", json!({"spec": {"config": null}})).await;
    running.gone::<ConfigMap>("web-config").await;
}

#[tokio::test]
async fn it_is_scaled_through_its_scale_subresource() {
    let running = Running::start().await;
    running.create("web", web(1)).await;
    running.running("web").await;
    let scale = json!({"spec": {"replicas": 3}});
    let params = kube::api::PatchParams::default();
    running.apps().patch_scale("web", &params, &kube::api::Patch::Merge(scale)).await.unwrap();
    let app = running
        .app("web", "three pods", |app| {
            app.status.as_ref().is_some_and(|status| status.ready_replicas == Some(3))
        })
        .await;
    assert_eq!(app.status.unwrap().phase, Some(Phase::Running));
    running.of::<PodDisruptionBudget>().get("web").await.unwrap();
}

#[tokio::test]
async fn a_deleted_application_leaves_nothing_behind() {
    let running = Running::start().await;
    running.create("web", web(2)).await;
    running.running("web").await;
    running.delete("web").await;
    running.gone::<Application>("web").await;
    running.gone::<Deployment>("web").await;
    running.gone::<Service>("web").await;
    running.gone::<ConfigMap>("web-config").await;
    running.gone::<PodDisruptionBudget>("web").await;
}

#[tokio::test]
async fn a_name_that_somebody_else_uses_is_told_and_taken_when_it_is_free() {
    let running = Running::start().await;
    let foreign: Service = serde_json::from_value(json!({
        "metadata": {"name": "web"}, "spec": {"ports": [{"port": 1234}]},
    }))
    .unwrap();
    running.of::<Service>().create(&PostParams::default(), &foreign).await.unwrap();
    running.create("web", web(1)).await;
    let app = running
        .app("web", "the failure", |app| {
            app.status.as_ref().is_some_and(|status| status.phase == Some(Phase::Failed))
        })
        .await;
    let ready =
        app.status.unwrap().conditions.into_iter().find(|condition| condition.type_ == "Ready").unwrap();
    assert_eq!(ready.reason.as_deref(), Some("NameTaken"));
    let message = ready.message.unwrap();
    assert!(message.contains("Service default/web exists already and belongs to nobody"), "{message}");
    // The rest goes on meanwhile.
    running.child::<Deployment>("web", "the Deployment", |_| true).await;

    running.of::<Service>().delete("web", &DeleteParams::default()).await.unwrap();
    running.running("web").await;
}
