//! Holding and ending a rollout in every phase.

use serde_json::{Value, json};
use slipway_contract::deployments::{
    CancelRequest, ClusterRolloutStatus as Cluster, DeploymentDetailReply, DeploymentStatus as Status,
    ExtendRequest, PauseRequest, PhaseName, RollbackRequest, WaveState,
};
use slipway_testkit::Signal;

use crate::operator::chart;
use crate::scene::{Scene, direct, statuses};

const OPERATOR: &str = "steered";
const BOTH: [&str; 2] = ["c1", "c2"];

fn rolling(soak: &str, hold: &str) -> Value {
    json!({"strategy": "Rolling", "helmValues": {"hold": hold},
        "rollingConfig": {"validationPeriod": soak, "pauseBetweenClusters": "PT0S"}})
}

fn lunch() -> PauseRequest {
    PauseRequest { reason: Some("lunch".to_owned()) }
}

fn is_held(detail: &DeploymentDetailReply) -> bool {
    let told = detail.why.waits_for.as_ref().is_some_and(|wait| wait.what.contains("lunch"));
    detail.deployment.paused.is_some() && told
}

fn soaks(detail: &DeploymentDetailReply, wave: usize) -> bool {
    detail.waves[wave].state == WaveState::Soaking
}

async fn stand(scene: &Scene, wanted: [&str; 2]) {
    let found: Vec<String> = scene.versions(OPERATOR).await.into_values().collect();
    assert_eq!(found, wanted);
}

async fn cancel(scene: &Scene, id: &str) -> Vec<String> {
    let request = CancelRequest { reason: Some("we changed our mind".to_owned()) };
    scene.client().cancel_deployment(id, &request).await.unwrap().finishing
}

async fn cancelled(scene: &Scene, id: &str) -> DeploymentDetailReply {
    let end = scene.ends(id).await;
    assert_eq!(end.deployment.status, Status::Cancelled, "{end:#?}");
    assert!(end.error_message.as_ref().unwrap().contains("we changed our mind"), "{end:#?}");
    end
}

/// A cluster that does not answer keeps preflight busy meanwhile.
async fn in_preflight(scene: &Scene) {
    let silent = scene.cluster("c2").plane();
    silent.signal("kube-apiserver", Signal::STOP).await.unwrap();
    let id = scene.begin(OPERATOR, "1.1.0", &BOTH, &direct()).await;
    scene.reaches(&id, "preflight", |now| now.phase.name == PhaseName::Preflight).await;
    assert!(cancel(scene, &id).await.is_empty(), "nothing has to finish");
    cancelled(scene, &id).await;

    let id = scene.begin(OPERATOR, "1.1.0", &BOTH, &direct()).await;
    scene.client().pause_deployment(&id, &lunch()).await.unwrap();
    scene.reaches(&id, "being held", is_held).await;
    silent.signal("kube-apiserver", Signal::CONT).await.unwrap();
    let held = scene.reaches(&id, "the end of preflight", |now| now.phase.name != PhaseName::Preflight).await;
    assert!(statuses(&held).values().all(|one| *one == Cluster::Pending), "{held:#?}");
    stand(scene, ["1.0.0", "1.0.0"]).await;
    scene.client().resume_deployment(&id).await.unwrap();
    assert_eq!(scene.ends(&id).await.deployment.status, Status::Completed);
    stand(scene, ["1.1.0", "1.1.0"]).await;
}

/// What runs finishes, and nothing new begins.
async fn in_a_wave(scene: &Scene) {
    let id = scene.begin(OPERATOR, "1.2.0", &BOTH, &rolling("PT1S", "pause")).await;
    scene.cluster("c1").until_held(OPERATOR, OPERATOR, "pause").await;
    scene.client().pause_deployment(&id, &lunch()).await.unwrap();
    for name in BOTH {
        scene.cluster(name).release("pause").await;
    }
    let held = scene
        .reaches(&id, "the first being done", |now| is_held(now) && statuses(now)["c1"] == Cluster::Completed)
        .await;
    assert_eq!(statuses(&held)["c2"], Cluster::Pending, "{held:#?}");
    stand(scene, ["1.2.0", "1.1.0"]).await;
    scene.client().resume_deployment(&id).await.unwrap();
    assert_eq!(scene.ends(&id).await.deployment.status, Status::Completed);

    let id = scene.begin(OPERATOR, "1.3.0", &BOTH, &rolling("PT1S", "cancel")).await;
    scene.cluster("c1").until_held(OPERATOR, OPERATOR, "cancel").await;
    assert_eq!(cancel(scene, &id).await, ["c1"], "it finishes first");
    let going = scene.now(&id).await;
    assert!(!going.deployment.status.is_end(), "{going:#?}");
    scene.cluster("c1").release("cancel").await;
    let end = cancelled(scene, &id).await;
    assert_eq!(statuses(&end)["c2"], Cluster::Skipped, "{end:#?}");
    stand(scene, ["1.3.0", "1.2.0"]).await;
}

/// Time stands still, grows and is cut short as people say.
async fn in_a_soak(scene: &Scene) {
    let id = scene.begin(OPERATOR, "1.4.0", &BOTH, &rolling("PT30M", "")).await;
    let soaking = scene.reaches(&id, "the first wave being watched", |now| soaks(now, 0)).await;
    scene.client().extend_deployment(&id, &ExtendRequest { by: "PT30M".to_owned() }).await.unwrap();
    let before = soaking.waves[0].until.unwrap();
    scene.reaches(&id, "more time", |now| now.waves[0].until.is_some_and(|until| until > before)).await;
    scene.client().pause_deployment(&id, &lunch()).await.unwrap();
    scene.reaches(&id, "being held", is_held).await;
    scene.client().promote_deployment(&id).await.unwrap();
    let held = scene
        .reaches(&id, "the promotion", |now| now.waves[0].until.is_some_and(|until| until < before))
        .await;
    assert!(soaks(&held, 0) && statuses(&held)["c2"] == Cluster::Pending, "{held:#?}");
    scene.client().resume_deployment(&id).await.unwrap();
    scene.reaches(&id, "the second wave being watched", |now| soaks(now, 1)).await;
    assert!(cancel(scene, &id).await.is_empty());
    let end = cancelled(scene, &id).await;
    assert!(statuses(&end).values().all(|one| *one == Cluster::Completed), "{end:#?}");
    stand(scene, ["1.4.0", "1.4.0"]).await;
}

/// Going back can be held, and cannot be ended.
async fn on_the_way_back(scene: &Scene) {
    let settings = json!({"strategy": "Direct", "maxUnavailable": 1});
    let id = scene.begin(OPERATOR, "1.5.0", &BOTH, &settings).await;
    assert_eq!(scene.ends(&id).await.deployment.status, Status::Completed);
    let back = RollbackRequest { reason: "it is too new".to_owned(), ..RollbackRequest::default() };
    scene.client().roll_back(&id, &back).await.unwrap();
    let begun = |now: &DeploymentDetailReply| now.deployment.status == Status::RollingBack;
    scene.comes_to(&id, "the way back", begun).await;
    scene.client().pause_deployment(&id, &lunch()).await.unwrap();
    let refused = scene.client().cancel_deployment(&id, &CancelRequest::default()).await.unwrap_err();
    assert_eq!(refused.status(), Some(409), "{refused:?}");
    let still = |now: &DeploymentDetailReply| {
        is_held(now) && !statuses(now).values().any(|one| *one == Cluster::RollingBack)
    };
    let held = scene.reaches(&id, "what runs being done", still).await;
    assert_eq!(held.deployment.status, Status::RollingBack, "{held:#?}");
    scene.client().resume_deployment(&id).await.unwrap();
    let end = scene.ends(&id).await;
    assert_eq!(end.deployment.status, Status::RolledBack, "{end:#?}");
    stand(scene, ["1.4.0", "1.4.0"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_is_held_and_ended_in_every_phase() {
    let scene = Scene::start(&[("c1", "development"), ("c2", "staging")]).await;
    let versions = ["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0", "1.5.0"];
    scene.operator(&versions.map(|version| chart(OPERATOR, version).build().unwrap())).await;
    scene.rolls_out(OPERATOR, "1.0.0", &BOTH, &direct(), Status::Completed).await;
    in_preflight(&scene).await;
    in_a_wave(&scene).await;
    in_a_soak(&scene).await;
    on_the_way_back(&scene).await;
    scene.close().await;
}
