//! The smoke test.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use slipway_domain::health::{SmokeTest, Verdict};
use slipway_infra::kubernetes::probes::Subject;
use slipway_testkit::{ControlPlane, until};

use super::sea::{CRD, MINUTE, after, boat, install_crd, judged, look, reasons, target};

/// Does what an operator of boats would: makes every boat Ready.
async fn sail(client: Client) {
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

async fn namespaces(client: &Client) -> usize {
    let api = Api::<Namespace>::all(client.clone());
    let made = ListParams::default().labels("health.slipway.dev/smoke-test");
    api.list(&made).await.unwrap().items.len()
}

#[tokio::test]
async fn a_smoke_test_passes_where_the_operator_works_fails_where_not_and_leaves_nothing() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    install_crd(&client, None).await;
    let mut boats_target = target(&[CRD]);
    boats_target.rules.smoke = Some(SmokeTest {
        object: serde_json::to_value(boat("trial")).unwrap(),
        condition: "Ready".into(),
        within: Duration::from_secs(2),
        every: Duration::from_mins(10),
    });
    let mut asked = after(0);
    asked.smoke = true;
    let subject = Subject::default();

    let seen = look(&client, &subject, &boats_target, after(0)).await;
    assert_eq!(seen.smoke, None, "only where it is asked for");

    let seen = look(&client, &subject, &boats_target, asked).await;
    let health = judged(&seen, &boats_target);
    assert_eq!(health.verdict, Verdict::Unhealthy);
    let expected =
        "the smoke test with Boat trial failed: Ready was not True within 2 s: nothing was said about it";
    assert_eq!(reasons(&health), [expected]);
    until("nothing to be left", MINUTE, async || (namespaces(&client).await == 0).then_some(()))
        .await
        .unwrap();

    let operator = tokio::spawn(sail(client.clone()));
    boats_target.rules.smoke.as_mut().unwrap().within = Duration::from_secs(20);
    let seen = look(&client, &subject, &boats_target, asked).await;
    assert_eq!(seen.smoke.unwrap().failure, None);
    until("nothing to be left", MINUTE, async || (namespaces(&client).await == 0).then_some(()))
        .await
        .unwrap();
    operator.abort();
}
