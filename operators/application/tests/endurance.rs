//! Three replicas over a long time: the Lease stays where it is, and memory does not grow.
//!
//! For minutes in `cargo xtask soak`, an hour of it when it is told so; not among the other tests.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use slipway_application_operator::crd::{self, Application};
use slipway_runtime::crd::{Conversion, Policy, install};
use slipway_testkit::{ControlPlane, Part, skipped, until};

const PATIENCE: Duration = Duration::from_mins(3);
/// How many Applications come and go at a time.
const HERD: usize = 25;
/// How much more memory than after the first rounds is too much: room for what an allocator keeps.
const GROWTH: f64 = 1.25;

fn resident(part: &Part) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", part.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_lease_stays_and_memory_does_not_grow() {
    let Some(minutes) = std::env::var("SLIPWAY_SOAK_MINUTES").ok().and_then(|minutes| minutes.parse().ok())
    else {
        return skipped("set SLIPWAY_SOAK_MINUTES, as cargo xtask soak does");
    };
    slipway_testkit::init();
    let plane = ControlPlane::builder().nodes(2).start().await.unwrap();
    let client = plane.client().await.unwrap();
    install(client.clone(), &crd::definition(Conversion::None).unwrap(), Policy::Safe).await.unwrap();
    let replicas: Vec<Part> = ["one", "two", "three"]
        .iter()
        .map(|name| {
            Part::builder(name, env!("CARGO_BIN_EXE_application-operator"))
                .args(["--admin-address", "127.0.0.1:0", "--webhooks=false", "--log-format", "json"])
                .env("KUBECONFIG", plane.kubeconfig_file())
                .env("POD_NAME", name)
                .env("POD_NAMESPACE", "default")
                .start()
                .unwrap()
        })
        .collect();
    let leases: Api<Lease> = Api::namespaced(client.clone(), "default");
    let holder = || async { leases.get("application-operator-leader").await.ok()?.spec?.holder_identity };
    let first = until("a leader", PATIENCE, holder).await.unwrap();

    let apps: Api<Application> = Api::namespaced(client.clone(), "default");
    let end = Instant::now() + Duration::from_mins(minutes);
    let (mut rounds, mut settled) = (0_u32, None);
    while Instant::now() < end || rounds < 4 {
        for number in 0..HERD {
            let app = json!({
                "apiVersion": "cloudnative.elide.dev/v1", "kind": "Application", "metadata": {"name": format!("app-{number}")},
                "spec": {"replicas": 2, "image": "nginx:1.27", "config": {"ROUND": rounds.to_string()}},
            });
            apps.create(&PostParams::default(), &serde_json::from_value(app).unwrap()).await.unwrap();
        }
        for image in ["nginx:1.28", "nginx:1.29"] {
            for number in 0..HERD {
                let change = json!({"spec": {"image": image}});
                apps.patch(&format!("app-{number}"), &PatchParams::default(), &Patch::Merge(change))
                    .await
                    .unwrap();
            }
            until("all to follow", PATIENCE, || async {
                let all = apps.list(&kube::api::ListParams::default()).await.ok()?;
                all.iter()
                    .all(|app| {
                        app.status.as_ref().and_then(|status| status.observed_generation)
                            == app.metadata.generation
                    })
                    .then_some(())
            })
            .await
            .unwrap();
        }
        apps.delete_collection(&DeleteParams::default(), &kube::api::ListParams::default()).await.unwrap();
        until("all to be gone", PATIENCE, || async {
            apps.list(&kube::api::ListParams::default()).await.ok()?.items.is_empty().then_some(())
        })
        .await
        .unwrap();
        rounds += 1;
        let memory: Vec<f64> = replicas.iter().map(resident).collect();
        println!("round {rounds}: {memory:?} KiB");
        match &settled {
            None if rounds == 3 => settled = Some(memory),
            None => {}
            Some(before) => {
                for (before, now) in before.iter().zip(&memory) {
                    assert!(
                        *now <= before * GROWTH,
                        "memory grew from {before} to {now} KiB in {rounds} rounds"
                    );
                }
            }
        }
    }
    assert_eq!(holder().await.as_ref(), Some(&first), "the Lease changed hands without a reason");
}
