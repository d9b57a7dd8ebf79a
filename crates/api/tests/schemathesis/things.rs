//! One thing of each kind, and how Schemathesis is told about them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde_json::{Value, json};
use slipway_testkit::ControlPlane;
use slipway_testkit::charts::{ChartBuilder, ChartRepository};

use crate::world::World;

/// Makes them; the text of a `schemathesis.toml` that names them.
pub(crate) async fn make(
    world: &World,
    token: &str,
    plane: &ControlPlane,
    charts: &ChartRepository,
) -> String {
    for version in ["1.0.0", "1.1.0"] {
        charts.add(&ChartBuilder::new("greeter", version).build().unwrap());
    }
    let window = json!({
        "mode": "Allow", "timeZone": "Europe/Berlin", "environments": ["Production"],
        "weekly": [{"days": ["Monday"], "from": "22:00", "to": "04:00"}],
    });
    let document = json!({
        "apiVersion": "slipway.dev/v1", "kind": "Window", "metadata": {"name": "nights"}, "spec": window,
    });
    for (path, body) in [
        ("clusters", json!({"name": "eu", "kubeconfig": STANDARD.encode(plane.kubeconfig())})),
        (
            "operators",
            json!({
                "name": "greeter", "namespace": "greetings", "chartRepository": charts.url(),
                "chartName": "greeter", "currentVersion": "1.0.0",
            }),
        ),
        (
            "crds",
            json!({
                "operatorName": "greeter", "operatorVersion": "1.0.0", "schemaDefinition": definition(),
            }),
        ),
        ("apply", json!({"documents": [document]})),
    ] {
        let made = world.ask("POST", &format!("/api/v1/{path}"), Some(token), Some(&body.to_string())).await;
        let done = matches!(made.status, StatusCode::CREATED | StatusCode::OK);
        assert!(done, "{path}: {} {}", made.status, made.text());
    }
    let named = |path: &str, parameters: &str| {
        format!("[[operations]]\ninclude-path-regex = '^/api/v1/{path}'\nparameters = {{ {parameters} }}\n\n")
    };
    [
        named("clusters/\\{name", "'path.name' = 'eu'"),
        named("clusters/\\{cluster", "'path.cluster' = 'eu', 'path.operator' = 'greeter'"),
        named("operators/", "'path.name' = 'greeter'"),
        named("crds/", "'path.name' = 'greetings.example.com'"),
        named("settings/", "'path.kind' = 'Window', 'path.name' = 'nights'"),
        named("users/", "'path.username' = 'operator'"),
    ]
    .concat()
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "greetings.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "greetings", "singular": "greeting", "kind": "Greeting", "listKind": "GreetingList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"text": {"type": "string"}}}},
            }}}],
        },
    })
}
