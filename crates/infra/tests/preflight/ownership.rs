//! Whose the objects are that would be changed.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use slipway_domain::preflight::{CheckKind, Level};

use crate::harbour::{Harbour, chart, refusals, told};

async fn annotate(harbour: &Harbour, annotations: serde_json::Value) {
    let configs: Api<ConfigMap> = Api::namespaced(harbour.client.clone(), "sea");
    let patch = json!({"metadata": {"annotations": annotations}});
    configs.patch("fleet-config", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
}

#[tokio::test]
async fn what_argo_cd_manages_is_not_touched_until_it_is_handed_over() {
    let harbour = Harbour::open().await;
    let chart = chart("1.0.0", None).build().unwrap();
    harbour.install(&chart, "fleet", "sea").await;
    let subject = harbour.subject(&chart, "1.0.0");
    assert_eq!(refusals(&harbour.preflight(&subject).await), Vec::<String>::new());

    let mark = "shop:/ConfigMap:sea/fleet-config";
    annotate(&harbour, json!({"argocd.argoproj.io/tracking-id": mark})).await;
    let report = harbour.preflight(&subject).await;
    let refused = told(&report, CheckKind::Ownership, Level::Refused);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].starts_with("Argo CD (shop) manages it"), "{refused:?}");
    assert!(refused[0].ends_with(": ConfigMap sea/fleet-config"), "{refused:?}");

    annotate(&harbour, json!({"argocd.argoproj.io/tracking-id": null})).await;
    assert_eq!(refusals(&harbour.preflight(&subject).await), Vec::<String>::new());
}

#[tokio::test]
async fn objects_of_another_release_and_of_nobody_are_named() {
    let harbour = Harbour::open().await;
    let chart = chart("1.0.0", None).build().unwrap();
    harbour.install(&chart, "fleet", "sea").await;
    let other = json!({"meta.helm.sh/release-name": "armada", "meta.helm.sh/release-namespace": "ocean"});
    annotate(&harbour, other).await;
    let subject = harbour.subject(&chart, "1.0.0");
    let refused = refusals(&harbour.preflight(&subject).await);
    let expected = "the release armada in ocean owns what would be changed: ConfigMap sea/fleet-config";
    assert_eq!(refused, [expected]);

    // In another namespace something of that name is there already.
    let namespace = json!({"metadata": {"name": "lake"}});
    let namespace: Namespace = serde_json::from_value(namespace).unwrap();
    Api::all(harbour.client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
    let config: ConfigMap = serde_json::from_value(json!({"metadata": {"name": "fleet-config"}})).unwrap();
    let configs: Api<ConfigMap> = Api::namespaced(harbour.client.clone(), "lake");
    configs.create(&PostParams::default(), &config).await.unwrap();
    let mut subject = harbour.subject(&chart, "1.0.0");
    subject.placement.release.namespace = "lake".to_owned();
    subject.placement.installed = false;
    let refused = refusals(&harbour.preflight(&subject).await);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].contains("belong to no release"), "{refused:?}");
    assert!(refused[0].ends_with(": ConfigMap lake/fleet-config"), "{refused:?}");
}
