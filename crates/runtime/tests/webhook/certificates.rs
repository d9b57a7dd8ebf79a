//! Authorities, bundles and files.

use std::collections::BTreeSet;

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;
use slipway_runtime::webhook::{Certificates, Files, Schedule, WebhookOptions, WebhookServer};
use slipway_testkit::certificates::Authority;
use slipway_testkit::{ControlPlane, scratch, until};

use crate::boats::{
    Harbour, NAME, PATIENCE, anywhere, api, boat, boats, carried, replica, secret, set, until_ready,
};
use crate::server::shown;

#[tokio::test]
async fn a_bundle_that_others_blank_or_lose_is_put_back() {
    let harbour = Harbour::open().await;
    let bundle = harbour.server.bundle();
    let configurations =
        api(&harbour.client, "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", None);

    // As `helm upgrade` does when the chart has none.
    let blank = json!([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]);
    let blank: json_patch::Patch = serde_json::from_value(blank).unwrap();
    configurations.patch(NAME, &PatchParams::default(), &Patch::Json::<()>(blank)).await.unwrap();
    let mended = async || {
        (carried(&harbour.client, "ValidatingWebhookConfiguration", NAME).await == bundle).then_some(())
    };
    until("the bundle to be put back", PATIENCE, mended).await.unwrap();

    let mut again = configurations.get(NAME).await.unwrap();
    configurations.delete(NAME, &DeleteParams::default()).await.unwrap();
    again.metadata.resource_version = None;
    again.metadata.uid = None;
    again.metadata.managed_fields = None;
    again.data["webhooks"][0]["clientConfig"].as_object_mut().unwrap().remove("caBundle");
    configurations.create(&PostParams::default(), &again).await.unwrap();
    until("the new configuration to get the bundle", PATIENCE, mended).await.unwrap();

    // The Secret is put back with the same authority, so that nothing has to change.
    let before = secret(&harbour.client).await;
    let secrets = Api::<k8s_openapi::api::core::v1::Secret>::namespaced(harbour.client.clone(), "default");
    secrets.delete(NAME, &DeleteParams::default()).await.unwrap();
    let after = until("the Secret to be put back", PATIENCE, async || secrets.get_opt(NAME).await.unwrap());
    assert_eq!(after.await.unwrap().data, before.data);
}

#[tokio::test]
async fn replicas_that_start_at_once_agree_on_one_authority() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let starting: Vec<_> = (0..4)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { replica(&client, Schedule::default()).await })
        })
        .collect();
    let mut bundles = BTreeSet::new();
    let stored = {
        let mut servers = Vec::new();
        for server in starting {
            servers.push(server.await.unwrap());
        }
        for server in &servers {
            until_ready(server).await;
            let bundle = server.bundle().unwrap();
            shown(server.local_addr(), &bundle).await.unwrap();
            bundles.insert(bundle);
        }
        secret(&client).await
    };
    assert_eq!(bundles.len(), 1);
    assert_eq!(stored.data.unwrap()["ca.crt"].0, bundles.pop_first().unwrap().into_bytes());
}

#[tokio::test]
async fn files_that_are_replaced_are_taken_when_they_fit_together() {
    slipway_testkit::init();
    let directory = scratch("webhook-files").unwrap();
    let authority = Authority::new("webhook test").unwrap();
    let files = Files {
        authority: Some(directory.path().join("ca.crt")),
        look_every: std::time::Duration::from_millis(20),
        ..Files::in_directory(directory.path())
    };
    let options = WebhookOptions::new(anywhere(), Certificates::files(files));
    let server = WebhookServer::start(set(), options).await.unwrap();
    assert!(!server.ready(), "there is no certificate yet");

    let pair = || authority.server("webhook", &["127.0.0.1"]).unwrap();
    std::fs::write(directory.path().join("ca.crt"), authority.certificate()).unwrap();
    pair().write(directory.path(), "tls").unwrap();
    until_ready(&server).await;
    assert_eq!(server.bundle().as_deref(), Some(authority.certificate()));
    let address = server.local_addr();
    let first = shown(address, authority.certificate()).await.unwrap();

    // The new certificate is there, but its key is not.
    let next = pair();
    std::fs::write(directory.path().join("tls.crt"), &next.certificate).unwrap();
    until("the pair to be found unfit", PATIENCE, async || server.problems().pop()).await.unwrap();
    assert_eq!(shown(address, authority.certificate()).await.unwrap(), first);
    assert!(server.ready());
    next.write(directory.path(), "tls").unwrap();
    until("the new certificate", PATIENCE, async || {
        (shown(address, authority.certificate()).await.unwrap() != first).then_some(())
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn an_empty_secret_of_a_chart_is_filled() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let empty =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME, "labels": {"chart": "x"}}});
    let secrets = Api::<k8s_openapi::api::core::v1::Secret>::namespaced(client.clone(), "default");
    secrets.create(&PostParams::default(), &serde_json::from_value(empty).unwrap()).await.unwrap();
    let server = replica(&client, Schedule::default()).await;
    until_ready(&server).await;
    let filled = secret(&client).await;
    assert_eq!(filled.data.unwrap()["ca.crt"].0, server.bundle().unwrap().into_bytes());
    assert_eq!(filled.metadata.labels.unwrap()["chart"], "x");
    // Boats are unknown here, and nobody minds.
    assert!(boats(&client, "v1").create(&PostParams::default(), &boat("v1", "x", &json!({}))).await.is_err());
}

/// Nobody gave this user any permission.
async fn stranger(plane: &ControlPlane) -> kube::Client {
    let kubeconfig = Kubeconfig::from_yaml(plane.kubeconfig()).unwrap();
    let mut config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info.impersonate = Some("stranger".to_owned());
    kube::Client::try_from(config).unwrap()
}

#[tokio::test]
async fn a_missing_permission_is_named_as_the_rule_to_add() {
    let plane = ControlPlane::start().await.unwrap();
    let stranger = replica(&stranger(&plane).await, Schedule::default()).await;
    let wanted = "add to the operator's Role in namespace default: {apiGroups: [\"\"], resources: [\"secrets\"], \
                  resourceNames: [\"boats\"], verbs: [\"get\"]}";
    until("the rule for the Secret", PATIENCE, async || {
        stranger.problems().iter().any(|problem| problem.contains(wanted)).then_some(())
    })
    .await
    .unwrap();
    let wanted = "add to the operator's ClusterRole: {apiGroups: [\"apiextensions.k8s.io\"], \
                  resources: [\"customresourcedefinitions\"], resourceNames: [\"boats.example.test\"], \
                  verbs: [\"get\", \"list\", \"watch\", \"patch\"]}";
    until("the rule for the definition", PATIENCE, async || {
        stranger.problems().iter().any(|problem| problem.contains(wanted)).then_some(())
    })
    .await
    .unwrap();
    assert!(!stranger.ready());
}
