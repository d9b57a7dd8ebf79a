//! Webhooks of others that look at what would be applied.

use std::time::Duration;

use serde_json::{Value, json};
use slipway_domain::preflight::{CheckKind, Level};
use slipway_testkit::until;

use crate::harbour::{Harbour, chart, layer, refusals, told};

/// Has the API server ask somebody who is not there about every `ConfigMap` of `sea`.
async fn register(harbour: &Harbour) {
    let registration = json!({"apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration", "metadata": {"name": "pilot"},
        "webhooks": [{"name": "pilot.sea.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Fail", "clientConfig": {"url": "https://127.0.0.1:1/pilot"}, "timeoutSeconds": 2,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "sea"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                "resources": ["configmaps"]}]}]});
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(registration.to_string().into_bytes())
        .unwrap();
    harbour.client.request::<Value>(request).await.unwrap();
}

#[tokio::test]
async fn a_webhook_of_others_that_does_not_answer_stands_in_the_way() {
    let harbour = Harbour::open().await;
    let chart = chart("1.0.0", None).build().unwrap();
    harbour.install(&chart, "fleet", "sea").await;
    let mut subject = harbour.subject(&chart, "1.0.0");
    subject.layers = vec![layer(json!({"sails": 2}))];
    register(&harbour).await;
    let report = until("the webhook to be asked", Duration::from_mins(1), async || {
        let report = harbour.preflight(&subject).await;
        (!refusals(&report).is_empty()).then_some(report)
    })
    .await
    .unwrap();
    let refused = told(&report, CheckKind::Permitted, Level::Refused);
    assert_eq!(refused, refusals(&report));
    assert!(refused[0].starts_with("webhook \"pilot.sea.dev\" cannot be called: "), "{refused:?}");
    assert!(refused[0].ends_with(": ConfigMap sea/fleet-config"), "{refused:?}");
    // What would change is told all the same.
    assert_eq!(report.changes[0].fields, ["data.sails: 1 → 2"]);
}
