//! Clusters with something installed, and where charts come from.

use std::path::Path;

use serde_json::json;
use slipway_testkit::charts::{Chart, ChartBuilder};
use slipway_testkit::{ControlPlane, Part, Program, scratch};

/// A chart of an operator: a controller and a definition.
pub(crate) fn greeter(version: &str) -> Chart {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "greetings.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {
                "plural": "greetings", "singular": "greeting", "kind": "Greeting", "listKind": "GreetingList",
            },
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"text": {"type": "string"}}}},
            }}}],
        },
    });
    let labels = "{app.kubernetes.io/managed-by: Helm, helm.sh/chart: '{{ .Chart.Name }}-{{ .Chart.Version }}', \
                  app.kubernetes.io/instance: '{{ .Release.Name }}'}";
    let deployment = format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: '{{{{ .Release.Name }}}}', labels: {labels}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: greeter}}}}
  template:
    metadata: {{labels: {{app: greeter}}}}
    spec: {{containers: [{{name: main, image: 'example.test/greeter:{{{{ .Chart.Version }}}}'}}]}}
"
    );
    ChartBuilder::new("greeter", version)
        .values("greeting: hello\n")
        .crd("greetings.yaml", &definition.to_string())
        .template("deployment.yaml", &deployment)
        .build()
        .unwrap()
}

/// Installs a chart as somebody with helm would.
pub(crate) async fn install(plane: &ControlPlane, chart: &Chart, release: &str, settings: &[&str]) {
    install_in(plane, chart, release, "greeter", settings).await;
}

/// The same in a namespace of its own.
pub(crate) async fn install_in(
    plane: &ControlPlane,
    chart: &Chart,
    release: &str,
    namespace: &str,
    settings: &[&str],
) {
    let files = scratch("charts").unwrap();
    let archive = chart.write_to(files.path()).unwrap().display().to_string();
    let mut arguments = vec!["install", release, &archive, "--create-namespace", "--namespace", namespace];
    arguments.extend(settings);
    helm(plane, files.path(), &arguments).await;
}

async fn helm(plane: &ControlPlane, home: &Path, arguments: &[&str]) {
    Part::builder("helm", Program::Helm4.find().unwrap())
        .args(arguments)
        .env("KUBECONFIG", plane.kubeconfig_file())
        .env("HELM_CACHE_HOME", home)
        .env("HELM_CONFIG_HOME", home)
        .env("HELM_DATA_HOME", home)
        .run()
        .await
        .unwrap();
}

/// The kubeconfig of somebody who works with several clusters, made of those of each.
pub(crate) fn kubeconfig(clusters: &[(&str, &str)]) -> String {
    let mut config =
        json!({"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": []});
    for (name, kubeconfig) in clusters {
        let own: serde_json::Value = serde_json::from_str(kubeconfig).unwrap();
        for (list, inner) in [("clusters", "cluster"), ("users", "user")] {
            let entry = json!({"name": name, inner: own[list][0][inner]});
            config[list].as_array_mut().unwrap().push(entry);
        }
        let context = json!({"name": name, "context": {"cluster": name, "user": name}});
        config["contexts"].as_array_mut().unwrap().push(context);
    }
    config["current-context"] = clusters[0].0.into();
    config.to_string()
}
