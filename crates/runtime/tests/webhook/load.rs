//! Certificates change under load, and nobody notices.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kube::Client;
use kube::api::PostParams;
use serde_json::json;
use slipway_runtime::webhook::{RunningWebhooks, Schedule};
use slipway_testkit::{ControlPlane, until};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior};

use crate::boats::{NAME, PATIENCE, boat, boats, carried, define, replica, secret, set, target, until_ready};
use crate::server::shown;

/// Everything that takes months otherwise.
const HASTE: Schedule = Schedule {
    authority: Duration::from_secs(20),
    leaf: Duration::from_secs(6),
    visible_after: Duration::from_secs(2),
    look_every: Duration::from_millis(200),
};

/// 50 dry-run creations a second, until dropped.
struct Load {
    asked: Arc<AtomicU32>,
    failures: Arc<std::sync::Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Load {
    fn start(client: &Client) -> Self {
        let (asked, failures) = (Arc::new(AtomicU32::new(0)), Arc::default());
        let task = tokio::spawn(Self::run(boats(client, "v1"), Arc::clone(&asked), Arc::clone(&failures)));
        Self { asked, failures, task }
    }

    async fn run(
        boats: kube::Api<kube::api::DynamicObject>,
        asked: Arc<AtomicU32>,
        failures: Arc<std::sync::Mutex<Vec<String>>>,
    ) {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let probe = boat("v1", "probe", &json!({"crew": 3}));
        let mut requests = JoinSet::new();
        loop {
            ticks.tick().await;
            while requests.try_join_next().is_some() {}
            let (boats, dry_run, probe) = (boats.clone(), dry_run.clone(), probe.clone());
            let (asked, failures) = (Arc::clone(&asked), Arc::clone(&failures));
            requests.spawn(async move {
                asked.fetch_add(1, Ordering::Relaxed);
                match boats.create(&dry_run, &probe).await {
                    Ok(made) if made.metadata.finalizers.is_some() => {}
                    Ok(_) => failures.lock().unwrap().push("the mutator was not asked".to_owned()),
                    Err(error) => failures.lock().unwrap().push(error.to_string()),
                }
            });
        }
    }

    fn failures(&self) -> Vec<String> {
        self.failures.lock().unwrap().clone()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Two replicas, one called for validation and one for mutation, so that both are under load.
async fn register(client: &Client, replicas: &[RunningWebhooks; 2]) {
    define(client, None).await;
    let [first, second] = replicas;
    let validating = set().configurations(NAME, &target(first)).validating;
    let mutating = set().configurations(NAME, &target(second)).mutating;
    let both = slipway_runtime::webhook::Configurations { validating, mutating };
    both.with_bundle(&first.bundle().unwrap()).apply(client, "boats").await.unwrap();
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    until("both replicas to be called", PATIENCE, async || {
        let made =
            boats(client, "v1").create(&dry_run, &boat("v1", "probe", &json!({"crew": 3}))).await.ok()?;
        let refused = boats(client, "v1").create(&dry_run, &boat("v1", "probe", &json!({"crew": 0}))).await;
        (made.metadata.finalizers.is_some() && refused.is_err()).then_some(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_rotation_that_one_replica_began_is_finished_by_another() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let first = replica(&client, HASTE).await;
    until_ready(&first).await;
    let before = secret(&client).await.data.unwrap()["ca.crt"].0.clone();
    until("the next authority", PATIENCE, async || {
        secret(&client).await.data.unwrap().contains_key("next-ca.crt").then_some(())
    })
    .await
    .unwrap();
    let next = secret(&client).await.data.unwrap()["next-ca.crt"].0.clone();
    drop(first);

    let second = replica(&client, HASTE).await;
    let after = until("the end of the rotation", PATIENCE, async || {
        let data = secret(&client).await.data.unwrap();
        (data["ca.crt"].0 != before && data.len() == 2).then_some(data)
    })
    .await
    .unwrap();
    assert_eq!(after["ca.crt"].0, next);
    until("the bundle to be the new authority alone", PATIENCE, async || {
        (second.bundle().unwrap().into_bytes() == next).then_some(())
    })
    .await
    .unwrap();
    shown(second.local_addr(), &second.bundle().unwrap()).await.unwrap();
}

/// What a client sees that connects anew with the bundle that is registered now.
async fn fresh_look(client: &Client, kind: &str, address: SocketAddr) -> Result<Vec<u8>, String> {
    let bundle = carried(client, kind, NAME).await.ok_or("no bundle is registered")?;
    shown(address, &bundle).await.map_err(|error| format!("{error:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_and_authorities_change_under_load_without_one_failure() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let replicas = [replica(&client, HASTE).await, replica(&client, HASTE).await];
    for replica in &replicas {
        until_ready(replica).await;
    }
    register(&client, &replicas).await;

    let load = Load::start(&client);
    let (mut authorities, mut leaves) = (BTreeSet::new(), BTreeSet::new());
    let started = Instant::now();
    loop {
        let stored = secret(&client).await.data.unwrap();
        authorities.insert(stored["ca.crt"].0.clone());
        for (kind, replica) in
            ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"].iter().zip(&replicas)
        {
            leaves.insert(fresh_look(&client, kind, replica.local_addr()).await.unwrap());
            assert!(replica.ready());
        }
        assert_eq!(load.failures(), Vec::<String>::new());
        // Two rotations are complete once a third authority signs and is the only one.
        if authorities.len() >= 3 && stored.len() == 2 {
            break;
        }
        assert!(started.elapsed() < 2 * PATIENCE, "only {} authorities so far", authorities.len());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(load.failures(), Vec::<String>::new());
    let (asked, seconds) = (load.asked.load(Ordering::Relaxed), started.elapsed().as_secs_f64());
    println!(
        "{asked} requests in {seconds:.1} s, {} certificates of {} authorities",
        leaves.len(),
        authorities.len()
    );
    assert!(f64::from(asked) > 25.0 * seconds, "only {asked} requests in {seconds:.0} s");
    assert!(leaves.len() >= 10, "only {} certificates were seen", leaves.len());
}
