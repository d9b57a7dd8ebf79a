//! What becomes of a turn that fails.

use std::time::Duration;

use serde_json::json;
use slipway_runtime::controller::{ControllerSpec, Outcome};
use slipway_runtime::error::Error;
use slipway_runtime::queue::Backoff;
use slipway_testkit::until;

use crate::scripted::{Scripted, Turns};
use crate::workshop::{PATIENCE, Workshop, scrape};

/// A period that brings many looks within a test.
const OFTEN: Duration = Duration::from_millis(50);

#[tokio::test]
async fn an_object_that_does_not_fit_its_type_is_told_and_skipped_until_it_is_mended() {
    let workshop = Workshop::new("undecodable").await;
    let turns = Turns::default();
    let controller = ControllerSpec::new(Scripted::content(&turns)).finalizer("example.test/hold");
    let _operator = workshop.start(controller).await;
    workshop.put("bad", json!({"size": "huge"})).await;
    workshop.put("worse", json!({"size": {}})).await;
    workshop.put("good", json!({"size": 1})).await;

    turns.reach("good", 1).await;
    let note = workshop.hear("bad", "Undecodable").await;
    assert!(note.contains("huge") && note.contains("until it changes"), "{note}");
    let ready = until("the condition", PATIENCE, || workshop.ready("bad")).await.unwrap();
    assert_eq!((&ready["status"], &ready["reason"]), (&json!("False"), &json!("Undecodable")));
    assert_eq!(turns.of("bad"), 0);

    // What was never worked on need not be cleaned up: it goes when it is told to.
    workshop.hear("worse", "Undecodable").await;
    workshop.delete("worse").await;
    workshop.gone("worse").await;

    workshop.change("bad", json!({"spec": {"size": 2}})).await;
    turns.reach("bad", 1).await;
}

#[tokio::test]
async fn a_permanent_error_waits_for_a_change_of_the_object() {
    let workshop = Workshop::new("permanent").await;
    let turns = Turns::default();
    let script = Scripted::new(&turns, |widget, _| match widget.spec.size {
        ..0 => Err(Error::permanent(format!("spec.size is {}; it must not be negative", widget.spec.size))),
        _ => Ok(Outcome::done()),
    });
    let _operator = workshop.start(ControllerSpec::new(script).resync(OFTEN)).await;
    workshop.put("small", json!({"size": -1})).await;
    turns.reach("small", 1).await;
    workshop.put("other", json!({"size": 1})).await;
    turns.reach("other", 5).await;
    assert_eq!(turns.of("small"), 1, "looks at everything leave it alone");

    // Another error of the same kind is told too, although nobody comes back to it.
    workshop.change("small", json!({"spec": {"size": -2}})).await;
    until("the new words", PATIENCE, || async {
        let ready = workshop.ready("small").await?;
        ready["message"].as_str()?.contains("spec.size is -2").then_some(())
    })
    .await
    .unwrap();
    let looked = turns.of("other");
    turns.reach("other", looked + 5).await;
    assert_eq!(turns.of("small"), 2);

    // One that went and comes back under its name is a new one.
    workshop.delete("small").await;
    workshop.gone("small").await;
    workshop.put("small", json!({"size": 3})).await;
    turns.reach("small", 3).await;
}

#[tokio::test]
async fn a_failing_object_is_tried_again_by_its_backoff_and_then_at_the_slow_pace() {
    let workshop = Workshop::new("backoff").await;
    let turns = Turns::default();
    let script = Scripted::new(&turns, |widget, _| match widget.spec.size {
        0 => Err(Error::transient("the mould is not warm")),
        _ => Ok(Outcome::done().again_after(OFTEN)),
    });
    let hour = Duration::from_hours(1);
    let controller = ControllerSpec::new(script).backoff(Backoff::new(OFTEN, 3, hour)).resync(OFTEN);
    let operator = workshop.start(controller).await;
    workshop.put("failing", json!({"size": 0})).await;
    turns.reach("failing", 4).await;
    workshop.put("other", json!({"size": 1})).await;
    turns.reach("other", 20).await;
    assert_eq!(turns.of("failing"), 4, "one turn, three quick ones after it, and then a long wait");
    assert_eq!(scrape(&operator).value("workqueue_retries_total", &[]), Some(4.0));
    assert_eq!(workshop.hear("failing", "ReconciliationFailed").await, "the mould is not warm");

    workshop.change("failing", json!({"metadata": {"labels": {"warm": "yes"}}})).await;
    turns.reach("failing", 5).await;
    workshop.change("failing", json!({"spec": {"size": 1}})).await;
    turns.reach("failing", 8).await;
}

#[tokio::test]
async fn a_panic_fails_the_turn_and_nothing_else() {
    let workshop = Workshop::new("panic").await;
    let turns = Turns::default();
    let script = Scripted::new(&turns, |widget, _| {
        assert_ne!(widget.spec.size, 0, "no size");
        Ok(Outcome::done())
    });
    let script = script.on_failure(|| panic!("and no word for it either"));
    let controller =
        ControllerSpec::new(script).concurrency(1).backoff(Backoff::new(OFTEN, 2, Duration::from_hours(1)));
    let _operator = workshop.start(controller).await;
    workshop.put("fragile", json!({"size": 0})).await;
    turns.reach("fragile", 3).await;
    let note = workshop.hear("fragile", "Panicked").await;
    assert!(note.contains("no size"), "{note}");
    workshop.put("sturdy", json!({"size": 1})).await;
    turns.reach("sturdy", 1).await;
}
