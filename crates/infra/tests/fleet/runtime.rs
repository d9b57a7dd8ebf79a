//! An operator that installs and changes CRDs itself, once it runs.

use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use slipway_domain::rollout::{Found, Outcome, StepKind};
use slipway_orchestrator::ports::Fleet as _;
use slipway_orchestrator::ports::fleet::Definitions;
use slipway_testkit::{Program, until};

use crate::dock::{CRD, Dock, MINUTE, chart, definition, released};

fn rafts() -> Value {
    let mut crd = definition(&["planks"]);
    crd["metadata"]["name"] = "rafts.sea.dev".into();
    crd["spec"]["names"] =
        json!({"plural": "rafts", "singular": "raft", "kind": "Raft", "listKind": "RaftList"});
    crd
}

async fn make(dock: &Dock, crd: &Value) {
    dock.crds().create(&PostParams::default(), &serde_json::from_value(crd.clone()).unwrap()).await.unwrap();
}

async fn change(dock: &Dock, crd: &Value) {
    let how = PatchParams { field_manager: Some("boats-operator".to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({"spec": {"versions": crd["spec"]["versions"]}}));
    dock.crds().patch(CRD, &how, &patch).await.unwrap();
}

#[tokio::test]
async fn crds_that_an_operator_makes_or_changes_when_it_runs_are_seen_judged_and_known_to_whoever_goes_back()
{
    let dock = Dock::open(Program::Helm4).await;
    dock.install(&chart("1.0.0").build().unwrap()).await;
    make(&dock, &definition(&["sails", "keels"])).await;
    dock.launch("one").await;
    let subject = dock.subject(&chart("1.1.0").build().unwrap());
    let kept = dock.snapshot(&subject).await;
    let acted = dock.fleet.act(&Dock::step(&subject, StepKind::Crds, Some(&kept))).await;
    assert_eq!(acted.outcome, Outcome::Done(Found::Nothing));
    let snapshot = acted.snapshot.unwrap();
    released(&dock.act(&subject, StepKind::Release, Some(&snapshot)).await);
    let look = async || dock.fleet.definitions(&subject, &snapshot).await.unwrap();
    assert_eq!(look().await, Definitions::default(), "nothing happened");

    // The controller starts: a new kind comes, and a field to an old one.
    make(&dock, &rafts()).await;
    change(&dock, &definition(&["sails", "keels", "masts"])).await;
    let found = look().await;
    assert_eq!(
        found.changed,
        ["CRD rafts.sea.dev was made at run time", "CRD boats.sea.dev was changed at run time"]
    );
    assert_eq!(found.broken, Vec::<String>::new());
    // Somebody who applies them again on the way does not make it forgotten.
    let again =
        dock.fleet.act(&Dock::step(&subject, StepKind::Crds, Some(&snapshot))).await.snapshot.unwrap();
    assert_eq!(dock.fleet.definitions(&subject, &again).await.unwrap(), found);

    // A rule that the boat breaks.
    let mut strict = definition(&["sails", "keels"]);
    strict["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["sails"] =
        json!({"type": "integer", "minimum": 3});
    change(&dock, &strict).await;
    let broken = look().await.broken;
    assert!(broken.len() == 1 && broken[0].contains("refuses 1 objects that are there"), "{broken:?}");
    assert!(broken[0].contains("Boat default/one"), "{broken:?}");

    // A field that the boat has is gone.
    change(&dock, &definition(&["keels"])).await;
    let broken = until("the new definition to be read by", MINUTE, async || {
        let broken = look().await.broken;
        (!broken.is_empty()).then_some(broken)
    })
    .await
    .unwrap();
    assert!(broken[0].contains("spec.sails") && broken[0].contains("Boat default/one"), "{broken:?}");

    let outcome = dock.act(&subject, StepKind::ReturnCrds, Some(&snapshot)).await;
    let Outcome::Done(Found::Noted(text)) = outcome else { panic!("{outcome:?}") };
    assert!(text.contains("CRDs that were not there before stay: rafts.sea.dev"), "{text}");
}
