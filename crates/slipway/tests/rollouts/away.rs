//! Clusters that go away: before anybody touched them, and after.

use serde_json::{Value, json};
use slipway_contract::deployments::{ClusterRolloutStatus as Cluster, DeploymentStatus as Status};

use crate::operator::chart;
use crate::scene::{Scene, direct, statuses};

const API_SERVER: &str = "kube-apiserver";

fn canary() -> Value {
    json!({"strategy": "Canary", "canaryConfig": {"stages": [50, 100], "evaluationPeriod": "PT2S",
        "healthCheckInterval": "PT1S"}})
}

/// A cluster that is away before its turn is set aside, and follows when it is back.
async fn before(scene: &Scene) {
    let plane = scene.cluster("c2").plane();
    plane.kill(API_SERVER).await.unwrap();
    let id = scene.begin("away", "1.1.0", &["c1", "c2"], &canary()).await;
    let set_aside = scene
        .reaches(&id, "the others being done", |now| {
            let clusters = statuses(now);
            clusters["c1"] == Cluster::Completed
                && now.why.waits_for.as_ref().is_some_and(|it| it.what.contains("c2"))
        })
        .await;
    assert_eq!(statuses(&set_aside)["c2"], Cluster::Quarantined);
    let wait = set_aside.why.waits_for.unwrap();
    assert!(wait.until.is_some() && wait.unblock.is_some(), "until when, and what would help: {wait:?}");
    assert_eq!(scene.cluster("c1").standing("away").await.version(), "1.1.0");

    plane.start_part(API_SERVER).await.unwrap();
    let end = scene.ends(&id).await;
    assert_eq!(end.deployment.status, Status::Completed, "it caught up: {end:#?}");
    assert!(scene.versions("away").await.values().all(|version| version == "1.1.0"));
}

/// A cluster that goes away while it is watched holds the others up until it is back.
async fn while_watched(scene: &Scene) {
    let mut settings = canary();
    settings["canaryConfig"]["evaluationPeriod"] = "PT20S".into();
    let id = scene.begin("away", "1.2.0", &["c1", "c2"], &settings).await;
    scene.reaches(&id, "the first wave being watched", |now| statuses(now)["c1"] == Cluster::Completed).await;
    let plane = scene.cluster("c1").plane();
    plane.kill(API_SERVER).await.unwrap();
    let held = scene
        .reaches(&id, "somebody seeing it", |now| {
            let check = |it: &&slipway_contract::deployments::ClusterRollout| it.cluster_name == "c1";
            let health = now.cluster_statuses.iter().find(check).and_then(|it| it.health_check.as_ref());
            health.is_some_and(|health| health.unreachable_since.is_some())
        })
        .await;
    assert_eq!(statuses(&held)["c2"], Cluster::Pending, "{held:#?}");
    plane.start_part(API_SERVER).await.unwrap();
    let end = scene.ends(&id).await;
    assert_eq!(end.deployment.status, Status::Completed, "{end:#?}");
    assert!(scene.versions("away").await.values().all(|version| version == "1.2.0"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clusters_that_go_away_are_waited_for_and_caught_up() {
    let scene = Scene::start(&[("c1", "development"), ("c2", "staging")]).await;
    let versions = ["1.0.0", "1.1.0", "1.2.0"];
    scene.operator(&versions.map(|version| chart("away", version).build().unwrap())).await;
    scene.rolls_out("away", "1.0.0", &scene.names(), &direct(), Status::Completed).await;
    before(&scene).await;
    while_watched(&scene).await;
    scene.close().await;
}
