//! What is shown of an object.

use std::time::Duration;

use serde_json::{Value, json};
use slipway_runtime::conditions::Condition;
use slipway_runtime::controller::{ControllerSpec, Outcome};
use slipway_testkit::until;

use crate::scripted::{Scripted, Turns};
use crate::workshop::{PATIENCE, Workshop, writes};

const LONG_AGO: &str = "2020-01-01T00:00:00Z";

async fn saying(workshop: &Workshop, message: &str) -> Value {
    until(&format!("the condition to say {message:?}"), PATIENCE, || async {
        workshop.ready("a").await.filter(|ready| ready["message"] == message)
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn a_transition_time_moves_with_the_status_of_its_condition_and_with_nothing_else() {
    let workshop = Workshop::new("transition").await;
    let turns = Turns::default();
    let script = Scripted::new(&turns, |widget, _| {
        let said = format!("of size {}", widget.spec.size);
        let ready = match widget.spec.size {
            ..10 => Condition::holds("Ready", "Fits", said),
            _ => Condition::fails("Ready", "TooLarge", said),
        };
        Outcome::done().status(&json!({"conditions": [ready]}))
    });
    workshop.put("a", json!({"size": 1})).await;
    let known =
        json!({"type": "Ready", "status": "True", "message": "as it was", "lastTransitionTime": LONG_AGO});
    workshop.change_status("a", json!({"conditions": [known]})).await;
    let controller =
        ControllerSpec::new(script).status_pace(Duration::ZERO).resync(Duration::from_millis(50));
    let operator = workshop.start(controller).await;

    assert_eq!(saying(&workshop, "of size 1").await["lastTransitionTime"], LONG_AGO);
    workshop.change("a", json!({"spec": {"size": 2}})).await;
    assert_eq!(saying(&workshop, "of size 2").await["lastTransitionTime"], LONG_AGO);
    workshop.change("a", json!({"spec": {"size": 10}})).await;
    let turned = saying(&workshop, "of size 10").await;
    assert_ne!(turned["lastTransitionTime"], LONG_AGO);
    assert_eq!(turned["status"], "False");

    let observed = workshop.look("a").await.unwrap();
    assert_eq!(observed.data["status"]["observedGeneration"], json!(observed.metadata.generation));
    let (written, looked) = (writes(&operator), turns.of("a"));
    turns.reach("a", looked + 3).await;
    assert!((writes(&operator) - written).abs() < 0.5, "a status that says the same is not written");
}
