//! What is kept from going until it was cleaned up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use slipway_runtime::controller::ControllerSpec;
use slipway_runtime::error::Error;
use slipway_runtime::queue::Backoff;

use crate::scripted::{Scripted, Turns};
use crate::workshop::Workshop;

const FINALIZER: &str = "example.test/hold";

#[tokio::test]
async fn a_cleanup_is_tried_until_it_succeeds_whichever_process_does_it() {
    let workshop = Workshop::new("cleanup").await;
    let (turns, cleanups) = (Turns::default(), Turns::default());
    let possible = Arc::new(AtomicBool::new(false));
    let controller = || {
        let possible = Arc::clone(&possible);
        let script = Scripted::content(&turns).cleaning(&cleanups, move |_| {
            if possible.load(Ordering::SeqCst) { Ok(()) } else { Err(Error::transient("the bin is full")) }
        });
        let backoff = Backoff::new(Duration::from_millis(20), 3, Duration::from_millis(100));
        ControllerSpec::new(script).finalizer(FINALIZER).backoff(backoff)
    };
    let operator = workshop.start(controller()).await;
    workshop.put("a", json!({"size": 1})).await;
    turns.reach("a", 1).await;
    let kept = workshop.look("a").await.unwrap();
    assert_eq!(kept.metadata.finalizers, Some(vec![FINALIZER.to_owned()]));

    workshop.delete("a").await;
    cleanups.reach("a", 5).await;
    assert_eq!(workshop.hear("a", "ReconciliationFailed").await, "the bin is full");
    assert!(workshop.look("a").await.is_some(), "it is kept as long as it was not cleaned up");
    let reconciled = turns.of("a");
    operator.stop().await;

    let before = cleanups.of("a");
    let _operator = workshop.start(controller()).await;
    cleanups.reach("a", before + 2).await;
    possible.store(true, Ordering::SeqCst);
    workshop.gone("a").await;
    assert_eq!(turns.of("a"), reconciled, "what goes is not reconciled any more");
}

#[tokio::test]
async fn finalizers_of_others_are_left_alone() {
    let workshop = Workshop::new("finalizers").await;
    let turns = Turns::default();
    let controller = ControllerSpec::new(Scripted::content(&turns)).finalizer(FINALIZER);
    let _operator = workshop.start(controller).await;
    workshop
        .put_kind::<crate::workshop::Widget>(
            json!({"name": "a", "finalizers": ["example.test/other"]}),
            json!({"size": 1}),
        )
        .await;
    turns.reach("a", 1).await;
    workshop.delete("a").await;
    slipway_testkit::until("our finalizer to go", crate::workshop::PATIENCE, || async {
        let finalizers = workshop.look("a").await?.metadata.finalizers?;
        (finalizers == ["example.test/other"]).then_some(())
    })
    .await
    .unwrap();
    workshop.change("a", json!({"metadata": {"finalizers": null}})).await;
    workshop.gone("a").await;
}
