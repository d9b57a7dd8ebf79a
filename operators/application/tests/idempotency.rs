//! Reconciling any state that can be reached twice equals reconciling it once.
//!
//! Sequences of what people, programs and machines do to an Application are made up from seeds; each runs in
//! a namespace of its own with an operator of its own, all on one control plane. When everything is as it
//! should be, a fresh operator looks at it several times: it must find nothing to write, and change nothing.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "idempotency/action.rs"]
mod action;
#[allow(dead_code, reason = "each file of tests uses its part")]
#[path = "operator/running.rs"]
mod running;
#[path = "idempotency/stage.rs"]
mod stage;
#[allow(dead_code, reason = "each file of tests uses its part")]
#[path = "faults/world.rs"]
mod world;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use slipway_application_operator::crd;
use slipway_runtime::crd::{Conversion, Policy, install};
use slipway_testkit::ControlPlane;
use stage::Stage;
use tokio::task::JoinSet;

/// How many sequences run at a time.
const AT_ONCE: usize = 6;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The seeds to try: the same few each time, or, in a soak, many that change with the round.
fn seeds() -> Range<u64> {
    if number("SLIPWAY_SOAK") == Some(1) {
        let start = 1_000 + number("SLIPWAY_SOAK_ROUND").unwrap_or(0) * 500;
        return start..start + 500;
    }
    match number("SLIPWAY_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..24,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reconciling_any_reachable_state_twice_equals_once() {
    slipway_testkit::init();
    let plane = Arc::new(ControlPlane::builder().nodes(2).start().await.unwrap());
    let client = plane.client().await.unwrap();
    install(client, &crd::definition(Conversion::None).unwrap(), Policy::Safe).await.unwrap();
    let seeds = seeds();
    let next = Arc::new(AtomicU64::new(seeds.start));
    let mut slots = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (plane, next, end) = (Arc::clone(&plane), Arc::clone(&next), seeds.end);
        slots.spawn(async move {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= end {
                    return;
                }
                Stage::set(&plane, seed).await.play().await;
            }
        });
    }
    while let Some(slot) = slots.join_next().await {
        slot.unwrap();
    }
}
