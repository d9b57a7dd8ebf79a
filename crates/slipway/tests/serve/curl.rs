//! The guide of the REST interface, done as it is written: with `curl` alone.

use std::fs;
use std::path::Path;

use serde_json::json;
use slipway_testkit::ControlPlane;
use slipway_testkit::charts::{Chart, ChartBuilder, ChartRepository};
use tokio::process::Command;

use crate::fleet::install;
use crate::program::{Served, folder};

/// What the guide asks its reader to type, in order.
fn guide() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/rest-api.md");
    let text = fs::read_to_string(file).unwrap();
    let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.collect::<Vec<_>>().join("\n")
}

fn cert_manager(version: &str) -> Chart {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "certificates.cert-manager.io"},
        "spec": {
            "group": "cert-manager.io",
            "scope": "Namespaced",
            "names": {"plural": "certificates", "kind": "Certificate"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"secretName": {"type": "string"}}}},
            }}}],
        },
    });
    ChartBuilder::new("cert-manager", version)
        .crd("certificates.yaml", &definition.to_string())
        .build()
        .unwrap()
}

#[tokio::test]
async fn the_guide_of_the_rest_interface_works_as_it_is_written() {
    let folder = folder();
    let plane = ControlPlane::start().await.unwrap();
    install(&plane, &cert_manager("v1.18.0"), "cert-manager", &[]).await;
    let charts = ChartRepository::start().await.unwrap();
    for version in ["v1.18.0", "v1.19.0"] {
        charts.add(&cert_manager(version));
    }
    let served = Served::start(folder.path(), &["--clusters-allow-loopback=true"]).await;
    let reader = slipway_testkit::scratch("reader").unwrap();
    fs::write(reader.path().join("kubeconfig"), plane.kubeconfig()).unwrap();

    // What is this reader's own.
    let mut typed = guide();
    for (written, own) in [
        ("http://localhost:5000", served.url.as_str()),
        ("the password that was printed", &served.first_password()),
        ("https://charts.jetstack.io", &charts.url()),
    ] {
        assert_eq!(typed.matches(written).count(), 1, "{written}");
        typed = typed.replace(written, own);
    }
    let done = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &typed])
        .current_dir(reader.path())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let (out, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}\n{errors}");
    for told in [
        "\"name\":\"admin\"",
        "\"healthStatus\":\"Healthy\"",
        "\"latestVersion\":\"v1.19.0\"",
        "\"isLatest\":true",
        "\"overallHealth\":",
        "\"name\": \"certificates.cert-manager.io\"",
        "admin operator.register operator/cert-manager",
        "first: 200, replayed: \n",
        "second: 200, replayed: true\n",
        "\"description\":\"Certificates\"",
        "PRECONDITION_FAILED",
        "somebody was faster",
    ] {
        assert!(out.contains(told), "{told} is not in\n{out}\n{errors}");
    }
    let audit = fs::read_to_string(reader.path().join("audit.ndjson")).unwrap();
    assert!(audit.contains("cluster.register") && audit.contains("user.login"), "{audit}");
}
