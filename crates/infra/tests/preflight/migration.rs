//! Rewriting stored objects.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slipway_domain::rollout::{Found, Outcome, StepKind};
use slipway_orchestrator::ports::Fleet as _;
use slipway_orchestrator::ports::fleet::Snapshot;

use crate::harbour::{CRD, Harbour, chart, definition, versions};

const MINUTE: std::time::Duration = std::time::Duration::from_mins(1);

/// More than one page.
const BOATS: usize = 300;

#[tokio::test]
async fn stored_objects_are_rewritten_and_the_old_version_can_be_given_up() {
    let harbour = Harbour::open().await;
    let spec = json!({"sails": {"type": "integer"}});
    harbour.define(&definition(&spec), "slipway").await;
    for number in 0..BOATS {
        harbour.launch(&format!("boat-{number}"), &json!({"sails": number})).await;
    }
    let new = versions(&[("v1", false, &spec), ("v2", true, &spec)]);
    let subject = harbour.subject(&chart("1.1.0", Some(&new)).build().unwrap(), "1.1.0");
    harbour.apply_crds(&subject).await;
    assert_eq!(harbour.crd().await["status"]["storedVersions"], json!(["v1", "v2"]));

    let kept = Snapshot { crds: BTreeMap::from([(CRD.to_owned(), new.clone())]), ..Snapshot::default() };
    // An attempt whose time is over says where it began, and changes nothing that it did not finish.
    let mut hurried = Harbour::step(&subject, StepKind::Migrate, Some(kept));
    hurried.deadline = hurried.now + jiff::SignedDuration::from_millis(400);
    let first = harbour.fleet.act(&hurried).await;
    assert!(!matches!(first.outcome, Outcome::Done(_)), "{:?}", first.outcome);
    assert_eq!(harbour.crd().await["status"]["storedVersions"], json!(["v1", "v2"]));
    let kept = first.snapshot.expect("it is handed on");
    let since = |kept: &Snapshot| {
        kept.notes.get("migrate").and_then(|note| note.pointer("/boats.sea.dev/since")).cloned()
    };
    let begun: Option<Value> = since(&kept);

    let second = harbour.act(&subject, StepKind::Migrate, Some(kept)).await;
    let Outcome::Done(Found::Noted(note)) = &second.outcome else { panic!("{:?}", second.outcome) };
    assert!(note.starts_with("stored objects that were rewritten: "), "{note}");
    if begun.is_some() {
        assert_eq!(since(&second.snapshot.unwrap()), begun, "it went on from where the first began");
    }
    assert_eq!(harbour.crd().await["status"]["storedVersions"], json!(["v2"]));
    let third = harbour.act(&subject, StepKind::Migrate, None).await;
    assert_eq!(third.outcome, Outcome::Done(Found::Nothing), "nothing is left to be done");

    // Every object is readable once the old version is gone, so none was left in it.
    let only = versions(&[("v2", true, &spec)]);
    let subject = harbour.subject(&chart("1.2.0", Some(&only)).build().unwrap(), "1.2.0");
    assert_eq!(harbour.apply_crds(&subject).await, Outcome::Done(Found::Nothing));
    let all = slipway_testkit::until("v2 alone to be served", MINUTE, async || {
        harbour.boats("v2").list(&kube::api::ListParams::default()).await.ok()
    })
    .await
    .unwrap();
    assert_eq!(all.items.len(), BOATS);
}

#[tokio::test]
async fn what_cannot_be_written_is_named_and_another_attempt_goes_on_from_there() {
    let harbour = Harbour::open().await;
    let spec = json!({"sails": {"type": "integer"}});
    harbour.define(&definition(&spec), "slipway").await;
    for name in ["one", "two", "three", "stuck"] {
        harbour.launch(name, &json!({"sails": 1})).await;
    }
    let new = versions(&[("v1", false, &spec), ("v2", true, &spec)]);
    let subject = harbour.subject(&chart("1.1.0", Some(&new)).build().unwrap(), "1.1.0");
    harbour.apply_crds(&subject).await;
    freeze(&harbour).await;
    let first = harbour.act(&subject, StepKind::Migrate, Some(Snapshot::default())).await;
    let Outcome::Failed { reason } = &first.outcome else { panic!("{:?}", first.outcome) };
    assert!(reason.contains("Boat default/stuck") && reason.contains("the sea is frozen"), "{reason}");
    assert!(!reason.contains("default/one"), "{reason}");
    assert_eq!(harbour.crd().await["status"]["storedVersions"], json!(["v1", "v2"]));

    harbour.client.request::<Value>(thaw()).await.unwrap();
    slipway_testkit::until("the sea to thaw", MINUTE, async || touch(&harbour).await.ok()).await.unwrap();
    let second = harbour.act(&subject, StepKind::Migrate, first.snapshot).await;
    let noted = Found::Noted("stored objects that were rewritten: 1".to_owned());
    assert_eq!(second.outcome, Outcome::Done(noted), "the others were written already");
    assert_eq!(harbour.crd().await["status"]["storedVersions"], json!(["v2"]));
}

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

/// Nobody may write the boat `stuck` any more.
async fn freeze(harbour: &Harbour) {
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "frozen"}, "spec": {"failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{"apiGroups": ["sea.dev"], "apiVersions": ["*"],
                "operations": ["UPDATE"], "resources": ["boats"]}]},
            "validations": [{"expression": "object.metadata.name != 'stuck'", "message": "the sea is frozen"}]}});
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "frozen"},
        "spec": {"policyName": "frozen", "validationActions": ["Deny"]}});
    let bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
    for (path, object) in [(POLICIES, policy), (bindings, binding)] {
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(object.to_string().into_bytes())
            .unwrap();
        harbour.client.request::<Value>(request).await.unwrap();
    }
    slipway_testkit::until("the sea to freeze", MINUTE, async || touch(harbour).await.err()).await.unwrap();
}

fn thaw() -> http::Request<Vec<u8>> {
    http::Request::delete(format!("{POLICIES}/frozen")).body(Vec::new()).unwrap()
}

/// Tries to write the boat `stuck`.
async fn touch(harbour: &Harbour) -> Result<(), kube::Error> {
    let mut boat = harbour.boats("v1").get("stuck").await?;
    boat.data["spec"]["sails"] = json!(2);
    let how = kube::api::PostParams { dry_run: true, ..kube::api::PostParams::default() };
    harbour.boats("v1").replace("stuck", &how, &boat).await.map(drop)
}
