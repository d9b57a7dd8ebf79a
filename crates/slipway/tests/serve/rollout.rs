//! A version goes out over real control planes, and a bad one comes back, with the command line alone.

use serde_json::{Value, json};
use slipway_testkit::Fleet;
use slipway_testkit::charts::{Chart, ChartBuilder, ChartRepository};

use crate::fleet::{install, kubeconfig};
use crate::person::Person;
use crate::program::{Served, folder};

/// A chart whose objects go through a webhook; one that nobody serves where it is the bad version.
fn courier(version: &str, webhook: bool) -> Chart {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "parcels.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "parcels", "singular": "parcel", "kind": "Parcel", "listKind": "ParcelList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"to": {"type": "string"}}}},
            }}}],
        },
    });
    let deployment = "apiVersion: apps/v1
kind: Deployment
metadata: {name: '{{ .Release.Name }}', labels: {app.kubernetes.io/instance: '{{ .Release.Name }}'}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: courier}}
  template:
    metadata: {labels: {app: courier}}
    spec: {containers: [{name: main, image: 'example.test/courier:{{ .Chart.Version }}'}]}
";
    let registration = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: '{{ .Release.Name }}'}
webhooks:
- name: parcels.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 2
  clientConfig: {service: {name: '{{ .Release.Name }}', namespace: '{{ .Release.Namespace }}'}}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [parcels]}]
";
    let mut chart = ChartBuilder::new("courier", version)
        .values("replicas: 1\n")
        .crd("parcels.yaml", &definition.to_string())
        .template("deployment.yaml", deployment);
    if webhook {
        chart = chart.template("webhook.yaml", registration);
    }
    chart.build().unwrap()
}

const CLUSTERS: [&str; 3] = ["dev-1", "stage-1", "stage-2"];

/// The versions that the clusters have, by name.
fn versions(show: &Value) -> Vec<(String, String)> {
    let clusters = show["deployedClusters"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: Vec<_> =
        clusters.iter().map(|cluster| (text(&cluster["clusterName"]), text(&cluster["version"]))).collect();
    found.sort();
    found
}

fn everywhere(version: &str) -> impl Fn(&Value) -> bool {
    let wanted: Vec<_> = CLUSTERS.iter().map(|name| ((*name).to_owned(), version.to_owned())).collect();
    move |show| versions(show) == wanted
}

#[tokio::test]
async fn a_canary_goes_out_and_a_version_whose_webhook_fails_comes_back() {
    let folder = folder();
    let planes = Fleet::start(3, 1).await.unwrap().clusters;
    for plane in &planes {
        install(plane, &courier("1.0.0", false), "courier", &["--set=replicas=2"]).await;
    }
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&courier("1.0.0", false));
    repository.add(&courier("1.1.0", false));
    repository.add(&courier("1.2.0", true));
    let served = Served::start(folder.path(), &["--clusters-allow-loopback=true"]).await;
    let person = Person::first_admin(&served, "a long password of my own").await;
    let own = person.folder().join("kubeconfig");
    let named: Vec<_> =
        CLUSTERS.into_iter().zip(planes.iter().map(slipway_testkit::ControlPlane::kubeconfig)).collect();
    std::fs::write(&own, kubeconfig(&named)).unwrap();
    let own = own.display().to_string();
    for (contexts, environment) in [("dev-1", "development"), ("stage-1,stage-2", "staging")] {
        let contexts = format!("--contexts={contexts}");
        person
            .runs(&["cluster", "import", &contexts, "--kubeconfig", &own, "--environment", environment])
            .await;
    }
    let url = repository.url();
    person.runs(&["operator", "add", "courier", "--repository", &url, "--current-version", "1.0.0"]).await;
    person.json_until(&["operator", "show", "courier"], everywhere("1.0.0")).await;

    let unknown = person.fails(4, &["deploy", "courier", "1.9.0", "--clusters", "all"]).await;
    assert!(unknown.contains("courier has no version 1.9.0") && unknown.contains("1.2.0"), "{unknown}");

    let report = person
        .runs(&["deploy", "courier", "1.1.0", "--clusters", "all", "--strategy", "canary", "--dry-run"])
        .await;
    assert!(report.contains("dev-1") && report.contains("courier"), "{report}");

    let canary = ["--clusters", "all", "--strategy", "canary", "--soak", "4s", "--interval", "2s", "--watch"];
    let said = person.runs(&[&["deploy", "courier", "1.1.0"][..], &canary].concat()).await;
    println!("{said}");
    person.json_until(&["operator", "show", "courier"], everywhere("1.1.0")).await;
    // The values that were there are there still.
    let deployments = "/apis/apps/v1/namespaces/greeter/deployments/courier";
    for plane in &planes {
        let client = plane.client().await.unwrap();
        let request = http::Request::get(deployments).body(Vec::new()).unwrap();
        let found: Value = client.request(request).await.unwrap();
        assert_eq!(found["spec"]["replicas"], 2);
        assert_eq!(found["spec"]["template"]["spec"]["containers"][0]["image"], "example.test/courier:1.1.0");
    }

    // Something has to be there for a webhook to be asked about.
    for plane in &planes {
        let client = plane.client().await.unwrap();
        let parcel = json!({"apiVersion": "example.com/v1", "kind": "Parcel",
            "metadata": {"name": "one"}, "spec": {"to": "somebody"}});
        let path = "/apis/example.com/v1/namespaces/default/parcels";
        let body = serde_json::to_vec(&parcel).unwrap();
        let request =
            http::Request::post(path).header("content-type", "application/json").body(body).unwrap();
        client.request::<Value>(request).await.unwrap();
    }
    let said = person.fails(1, &[&["deploy", "courier", "1.2.0"][..], &canary].concat()).await;
    println!("{said}");
    let list = person.json(&["deployment", "list"]).await;
    let latest = &list["deployments"][0];
    assert_eq!(latest["status"], "RolledBack", "{list}");
    let id = latest["deploymentId"].as_str().unwrap();
    let shown = person.runs(&["deployment", "show", id]).await;
    assert!(shown.contains("webhook"), "the reason is there: {shown}");
    person.json_until(&["operator", "show", "courier"], everywhere("1.1.0")).await;
    println!("{}", person.terminal());
    assert_eq!(served.stop().await.code(), Some(0));
}
