//! Charts inside charts.

use serde_json::json;
use slipway_domain::preflight::{CheckKind, Level};

use crate::harbour::{Harbour, chart, layer, told};

#[tokio::test]
async fn values_of_a_subchart_are_held_to_its_own_schema_unless_it_is_switched_off() {
    let harbour = Harbour::open().await;
    let dependencies = json!([{"name": "keel", "version": "1.0.0", "condition": "keel.enabled"}]);
    let chart = chart("1.0.0", None)
        .metadata("dependencies", dependencies)
        .file("charts/keel/Chart.yaml", "apiVersion: v2\nname: keel\nversion: 1.0.0\n")
        .file("charts/keel/values.yaml", "depth: 1\n")
        .file(
            "charts/keel/values.schema.json",
            r#"{"type": "object", "properties": {"depth": {"type": "integer"}}}"#,
        )
        .build()
        .unwrap();
    harbour.install(&chart, "fleet", "sea").await;
    let mut subject = harbour.subject(&chart, "1.0.0");
    subject.layers = vec![layer(json!({"keel": {"depth": "hunter2"}}))];
    let refused = told(&harbour.preflight(&subject).await, CheckKind::Values, Level::Refused);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].contains("keel.depth") && !refused[0].contains("hunter2"), "{refused:?}");
    subject.layers = vec![layer(json!({"keel": {"depth": "hunter2", "enabled": false}}))];
    let report = harbour.preflight(&subject).await;
    assert_eq!(told(&report, CheckKind::Values, Level::Refused), Vec::<String>::new());
}
