//! CRDs after the controller went back.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slipway_domain::rollout::{Found, Outcome, StepKind};
use slipway_orchestrator::ports::Fleet as _;
use slipway_orchestrator::ports::fleet::{Snapshot, Subject};

use crate::harbour::{CRD, Harbour, chart, definition, versions};

fn snapshot(crd: &Value) -> Snapshot {
    Snapshot { crds: BTreeMap::from([(CRD.to_owned(), crd.clone())]), ..Snapshot::default() }
}

async fn back(harbour: &Harbour, subject: &Subject, crd: &Value, down: bool) -> Option<String> {
    let mut act = Harbour::step(subject, StepKind::ReturnCrds, Some(snapshot(crd)));
    act.down_migrate = down;
    match harbour.fleet.act(&act).await.outcome {
        Outcome::Done(Found::Nothing) => None,
        Outcome::Done(Found::Noted(note)) => Some(note),
        other => panic!("{other:?}"),
    }
}

fn knows(crd: &Value, field: &str) -> bool {
    let path = format!("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/{field}");
    crd.pointer(&path).is_some()
}

#[tokio::test]
async fn a_definition_goes_back_where_no_object_minds_and_stays_where_one_does() {
    let harbour = Harbour::open().await;
    let old = definition(&json!({"sails": {"type": "integer", "maximum": 9}}));
    harbour.define(&old, "slipway").await;
    let new = definition(&json!({"sails": {"type": "integer"}, "keel": {"type": "string"}}));
    let subject = harbour.subject(&chart("1.1.0", Some(&new)).build().unwrap(), "1.1.0");
    harbour.apply_crds(&subject).await;
    assert!(knows(&harbour.crd().await, "keel"));

    // A value that only the newer one takes.
    harbour.launch("wide", &json!({"sails": 12})).await;
    let note = back(&harbour, &subject, &old, true).await.expect("it stays");
    assert!(note.contains("would refuse Boat default/wide"), "{note}");
    assert!(knows(&harbour.crd().await, "keel"));
    harbour.boats("v1").delete("wide", &kube::api::DeleteParams::default()).await.unwrap();

    // A field that only the newer one has: kept, unless somebody allows to rewrite it.
    harbour.launch("deep", &json!({"sails": 2, "keel": "oak"})).await;
    let note = back(&harbour, &subject, &old, false).await.expect("it stays");
    assert!(note.contains("fields would be lost of Boat default/deep"), "{note}");
    assert!(knows(&harbour.crd().await, "keel"));
    let note = back(&harbour, &subject, &old, true).await.expect("it says what was lost");
    assert!(note.contains("Boat default/deep"), "{note}");
    assert!(!knows(&harbour.crd().await, "keel"));

    // Once more it is as it has to be.
    assert_eq!(back(&harbour, &subject, &old, true).await, None);
    harbour.apply_crds(&subject).await;
    harbour.boats("v1").delete("deep", &kube::api::DeleteParams::default()).await.unwrap();
    harbour.launch("small", &json!({"sails": 1})).await;
    assert_eq!(back(&harbour, &subject, &old, false).await, None, "nobody minds");
    assert!(!knows(&harbour.crd().await, "keel"));
}

#[tokio::test]
async fn a_definition_that_the_operator_holds_itself_stays_and_is_told() {
    let harbour = Harbour::open().await;
    let old = definition(&json!({"sails": {"type": "integer"}}));
    let new = definition(&json!({"sails": {"type": "integer"}, "keel": {"type": "string"}}));
    harbour.define(&new, "boats-operator").await;
    let subject = harbour.subject(&chart("1.1.0", None).build().unwrap(), "1.1.0");
    let note = back(&harbour, &subject, &old, false).await.expect("it stays");
    assert!(note.contains("stays as it is") && note.contains("boats-operator holds"), "{note}");
}

#[tokio::test]
async fn a_version_that_is_stored_is_given_up_after_objects_were_rewritten() {
    let harbour = Harbour::open().await;
    let spec = json!({"sails": {"type": "integer"}});
    let old = definition(&spec);
    harbour.define(&old, "slipway").await;
    harbour.launch("first", &json!({"sails": 1})).await;
    let new = versions(&[("v1", false, &spec), ("v2", true, &spec)]);
    let subject = harbour.subject(&chart("1.1.0", Some(&new)).build().unwrap(), "1.1.0");
    harbour.apply_crds(&subject).await;
    harbour.launch("second", &json!({"sails": 2})).await;
    assert_eq!(harbour.crd().await["status"]["storedVersions"], json!(["v1", "v2"]));

    let note = back(&harbour, &subject, &old, false).await.expect("it stays");
    assert!(note.contains("stored as v2"), "{note}");
    let note = back(&harbour, &subject, &old, true).await.expect("it says so");
    assert!(note.contains("stored as v1 again"), "{note}");
    let crd = harbour.crd().await;
    assert_eq!(crd["status"]["storedVersions"], json!(["v1"]));
    assert_eq!(crd["spec"]["versions"].as_array().unwrap().len(), 1);
    harbour.served().await;
    for (name, sails) in [("first", 1), ("second", 2)] {
        assert_eq!(harbour.boats("v1").get(name).await.unwrap().data["spec"]["sails"], sails);
    }
}

#[tokio::test]
async fn custom_resources_are_compared_with_the_snapshot() {
    let harbour = Harbour::open().await;
    let crd = definition(&json!({"sails": {"type": "integer"}}));
    harbour.define(&crd, "slipway").await;
    for name in ["mended", "sunk", "same"] {
        harbour.launch(name, &json!({"sails": 1})).await;
    }
    let subject = harbour.subject(&chart("1.1.0", Some(&crd)).build().unwrap(), "1.1.0");
    let kept = harbour.act(&subject, StepKind::Snapshot, None).await.snapshot.expect("it is kept");
    let outcome = harbour.act(&subject, StepKind::ReturnCrds, Some(kept.clone())).await.outcome;
    assert_eq!(outcome, Outcome::Done(Found::Nothing), "nothing changed yet");
    harbour.boats("v1").delete("sunk", &kube::api::DeleteParams::default()).await.unwrap();
    let patch = kube::api::Patch::Merge(json!({"spec": {"sails": 2}}));
    harbour.boats("v1").patch("mended", &kube::api::PatchParams::default(), &patch).await.unwrap();
    let outcome = harbour.act(&subject, StepKind::ReturnCrds, Some(kept)).await.outcome;
    let Outcome::Done(Found::Noted(note)) = outcome else { panic!("{outcome:?}") };
    assert!(note.contains("gone since the snapshot: Boat default/sunk"), "{note}");
    assert!(!note.contains("same"), "{note}");
    assert!(note.contains("another spec than in the snapshot: Boat default/mended"), "{note}");
}
