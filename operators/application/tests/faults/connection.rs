//! The API server goes away, forgets, or cannot be reached.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use kube::api::DeleteParams;
use serde_json::{Value, json};
use slipway_testkit::ControlPlane;

use crate::fleet::{Fleet, names, operator, unattended};
use crate::proxy::Proxy;
use crate::running::{Running, alone, config};

#[tokio::test]
async fn an_api_server_that_is_killed_and_comes_back_costs_nothing_but_time() {
    let plane = ControlPlane::builder().nodes(2).own_etcd().start().await.unwrap();
    let mut running = unattended(plane).await;
    running.operator = Some(operator(config(&running.plane).await, alone()).await);
    let mut fleet = Fleet::default();
    fleet.create(&running, names(0..8)).await;
    let before = fleet.settled(&running).await.uids();

    // Once while it is asked for much, and once more in the middle of the work.
    for (new, image) in [(8..11, "nginx:2"), (11..14, "nginx:3")] {
        let work = async {
            fleet.create(&running, names(new)).await;
            for name in names(0..4) {
                fleet.change(&running, &name, image, 3).await;
            }
        };
        let restart = async {
            running.plane.kill("kube-apiserver").await.unwrap();
            running.plane.start_part("kube-apiserver").await.unwrap();
        };
        tokio::join!(work, restart);
    }
    let world = fleet.settled(&running).await;

    let after = world.uids();
    assert_eq!(after.len(), 14 * 4);
    for (child, uid) in before {
        assert_eq!(after[&child], uid, "{child:?} was made anew");
    }
    for (name, revisions) in fleet.revisions(&running).await {
        let most = if names(0..4).any(|changed| changed == name) { 3 } else { 1 };
        assert!(revisions <= most, "{name} was rolled out {revisions} times");
    }
}

/// Has etcd forget all revisions but the present one.
async fn compact(plane: &ControlPlane) {
    let ask = async |path: &str, body: Value| -> Value {
        let url = format!("{}/v3/kv/{path}", plane.info().etcd);
        let reply = reqwest::Client::new().post(url).body(body.to_string()).send().await.unwrap();
        let text = reply.error_for_status().unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap()
    };
    // Any key will do, here `/` in base64: every answer names the revision.
    let read = ask("range", json!({"key": "Lw=="})).await;
    ask("compaction", json!({"revision": read["header"]["revision"], "physical": true})).await;
}

fn lists(running: &Running) -> f64 {
    let labels = [("verb", "list"), ("resource", "applications")];
    running.scrape().value("rest_client_requests_total", &labels).unwrap_or_default()
}

#[tokio::test]
async fn a_watch_whose_past_was_compacted_away_starts_over_and_misses_nothing() {
    let plane = ControlPlane::builder().nodes(2).own_etcd().start().await.unwrap();
    let mut running = unattended(plane).await;
    let direct = config(&running.plane).await;
    let proxy = Proxy::to(&direct).await;
    running.operator = Some(operator(proxy.config(direct), alone()).await);
    let mut fleet = Fleet::default();
    fleet.create(&running, names(0..10)).await;
    let before = fleet.settled(&running).await.uids();
    let listed = lists(&running);

    proxy.shut();
    for name in names(0..4) {
        fleet.change(&running, &name, "nginx:2", 1).await;
    }
    for name in names(4..6) {
        fleet.delete(&running, &name).await;
    }
    running.of::<Service>().delete("web-07", &DeleteParams::default()).await.unwrap();
    fleet.create(&running, names(10..13)).await;
    compact(&running.plane).await;
    // Its cache of what happened last would otherwise still know.
    running.plane.kill("kube-apiserver").await.unwrap();
    running.plane.start_part("kube-apiserver").await.unwrap();
    proxy.open();

    let after = fleet.settled(&running).await.uids();
    assert!(lists(&running) > listed, "the watch went on as if nothing had been forgotten");
    for (child, uid) in after {
        if let Some(known) = before.get(&child) {
            let replaced = child == ("Service".to_owned(), "web-07".to_owned());
            assert_eq!(*known != uid, replaced, "{child:?}");
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_cut_again_and_again_loses_and_doubles_nothing() {
    let mut running = unattended(ControlPlane::builder().nodes(2).start().await.unwrap()).await;
    let direct = config(&running.plane).await;
    let proxy = Proxy::to(&direct).await;
    running.operator = Some(operator(proxy.config(direct), alone()).await);
    let mut fleet = Fleet::default();
    let work = async {
        fleet.create(&running, names(0..12)).await;
        for name in names(0..6) {
            fleet.change(&running, &name, "nginx:2", 3).await;
        }
    };
    let cutting = async {
        let mut beat = tokio::time::interval(Duration::from_millis(300));
        for _ in 0..20 {
            beat.tick().await;
            proxy.cut();
        }
    };
    tokio::join!(work, cutting);
    let world = fleet.settled(&running).await;
    assert_eq!(world.children.len(), 12 * 4);
    for (name, revisions) in fleet.revisions(&running).await {
        assert!(revisions <= 2, "{name} was rolled out {revisions} times");
    }
    let created = [("verb", "create"), ("code", "201"), ("resource", "deployments")];
    let created = running.scrape().value("rest_client_requests_total", &created).unwrap_or_default();
    assert!(created <= 12.0, "{created} Deployments were made for 12 Applications");
}
