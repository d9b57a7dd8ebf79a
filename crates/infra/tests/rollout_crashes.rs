//! Servers that are lost in the middle of rollouts, on a real PostgreSQL with simulated clusters.
//!
//! Each plan is run once without a fault. Then it is run again for every place at which a server can be lost:
//! killed there, or stopped there and woken after another took over. Every run has to end as the first one did,
//! with every cluster in the same state, down to the acts that made its revisions. A case that fails says how to
//! run it alone.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "rollout_crashes/case.rs"]
mod case;
#[path = "rollout_crashes/driver.rs"]
mod driver;
#[path = "rollout_crashes/ledger.rs"]
mod ledger;
#[path = "rollout_crashes/plans.rs"]
mod plans;
#[path = "rollout_crashes/site.rs"]
mod site;
mod support;
#[path = "rollout_crashes/world.rs"]
mod world;

use case::{Fault, Place, When};
use driver::Driver;
use plans::{CLUSTERS, PLANS, Plan};

/// Runs a plan without a fault, and then with each of those that are made of the places it comes by.
async fn compare(plan: Plan, faults: impl Fn(&Place) -> Vec<Fault>) {
    let driver = Driver::start().await;
    let calm = driver.run(plan, [Fault::None]).await.remove(0);
    assert!(calm.faults.is_empty(), "{plan:?} without a fault: {:#?}", calm.faults);
    assert_eq!(calm.status, plan.ends(), "{plan:?} without a fault: {calm:#?}");
    let mut wanted = vec![Fault::Twice];
    wanted.extend(calm.places.iter().flat_map(faults));
    if let Ok(only) = std::env::var("SLIPWAY_CRASH") {
        wanted.retain(|fault| fault.to_string() == only);
        assert!(!wanted.is_empty(), "{plan:?} has no case {only:?}");
    }
    let count = wanted.len();
    for ended in driver.run(plan, wanted).await {
        let again = format!(
            "\n{plan:?}, {fault}: run it alone with\nSLIPWAY_CRASH='{fault}' cargo test --workspace --test \
             rollout_crashes -- {test}",
            fault = ended.fault,
            test = std::thread::current().name().unwrap_or_default(),
        );
        assert!(ended.faults.is_empty(), "{:#?}{again}", ended.faults);
        assert!(ended.happened, "the fault never came{again}");
        assert_eq!(ended.status, calm.status, "{again}");
        assert_eq!(ended.sites, calm.sites, "{again}");
        assert_eq!(ended.clusters, calm.clusters, "{again}");
        assert_eq!(ended.steps, calm.steps, "{again}");
    }
    println!("{plan:?}: {count} faults, each ended as {} like the run without one", calm.status);
}

/// Runs a plan on servers with their runners, each of which is killed after a step.
async fn hunt(plan: Plan) {
    let driver = Driver::start().await;
    let calm = driver.run(plan, [Fault::None]).await.remove(0);
    let (ended, servers) = driver.run_servers(plan).await;
    assert!(ended.faults.is_empty(), "{plan:?}: {:#?}", ended.faults);
    // Two that end a step in the same moment are killed together.
    assert!((3..=calm.steps.len() + 1).contains(&servers), "{plan:?}: {servers} servers");
    assert_eq!(ended.sites, calm.sites, "{plan:?}");
    assert_eq!((ended.status, ended.clusters), (calm.status, calm.clusters), "{plan:?}");
    assert_eq!(ended.steps, calm.steps, "{plan:?}");
}

/// Steps and intents of the cluster on which a version fails, and what is about no cluster: stopping costs more,
/// and the other cluster's steps are the same.
fn counts(place: &Place) -> bool {
    !place.what.contains(CLUSTERS[0])
}

/// Killed after every step, before its outcome is recorded and after; and after a decision is committed.
fn killed(place: &Place) -> Vec<Fault> {
    let there = match place.when {
        When::Acted | When::Recorded => true,
        When::Committed => counts(place),
        When::Claimed | When::Begun | When::Decided => false,
    };
    there.then(|| Fault::Kill(place.clone())).into_iter().collect()
}

/// Stopped while a claim is held, and woken after another server did the same work.
fn stopped(place: &Place) -> Vec<Fault> {
    let there = match place.when {
        When::Claimed | When::Begun | When::Acted | When::Decided => counts(place),
        When::Recorded | When::Committed => false,
    };
    there.then(|| Fault::Stop(place.clone())).into_iter().collect()
}

macro_rules! each {
    ($($name:ident: $plan:expr),+ $(,)?) => {
        mod a_server_that_is_killed_changes_nothing {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                compare($plan, killed).await;
            })+
        }

        mod servers_that_are_killed_one_after_the_other_change_nothing {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                hunt($plan).await;
            })+
        }

        mod a_server_that_was_stopped_and_wakes_changes_nothing {
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                compare($plan, stopped).await;
            })+
        }
    };
}

each! {
    direct: PLANS[0],
    direct_failing: PLANS[1],
    canary: PLANS[2],
    canary_failing: PLANS[3],
    rolling: PLANS[4],
    rolling_failing: PLANS[5],
    blue_green: PLANS[6],
    blue_green_failing: PLANS[7],
}
