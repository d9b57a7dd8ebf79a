//! helm 3 and 4 against a control plane of ours, with a chart of ours.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::path::Path;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use slipway_testkit::charts::{Chart, ChartBuilder};
use slipway_testkit::{ControlPlane, Part, Program, scratch};

fn chart(version: &str, greeting: &str) -> Chart {
    ChartBuilder::new("greeter", version)
        .values(&format!("greeting: {greeting}\nreplicas: 2\n"))
        .template(
            "config.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}\"}\ndata: {greeting: \"{{ .Values.greeting }}\"}\n",
        )
        .template(
            "deployment.yaml",
            "apiVersion: apps/v1
kind: Deployment
metadata: {name: \"{{ .Release.Name }}\"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: greeter}}
  template:
    metadata: {labels: {app: greeter}}
    spec: {containers: [{name: main, image: \"example.test/greeter:{{ .Chart.Version }}\"}]}
",
        )
        .build()
        .unwrap()
}

async fn helm(
    program: Program,
    plane: &ControlPlane,
    home: &Path,
    arguments: &[&str],
) -> anyhow::Result<String> {
    Part::builder("helm", program.find()?)
        .args(arguments)
        .env("KUBECONFIG", plane.kubeconfig_file())
        .env("HELM_CACHE_HOME", home)
        .env("HELM_CONFIG_HOME", home)
        .env("HELM_DATA_HOME", home)
        .run()
        .await
}

async fn a_release_lives(program: Program, version: &str) {
    let plane = ControlPlane::builder().nodes(1).start().await.unwrap();
    let client = plane.client().await.unwrap();
    let files = scratch("charts").unwrap();
    let one = chart("1.0.0", "ahoy").write_to(files.path()).unwrap();
    let two = chart("1.1.0", "land in sight").write_to(files.path()).unwrap();
    let (one, two) = (one.to_str().unwrap(), two.to_str().unwrap());
    let run = async |arguments: &[&str]| helm(program, &plane, files.path(), arguments).await;

    assert!(run(&["version", "--short"]).await.unwrap().starts_with(version));
    let configs = Api::<ConfigMap>::namespaced(client.clone(), "default");
    let greeting = async || configs.get("hello").await.unwrap().data.unwrap()["greeting"].clone();
    run(&["install", "hello", one, "--wait", "--timeout", "2m"]).await.unwrap();
    assert_eq!(greeting().await, "ahoy");
    run(&["upgrade", "hello", two, "--wait", "--timeout", "2m", "--set", "replicas=3"]).await.unwrap();
    assert_eq!(greeting().await, "land in sight");
    let deployment = Api::<Deployment>::namespaced(client.clone(), "default").get("hello").await.unwrap();
    assert_eq!(deployment.status.unwrap().ready_replicas, Some(3));
    let history = run(&["history", "hello", "--output", "json"]).await.unwrap();
    let history: serde_json::Value = serde_json::from_str(&history).unwrap();
    assert_eq!(history[0]["status"], "superseded");
    assert_eq!(history[1]["status"], "deployed");
    let error = run(&["install", "hello", one]).await.unwrap_err();
    assert!(
        error.to_string().contains("cannot reuse a name that is still in use")
            || error.to_string().contains("cannot re-use a name that is still in use"),
        "{error}"
    );
    run(&["uninstall", "hello", "--wait"]).await.unwrap();
    assert!(configs.get_opt("hello").await.unwrap().is_none());
}

#[tokio::test]
async fn helm_4_installs_upgrades_and_uninstalls() {
    a_release_lives(Program::Helm4, "v4.3.1").await;
}

#[tokio::test]
async fn helm_3_installs_upgrades_and_uninstalls() {
    a_release_lives(Program::Helm3, "v3.22.0").await;
}
