//! Twelve clusters in one canary.

use serde_json::json;
use slipway_contract::deployments::{ClusterRolloutStatus as Cluster, DeploymentStatus as Status};

use crate::operator::chart;
use crate::scene::{Scene, direct, statuses};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twelve_clusters_go_in_one_canary_and_come_back_together() {
    let names: Vec<String> = (1..=12).map(|number| format!("c{number:02}")).collect();
    let fleet: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "staging")).collect();
    let scene = Scene::start(&fleet).await;
    let names = scene.names();
    scene.cluster("c12").police().await;
    scene
        .operator(&["1.0.0", "1.1.0", "1.2.0"].map(|version| chart("dozen", version).build().unwrap()))
        .await;
    scene.rolls_out("dozen", "1.0.0", &names, &direct(), Status::Completed).await;

    // The stages of the specification: a tenth, three tenths, all.
    let canary = json!({"strategy": "Canary",
        "canaryConfig": {"evaluationPeriod": "PT3S", "healthCheckInterval": "PT1S"}});
    let done = scene.rolls_out("dozen", "1.1.0", &names, &canary, Status::Completed).await;
    let sizes: Vec<usize> = done.waves.iter().map(|wave| wave.clusters.len()).collect();
    assert_eq!(sizes, [2, 2, 8]);
    assert_eq!(done.deployment.successful_clusters, 12);
    assert!(scene.versions("dozen").await.values().all(|version| version == "1.1.0"));

    // The very last one fails, and all of them are as they were.
    scene.cluster("c12").refuse("dozen", "1.2.0").await;
    let end = scene.rolls_out("dozen", "1.2.0", &names, &canary, Status::RolledBack).await;
    assert!(statuses(&end).values().all(|one| *one == Cluster::RolledBack), "{end:#?}");
    assert!(scene.versions("dozen").await.values().all(|version| version == "1.1.0"));
    scene.close().await;
}
