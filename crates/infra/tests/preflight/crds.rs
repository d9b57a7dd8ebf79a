//! The step that applies CRDs.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use slipway_domain::rollout::{Found, Outcome};
use slipway_testkit::Program;

use crate::harbour::{CRD, Harbour, chart, definition};

fn managers(crd: &Value) -> Vec<&str> {
    let entries = crd["metadata"]["managedFields"].as_array().unwrap();
    let main = entries.iter().filter(|entry| entry.get("subresource").is_none());
    main.map(|entry| entry["manager"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn applying_twice_equals_once_and_helm_must_keep_it() {
    let harbour = Harbour::open().await;
    let crd = definition(&json!({"sails": {"type": "integer"}}));
    let subject = harbour.subject(&chart("1.0.0", Some(&crd)).build().unwrap(), "1.0.0");
    assert_eq!(harbour.apply_crds(&subject).await, Outcome::Done(Found::Nothing));
    harbour.served().await;
    let first = harbour.crd().await;
    assert_eq!(first["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
    assert_eq!(managers(&first), ["slipway"]);

    assert_eq!(harbour.apply_crds(&subject).await, Outcome::Done(Found::Nothing));
    let second = harbour.crd().await;
    assert_eq!(first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn a_plan_that_is_no_longer_the_one_that_was_judged_is_not_carried_out() {
    let harbour = Harbour::open().await;
    let crd = definition(&json!({"sails": {"type": "integer"}}));
    let subject = harbour.subject(&chart("1.0.0", Some(&crd)).build().unwrap(), "1.0.0");
    let digest = harbour.preflight(&subject).await.digest;
    let mut act = Harbour::step(&subject, slipway_domain::rollout::StepKind::Crds, None);
    act.digest = Some("sha256:another".to_owned());
    let outcome = slipway_orchestrator::ports::Fleet::act(&harbour.fleet, &act).await.outcome;
    assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
    assert!(harbour.crds().get_opt(CRD).await.unwrap().is_none(), "nothing was applied");
    act.digest = Some(digest);
    let outcome = slipway_orchestrator::ports::Fleet::act(&harbour.fleet, &act).await.outcome;
    assert_eq!(outcome, Outcome::Done(Found::Nothing));
}

#[tokio::test]
async fn what_another_manager_holds_is_not_taken_by_force() {
    let harbour = Harbour::open().await;
    let theirs = definition(&json!({"sails": {"type": "integer", "maximum": 5}}));
    harbour.define(&theirs, "harbour-master").await;
    let ours = definition(&json!({"sails": {"type": "integer"}}));
    let subject = harbour.subject(&chart("1.0.0", Some(&ours)).build().unwrap(), "1.0.0");
    let outcome = harbour.apply_crds(&subject).await;
    let Outcome::Failed { reason } = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains(CRD) && reason.contains("harbour-master"), "{reason}");
    let sails = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/sails/maximum";
    assert_eq!(harbour.crd().await.pointer(sails), Some(&json!(5)));
}

#[tokio::test]
async fn what_helm_4_holds_of_this_release_is_taken_over_whole() {
    taken_over_from(Program::Helm4).await;
}

#[tokio::test]
async fn what_helm_3_holds_of_this_release_is_taken_over_whole() {
    taken_over_from(Program::Helm3).await;
}

async fn taken_over_from(helm: Program) {
    let harbour = Harbour::open().await;
    let mut old = definition(&json!({"sails": {"type": "integer"}}));
    old["spec"]["names"]["shortNames"] = json!(["bt"]);
    old["metadata"]["labels"] = json!({"colour": "red"});
    // Among the templates, so that helm owns it.
    let first = chart("1.0.0", None).template("crd.yaml", &old.to_string()).build().unwrap();
    harbour.install_with(helm, &first, "fleet", "sea").await;
    harbour.served().await;
    assert_eq!(managers(&harbour.crd().await), ["helm"]);

    let new = definition(&json!({"sails": {"type": "integer"}, "keel": {"type": "string"}}));
    let second = chart("1.1.0", None).template("crd.yaml", &new.to_string()).build().unwrap();
    let subject = harbour.subject(&second, "1.1.0");
    assert_eq!(harbour.apply_crds(&subject).await, Outcome::Done(Found::Nothing));
    let crd = harbour.crd().await;
    assert_eq!(managers(&crd), ["slipway"]);
    assert_eq!(crd.pointer("/spec/names/shortNames"), None, "what the new one leaves out goes");
    assert_eq!(crd.pointer("/metadata/labels/colour"), None);
    assert_eq!(crd["metadata"]["annotations"]["meta.helm.sh/release-name"], "fleet");

    // Of another release nothing is taken.
    let mut other = harbour.subject(&second, "1.1.0");
    "armada".clone_into(&mut other.placement.release.name);
    let outcome = harbour.apply_crds(&other).await;
    let Outcome::Failed { reason } = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("belongs to the release fleet in sea"), "{reason}");
}

#[tokio::test]
async fn a_certificate_that_somebody_injected_stays() {
    const BUNDLE: &str = "/spec/conversion/webhook/clientConfig/caBundle";
    let harbour = Harbour::open().await;
    let config: Value = serde_json::from_str(harbour.plane.kubeconfig()).unwrap();
    let real = config.pointer("/clusters/0/cluster/certificate-authority-data").unwrap().clone();
    let mut crd = definition(&json!({"sails": {"type": "integer"}}));
    crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "sea", "name": "convert", "path": "/convert"}}}});
    let subject = harbour.subject(&chart("1.0.0", Some(&crd)).build().unwrap(), "1.0.0");
    assert_eq!(harbour.apply_crds(&subject).await, Outcome::Done(Found::Nothing));
    let inject = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": real}}}}});
    let how = PatchParams { field_manager: Some("cainjector".to_owned()), ..PatchParams::default() };
    harbour.crds().patch(CRD, &how, &Patch::Merge(&inject)).await.unwrap();

    // A chart that renders a placeholder, and one that renders nothing.
    for placeholder in [Some("Cg=="), None] {
        let mut next = crd.clone();
        next["spec"]["names"]["shortNames"] = json!([format!("b{}", u8::from(placeholder.is_some()))]);
        if let Some(text) = placeholder {
            next["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = text.into();
        }
        let subject = harbour.subject(&chart("1.1.0", Some(&next)).build().unwrap(), "1.1.0");
        assert_eq!(harbour.apply_crds(&subject).await, Outcome::Done(Found::Nothing));
        assert_eq!(harbour.crd().await.pointer(BUNDLE), Some(&real), "{placeholder:?}");
    }
}
