//! A candidate in a process of its own, which tests kill and freeze.
//!
//! It is this test binary again, told by its environment to be a candidate. While it leads, it writes
//! its name into a `ConfigMap` through a fenced client, again and again, with no precondition: only the
//! fence keeps it from doing so when it does not lead.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Config};
use serde_json::json;
use slipway_runtime::client::{ClientOptions, Clients, is_not_leader};
use slipway_runtime::leader::LeaderElection;
use slipway_testkit::Part;
use tokio::signal::unix::{SignalKind, signal};

use super::place::Place;

const WRITES_BEFORE_REST: u32 = 20;
pub(crate) const REST: Duration = Duration::from_secs(4);

/// A running candidate.
pub(crate) struct Candidate {
    pub(crate) part: Part,
    identity: String,
}

impl Candidate {
    /// Who it is in the Lease.
    pub(crate) fn name(&self) -> &str {
        &self.identity
    }
}

/// Starts a candidate of this name, with this rhythm in milliseconds: duration, deadline, retry.
pub(crate) fn start(place: &Place, identity: &str, rhythm: [u64; 3]) -> Candidate {
    start_with(place, identity, rhythm, u32::MAX)
}

/// Starts one that says so and rests after its first writes, for a test that freezes it between two.
pub(crate) fn start_to_rest(place: &Place, identity: &str, rhythm: [u64; 3]) -> Candidate {
    start_with(place, identity, rhythm, WRITES_BEFORE_REST)
}

fn start_with(place: &Place, identity: &str, rhythm: [u64; 3], writes_before_rest: u32) -> Candidate {
    let part = Part::builder(identity, std::env::current_exe().unwrap())
        .args(["--exact", "process::candidate", "--nocapture"])
        .env("CANDIDATE_KUBECONFIG", &place.kubeconfig_file)
        .env("CANDIDATE_LEASE", place.lease)
        .env("CANDIDATE_IDENTITY", identity)
        .env("CANDIDATE_WRITES", writes_before_rest.to_string())
        .env("CANDIDATE_RHYTHM", rhythm.map(|millis| millis.to_string()).join(","))
        .start()
        .unwrap();
    Candidate { part, identity: identity.to_owned() }
}

#[tokio::test]
async fn candidate() {
    // Other tests run it as a process of its own; among the tests it has nothing to do.
    if std::env::var_os("CANDIDATE_KUBECONFIG").is_none() {
        return;
    }
    slipway_testkit::init();
    let setting = |name: &str| std::env::var(format!("CANDIDATE_{name}")).unwrap();
    let kubeconfig = Kubeconfig::read_from(setting("KUBECONFIG")).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let clients = Clients::new(config, ClientOptions::default()).unwrap();
    let rhythm: Vec<_> =
        setting("RHYTHM").split(',').map(|millis| Duration::from_millis(millis.parse().unwrap())).collect();
    let (lease, identity) = (setting("LEASE"), setting("IDENTITY"));
    let (elector, leadership) = LeaderElection::named(&lease)
        .identity(&identity)
        .lease_duration(rhythm[0])
        .renew_deadline(rhythm[1])
        .retry_period(rhythm[2])
        .on_started(|term| println!("leading in term {term}"))
        .on_stopped(|| println!("stopped leading"))
        .start(clients.raw())
        .unwrap();
    let journal = Api::<ConfigMap>::default_namespaced(clients.fenced(&leadership));
    let writes_before_rest = setting("WRITES").parse::<u32>().unwrap();
    let write = async {
        leadership.acquired().await;
        for number in 0_u32.. {
            if number == writes_before_rest {
                println!("resting");
                // Holds the only thread: nothing runs between waking and the next write, not even the
                // elector, so that the clock alone must stop it.
                std::thread::sleep(REST);
            }
            let entry = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": lease},
                "data": {"writer": identity, "number": number.to_string()}});
            match journal.patch(&lease, &PatchParams::apply("candidate").force(), &Patch::Apply(entry)).await
            {
                Ok(_) => {}
                Err(error) if is_not_leader(&error) => {
                    println!("refused {number}");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(error) => println!("failed: {error}"),
            }
        }
    };
    let mut terminated = signal(SignalKind::terminate()).unwrap();
    tokio::select! {
        () = write => {}
        _ = terminated.recv() => elector.release().await,
    }
    println!("ended");
}
