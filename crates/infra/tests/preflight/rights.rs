//! Rights that are missing.

use k8s_openapi::api::rbac::v1::ClusterRole;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use slipway_domain::preflight::{CheckKind, Level};
use slipway_infra::kubernetes::enrol::Rights;
use slipway_testkit::ControlPlane;

use crate::harbour::{Harbour, chart, told};

#[tokio::test]
async fn all_rights_that_are_missing_are_told_as_the_rules_that_give_them() {
    let plane = ControlPlane::start().await.unwrap();
    let role = json!({"metadata": {"name": "sailor"}, "rules": [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create", "patch", "update"]},
        {"nonResourceURLs": ["/version"], "verbs": ["get"]}]});
    let role: ClusterRole = serde_json::from_value(role).unwrap();
    let client = plane.client().await.unwrap();
    Api::all(client).create(&PostParams::default(), &role).await.unwrap();
    let harbour = Harbour::with(&Rights::Existing("sailor".to_owned()), plane).await;
    let deployment = "apiVersion: apps/v1
kind: Deployment
metadata: {name: crew}
spec:
  selector: {matchLabels: {app: crew}}
  template:
    metadata: {labels: {app: crew}}
    spec: {containers: [{name: main, image: example.test/crew}]}
";
    let first = chart("1.0.0", None).template("deployment.yaml", deployment).build().unwrap();
    harbour.install(&first, "fleet", "sea").await;
    let report = harbour.preflight(&harbour.subject(&first, "1.0.0")).await;
    let refused: Vec<_> = report.refusals().filter(|found| found.check == CheckKind::Permitted).collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(
        refused[0].objects,
        [
            "{apiGroups: [\"\"], resources: [\"secrets\"], verbs: [\"create\", \"delete\", \"update\"]} in sea",
            "{apiGroups: [\"apps\"], resources: [\"deployments\"], verbs: [\"patch\", \"update\"]} in sea",
        ]
    );
    // Nothing was run, and no node has the image.
    let unknown = told(&report, CheckKind::Images, Level::Unknown);
    assert!(unknown[0].ends_with(": example.test/crew"), "{unknown:?}");
}

#[tokio::test]
async fn what_may_not_even_be_read_is_told_as_the_rules_that_let_it_be() {
    let plane = ControlPlane::start().await.unwrap();
    let role = json!({"metadata": {"name": "stowaway"}, "rules": [
        {"apiGroups": [""], "resources": ["namespaces", "pods", "services"], "verbs": ["get", "list"]},
        {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["get", "list"]},
        {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["get", "list"]},
        {"apiGroups": ["sea.dev", "discovery.k8s.io"], "resources": ["*"], "verbs": ["get", "list"]},
        {"nonResourceURLs": ["/version"], "verbs": ["get"]}]});
    let role: ClusterRole = serde_json::from_value(role).unwrap();
    let client = plane.client().await.unwrap();
    Api::all(client).create(&PostParams::default(), &role).await.unwrap();
    let harbour = Harbour::with(&Rights::Existing("stowaway".to_owned()), plane).await;
    let first = chart("1.0.0", None).build().unwrap();
    harbour.install(&first, "fleet", "sea").await;
    let report = harbour.preflight(&harbour.subject(&first, "1.0.0")).await;
    let refused: Vec<_> = report.refusals().collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert_eq!(refused[0].check, CheckKind::Permitted);
    assert_eq!(
        refused[0].objects,
        [
            "{apiGroups: [\"apiextensions.k8s.io\"], resources: [\"customresourcedefinitions\"], verbs: [\"get\", \"list\"]}",
            "{apiGroups: [\"\"], resources: [\"secrets\"], verbs: [\"get\", \"list\"]} in sea",
            "{apiGroups: [\"autoscaling\"], resources: [\"horizontalpodautoscalers\"], verbs: [\"get\", \"list\"]} in sea",
        ]
    );
}
