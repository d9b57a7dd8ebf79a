//! `slipway crd` against live clusters.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use kube::Api;
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use slipway_testkit::{ControlPlane, Fleet, scratch, until};

fn crd(spec: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.example.test"},
        "spec": {
            "group": "example.test", "scope": "Namespaced",
            "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": spec}
            }}}]
        }
    })
}

fn old() -> Value {
    crd(&json!({"type": "object", "properties": {
        "crew": {"type": "integer"}, "name": {"type": "string"}, "colour": {"type": "string"}
    }}))
}

/// A crew of 9 at most, and no colour any more.
fn new() -> Value {
    crd(&json!({"type": "object", "properties": {
        "crew": {"type": "integer", "maximum": 9}, "name": {"type": "string"}
    }}))
}

async fn launch(plane: &ControlPlane, boats: &[(&str, Value)]) {
    let client = plane.client().await.unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ));
    let definition: DynamicObject = serde_json::from_value(old()).unwrap();
    Api::<DynamicObject>::all_with(client.clone(), &resource)
        .create(&PostParams::default(), &definition)
        .await
        .unwrap();
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.test", "v1", "Boat"));
    let api = Api::<DynamicObject>::namespaced_with(client, "default", &resource);
    for (name, spec) in boats {
        let boat = json!({"apiVersion": "example.test/v1", "kind": "Boat", "metadata": {"name": name}, "spec": spec});
        let boat: DynamicObject = serde_json::from_value(boat).unwrap();
        until("the boat", Duration::from_mins(1), async || {
            api.create(&PostParams::default(), &boat).await.ok()
        })
        .await
        .unwrap();
    }
}

/// One kubeconfig with a context for each cluster.
fn merged(fleet: &Fleet) -> String {
    let mut all = json!({"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": [], "current-context": "east"});
    for (name, plane) in ["east", "west"].iter().zip(&fleet.clusters) {
        let own: Value = serde_json::from_str(plane.kubeconfig()).unwrap();
        for (list, key) in [("clusters", "cluster"), ("users", "user")] {
            let entry = json!({"name": name, key: own[list][0][key]});
            all[list].as_array_mut().unwrap().push(entry);
        }
        let context = json!({"name": name, "context": {"cluster": name, "user": name}});
        all["contexts"].as_array_mut().unwrap().push(context);
    }
    all.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn live_objects_that_break_are_named_with_field_and_reason() {
    let fleet = Fleet::start(2, 0).await.unwrap();
    let crowd: Vec<_> = (0..520).map(|number| (format!("skiff-{number}"), json!({"crew": 1}))).collect();
    let mut east: Vec<(&str, Value)> =
        crowd.iter().map(|(name, spec)| (name.as_str(), spec.clone())).collect();
    east.push(("galley", json!({"crew": 40})));
    east.push(("painted", json!({"crew": 2, "colour": "red"})));
    launch(&fleet.clusters[0], &east).await;
    launch(&fleet.clusters[1], &[("dinghy", json!({"crew": 1}))]).await;
    let files = scratch("impact").unwrap();
    let (kubeconfig, old_file, new_file) =
        (files.path().join("kubeconfig"), files.path().join("old.json"), files.path().join("new.json"));
    fs::write(&kubeconfig, merged(&fleet)).unwrap();
    fs::write(&old_file, old().to_string()).unwrap();
    fs::write(&new_file, new().to_string()).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_slipway"))
            .arg("crd")
            .args(arguments)
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let new_name = new_file.to_str().unwrap();

    let (code, out, err) = run(&["impact", new_name, "--kube-context", "east", "--kube-context", "west"]);
    assert_eq!((code, err.as_str()), (Some(1), ""), "{out}");
    insta::assert_snapshot!(out);

    let (code, out, _) = run(&["impact", new_name, "--kube-context", "east", "--output", "json"]);
    assert_eq!(code, Some(1));
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["rows"][0]["objects"], 522);
    let hit = report["rows"][0]["hit"].as_array().unwrap();
    let find = |name: &str| hit.iter().find(|hit| hit["name"] == name).unwrap().clone();
    assert_eq!(find("galley")["standing"], "rejected");
    assert!(find("galley")["reasons"][0].as_str().unwrap().starts_with("spec.crew: "), "{report:#}");
    assert_eq!(find("painted")["standing"], "pruned");

    assert_eq!(run(&["impact", new_name, "--kube-context", "west"]).0, Some(0));
    assert_eq!(run(&["impact", old_file.to_str().unwrap()]).0, Some(0));
    assert_eq!(run(&["diff", "cluster:", new_name]).0, Some(1));
    assert_eq!(run(&["diff", "cluster:west", old_file.to_str().unwrap()]).0, Some(0));

    let (code, _, err) = run(&["impact", new_name, "--kube-context", "south"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("there is no context \"south\" in the kubeconfig; there are: east, west"), "{err}");
    drop(fleet);
    let (code, _, err) = run(&["impact", new_name]);
    assert_eq!(code, Some(2));
    assert!(err.contains("the cluster east cannot be reached"), "{err}");
}
