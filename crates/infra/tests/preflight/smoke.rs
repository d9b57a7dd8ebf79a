//! The smoke test as a step.

use std::time::Duration;

use jiff::SignedDuration;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use slipway_domain::profile::SmokeTest;
use slipway_domain::rollout::{Found, Outcome, StepKind};

use crate::harbour::{Harbour, chart, definition};

/// Does what an operator of boats would: makes every boat Ready.
async fn sail(client: kube::Client) {
    let kind = GroupVersionKind::gvk("sea.dev", "v1", "Boat");
    let resource = ApiResource::from_gvk(&kind);
    loop {
        let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        for one in all.list(&ListParams::default()).await.map(|list| list.items).unwrap_or_default() {
            let namespace = one.metadata.namespace.clone().unwrap();
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource);
            let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
            let name = one.metadata.name.unwrap();
            let _ = api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&ready)).await;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_sample_has_to_reach_its_condition() {
    let harbour = Harbour::open().await;
    harbour.define(&definition(&json!({"sails": {"type": "integer"}})), "slipway").await;
    let mut subject = harbour.subject(&chart("1.0.0", None).build().unwrap(), "1.0.0");
    assert_eq!(harbour.act(&subject, StepKind::Smoke, None).await.outcome, Outcome::Done(Found::Nothing));

    let object = json!({"apiVersion": "sea.dev/v1", "kind": "Boat", "metadata": {"name": "trial"},
        "spec": {"sails": 1}});
    subject.profile.smoke_test = Some(SmokeTest {
        object: serde_json::from_value(object).unwrap(),
        condition: "Ready".to_owned(),
        within: SignedDuration::from_secs(2),
    });
    let outcome = harbour.act(&subject, StepKind::Smoke, None).await.outcome;
    let Outcome::Failed { reason } = outcome else { panic!("{outcome:?}") };
    assert!(reason.starts_with("the smoke test with Boat trial failed: Ready was not True"), "{reason}");

    let operator = tokio::spawn(sail(harbour.client.clone()));
    subject.profile.smoke_test.as_mut().unwrap().within = SignedDuration::from_secs(30);
    assert_eq!(harbour.act(&subject, StepKind::Smoke, None).await.outcome, Outcome::Done(Found::Nothing));
    operator.abort();

    harbour.plane.kill("kube-apiserver").await.unwrap();
    let outcome = harbour.act(&subject, StepKind::Smoke, None).await.outcome;
    assert!(matches!(outcome, Outcome::Unreachable { .. }), "{outcome:?}");
}
