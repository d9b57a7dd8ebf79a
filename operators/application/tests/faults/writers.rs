//! Somebody else writes to the same objects.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use slipway_application_operator::crd::Application;
use slipway_testkit::ControlPlane;

use crate::fleet::{Fleet, names, operator, unattended};
use crate::running::{Running, alone, config};

async fn strike<K>(running: &Running, name: &str, change: Value) -> bool
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let params = PatchParams { field_manager: Some("hammer".into()), ..PatchParams::default() };
    let api: Api<K> = running.of();
    api.patch(name, &params, &Patch::Merge(change)).await.is_ok()
}

/// Writes to everything until it is told to stop; says how often it did.
async fn hammer(running: &Running, stop: &AtomicBool) -> u32 {
    let struck = AtomicU32::new(0);
    for beat in 0_u32.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let label = json!({"metadata": {"labels": {"beat": beat.to_string()}}});
        for name in names(0..10) {
            let blows = [
                strike::<Application>(running, &name, label.clone()).await,
                strike::<Deployment>(running, &name, json!({"spec": {"replicas": 1 + beat % 2}})).await,
                strike::<ConfigMap>(running, &format!("{name}-config"), json!({"data": {"MODE": "no"}}))
                    .await,
                strike::<Service>(running, &name, label.clone()).await,
            ];
            struck.fetch_add(blows.into_iter().map(u32::from).sum(), Ordering::SeqCst);
        }
    }
    struck.into_inner()
}

#[tokio::test]
async fn writers_that_get_in_the_way_are_outlasted_without_haste() {
    let mut running = unattended(ControlPlane::builder().nodes(2).start().await.unwrap()).await;
    let mut settings = alone();
    settings.resync = Some(Duration::from_secs(1));
    running.operator = Some(operator(config(&running.plane).await, settings).await);
    let mut fleet = Fleet::default();
    fleet.create(&running, names(0..10)).await;
    let before = fleet.settled(&running).await.uids();
    let written = running.writes();

    let stop = AtomicBool::new(false);
    let work = async {
        for image in ["nginx:2", "nginx:3", "nginx:4"] {
            for name in names(0..10) {
                fleet.change(&running, &name, image, 2).await;
            }
        }
        // The last word on this one is that it has no budget, and no pod to spare.
        fleet.change(&running, "web-09", "nginx:4", 1).await;
        stop.store(true, Ordering::SeqCst);
    };
    let (struck, ()) = tokio::join!(hammer(&running, &stop), work);
    let after = fleet.settled(&running).await.uids();
    for (child, uid) in &after {
        assert_eq!(before[child], *uid, "{child:?} was made anew");
    }

    // A blow costs a correction, which may have to be tried a few times; no more than that.
    let wrote = running.writes() - written;
    let most = u64::from(struck) * 3 + 30 * 12;
    assert!(wrote <= most, "{wrote} writes against {struck} of somebody else");
    for _ in 0..3 {
        running.next_look().await;
    }
    let quiet = running.writes();
    for _ in 0..3 {
        running.next_look().await;
    }
    assert_eq!(running.writes(), quiet, "there is nothing left to put right");
}
