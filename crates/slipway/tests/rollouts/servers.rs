//! Servers that are killed, or stand still, in the middle of a run of helm: another one finishes what they began.

use serde_json::{Value, json};
use slipway_contract::deployments::DeploymentStatus as Status;
use slipway_testkit::{Signal, until};

use crate::operator::chart;
use crate::program::LONG;
use crate::scene::{Scene, direct};

/// One of each strategy, by its operator.
fn strategies() -> [(&'static str, Value); 4] {
    [
        ("express", json!({"strategy": "Direct"})),
        (
            "canary",
            json!({"strategy": "Canary", "canaryConfig": {"evaluationPeriod": "PT1S",
            "healthCheckInterval": "PT1S"}}),
        ),
        (
            "rolling",
            json!({"strategy": "Rolling", "rollingConfig": {"validationPeriod": "PT1S",
            "pauseBetweenClusters": "PT0S"}}),
        ),
        (
            "colours",
            json!({"strategy": "BlueGreen", "blueGreenConfig": {"blueNamespace": "colours",
            "greenNamespace": "colours", "validationPeriod": "PT1S", "switchMonitoringPeriod": "PT1S"}}),
        ),
    ]
}

fn release(operator: &str) -> String {
    if operator == "colours" { "colours-green".to_owned() } else { operator.to_owned() }
}

async fn install(scene: &Scene) {
    for (operator, _) in strategies() {
        scene.operator(&["1.0.0", "1.1.0", "1.2.0"].map(|it| chart(operator, it).build().unwrap())).await;
        scene.rolls_out(operator, "1.0.0", &["c1"], &direct(), Status::Completed).await;
        scene.cluster("c1").parcel(operator, "one").await;
    }
}

/// Begins one of each strategy, and waits until helm is in the middle of all of them.
async fn begin(scene: &Scene, version: &str, hold: &str) -> Vec<(&'static str, String)> {
    let mut begun = Vec::new();
    for (operator, mut settings) in strategies() {
        settings["helmValues"] = json!({"hold": hold});
        begun.push((operator, scene.begin(operator, version, &["c1"], &settings).await));
    }
    for (operator, _) in &begun {
        scene.cluster("c1").until_held(operator, &release(operator), hold).await;
    }
    begun
}

/// All is as it would be had nobody been lost.
async fn finish(scene: &Scene, version: &str, hold: &str, begun: Vec<(&'static str, String)>) {
    let cluster = scene.cluster("c1");
    cluster.release(hold).await;
    for (operator, id) in begun {
        let end = scene.ends(&id).await;
        assert_eq!(end.deployment.status, Status::Completed, "{operator}: {end:#?}");
        let standing = cluster.standing(operator).await;
        assert_eq!(standing.version(), version, "{operator}");
        let releases = if operator == "colours" { 2 } else { 1 };
        assert_eq!(standing.releases.len(), releases, "{standing:?}");
        assert_eq!(cluster.parcels(operator).await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_server_finishes_what_one_that_was_killed_amid_helm_began() {
    let scene = Scene::start(&[("c1", "development")]).await;
    install(&scene).await;
    let begun = begin(&scene, "1.1.0", "killed").await;
    scene.another_server().await;
    scene.take_server(0).kill().await;
    finish(&scene, "1.1.0", "killed", begun).await;
    scene.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stood_still_amid_helm_finds_its_work_done_by_another() {
    let scene = Scene::start(&[("c1", "development")]).await;
    scene.operator(&["1.0.0", "1.1.0"].map(|it| chart("still", it).build().unwrap())).await;
    scene.rolls_out("still", "1.0.0", &["c1"], &direct(), Status::Completed).await;
    let held = json!({"strategy": "Direct", "helmValues": {"hold": "still"}});
    let id = scene.begin("still", "1.1.0", &["c1"], &held).await;
    let cluster = scene.cluster("c1");
    cluster.until_held("still", "still", "still").await;
    scene.another_server().await;
    let sleeper = scene.take_server(0);
    sleeper.signal(Signal::STOP);

    // The other one makes sure that the first attempt is over, and begins its own.
    let first = cluster.job("still", "still-still").await.unwrap();
    until("the other server to begin anew", LONG, async || {
        let job = cluster.job("still", "still-still").await?;
        (job != first).then_some(())
    })
    .await
    .unwrap();
    sleeper.signal(Signal::CONT);
    cluster.release("still").await;
    let end = scene.ends(&id).await;
    assert_eq!(end.deployment.status, Status::Completed, "{end:#?}");
    assert_eq!(cluster.standing("still").await.version(), "1.1.0");
    let revisions = cluster.revisions("still", "still").await;
    assert_eq!(revisions.len(), 2, "one revision for each version: {revisions:?}");
    // Whoever woke up does nothing more, and ends in order.
    assert_eq!(sleeper.stop().await.code(), Some(0));
    assert_eq!(cluster.revisions("still", "still").await, revisions);
    scene.close().await;
}
