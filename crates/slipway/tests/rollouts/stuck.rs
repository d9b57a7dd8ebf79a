//! A cluster that cannot be taken back: it is tried again, named loudly, and does not stop the others.

use serde_json::json;
use slipway_contract::deployments::{
    ClusterRolloutStatus as Cluster, DeploymentDetailReply, DeploymentStatus as Status, RetryRequest,
};

use crate::operator::chart;
use crate::scene::{Scene, direct, statuses};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_cannot_be_taken_back_is_named_and_does_not_stop_the_others() {
    let scene = Scene::start(&[("c1", "development"), ("c2", "staging")]).await;
    let names = scene.names();
    futures::future::join_all(scene.clusters.values().map(crate::cluster::Cluster::police)).await;
    scene.operator(&["1.0.0", "1.1.0"].map(|version| chart("stuck", version).build().unwrap())).await;
    scene.rolls_out("stuck", "1.0.0", &names, &direct(), Status::Completed).await;
    let uid = scene.cluster("c2").parcel("stuck", "one").await;

    // The second refuses the new version, and the old one as well.
    scene.cluster("c2").refuse("stuck", "1.1.0_1.0.0").await;
    let canary = json!({"strategy": "Canary", "canaryConfig": {"stages": [50, 100],
        "evaluationPeriod": "PT2S", "healthCheckInterval": "PT1S"}});
    let id = scene.begin("stuck", "1.1.0", &names, &canary).await;
    let others = scene
        .reaches(&id, "the first cluster being back", |now| statuses(now)["c1"] == Cluster::RolledBack)
        .await;
    assert_eq!(others.deployment.status, Status::RollingBack, "the other one is still tried: {others:#?}");
    assert_eq!(statuses(&others)["c2"], Cluster::RollingBack);
    assert_eq!(scene.cluster("c1").standing("stuck").await.version(), "1.0.0");

    let end = scene.ends(&id).await;
    assert_eq!(end.deployment.status, Status::Failed, "{end:#?}");
    assert_eq!(statuses(&end)["c2"], Cluster::RollbackFailed);
    let reason = end.error_message.as_deref().unwrap();
    assert!(reason.contains("could not be taken back: c2"), "{reason}");
    let back = scene.client().rollback_status(&id).await.unwrap();
    assert_eq!((&back.rolled_back[..], back.failed[0].cluster_name.as_str()), (&["c1".to_owned()][..], "c2"));
    assert!(back.failed[0].message.contains("there is a storm"), "{back:?}");
    let why = scene.client().deployment_why(&id).await.unwrap();
    let wait = why.clusters.iter().find(|wait| wait.cluster_name.as_deref() == Some("c2")).unwrap();
    assert!(wait.unblock.is_some(), "somebody can do something: {why:?}");
    let steps = scene.client().deployment_steps(&id).await.unwrap().steps;
    let tries = steps.iter().filter(|step| step.cluster_name == "c2" && step.kind == "restore").count();
    assert!(tries >= 3, "it was tried again: {steps:#?}");
    let news = scene.client().deployment_news(&id, 0).await.unwrap().news;
    assert!(news.iter().any(|one| one.kind == "rollbackFailed"), "{news:#?}");

    // Once nothing stands in the way any more, it is taken back after all.
    scene.cluster("c2").refuse("stuck", "").await;
    scene.client().retry_deployment(&id, &RetryRequest::default()).await.unwrap();
    let back = |now: &DeploymentDetailReply| now.deployment.status == Status::RolledBack;
    scene.comes_to(&id, "being taken back after all", back).await;
    assert_eq!(scene.cluster("c2").standing("stuck").await.version(), "1.0.0");
    assert!(scene.cluster("c2").parcels("stuck").await.contains_key(&uid));
    scene.close().await;
}
