use serde_json::{Value, json};

use super::{LiveOptions, Standing, check_objects, check_return};
use crate::crd::Crd;

fn crd(versions: &Value, conversion: &Value) -> Crd {
    Crd::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
                 "conversion": conversion, "versions": versions},
    }))
    .unwrap()
}

fn version(name: &str, storage: bool, schema: &Value) -> Value {
    json!({"name": name, "served": true, "storage": storage, "subresources": {"status": {}},
           "schema": {"openAPIV3Schema": schema}})
}

fn narrow() -> Value {
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer", "maximum": 5},
            "named": {"type": "string", "x-kubernetes-validations": [{"rule": "future(self)"}]}}},
        "status": {"type": "object", "required": ["phase"], "properties": {"phase": {"type": "string"}}}}})
}

fn widget(name: &str, api_version: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": "Widget", "spec": spec,
           "metadata": {"name": name, "namespace": "team", "uid": format!("uid-{name}"), "resourceVersion": "7",
                        "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 3}})
}

#[test]
fn every_object_is_told_what_becomes_of_it() {
    let new = crd(&json!([version("v1", true, &narrow())]), &json!(null));
    let mut bad_status = widget("status", "example.com/v1", &json!({}));
    bad_status["status"] = json!({"other": 1});
    let objects = [
        widget("fine", "example.com/v1", &json!({"size": 5})),
        widget("large", "example.com/v1", &json!({"size": 6, "old": true})),
        widget("loses", "example.com/v1", &json!({"old": {"a": 1}})),
        widget("unsure", "example.com/v1", &json!({"named": "x"})),
        bad_status,
    ];
    let report = check_objects(&new, &objects, &LiveOptions::default());
    assert_eq!(
        (report.checked, report.fine, report.rejected, report.pruned, report.unknown),
        (5, 1, 2, 1, 1)
    );
    let [large, loses, unsure, status] = &report.objects[..] else { panic!("four are not fine") };
    assert_eq!((large.id.to_string(), large.id.uid.as_deref()), ("team/large".to_owned(), Some("uid-large")));
    assert_eq!(large.violations[0].path, "spec.size");
    assert_eq!(large.pruned, ["spec.old"]);
    assert_eq!((loses.standing, &loses.pruned[..]), (Standing::Pruned, &["spec.old".to_owned()][..]));
    assert_eq!(unsure.standing, Standing::Unknown);
    assert!(unsure.unknown[0].contains("future"), "{:?}", unsure.unknown);
    assert_eq!(
        (status.standing, status.status_violations[0].path.as_str()),
        (Standing::Rejected, "status.phase")
    );
}

#[test]
fn an_object_of_a_version_that_is_gone_is_judged_at_the_stored_one() {
    let new = crd(&json!([version("v2", true, &narrow())]), &json!(null));
    let report =
        check_objects(&new, &[widget("a", "example.com/v1", &json!({"size": 9}))], &LiveOptions::default());
    assert_eq!((report.objects[0].version.as_str(), report.rejected), ("v2", 1));
}

#[test]
fn what_a_conversion_webhook_returns_is_unknown() {
    let new = crd(&json!([version("v2", true, &narrow())]), &json!({"strategy": "Webhook"}));
    let report = check_objects(&new, &[widget("a", "example.com/v1", &json!({}))], &LiveOptions::default());
    assert_eq!(report.unknown, 1);
    assert!(report.objects[0].unknown[0].starts_with("a webhook converts v1 to v2"));
}

#[test]
fn what_is_not_of_the_definition_is_unknown() {
    let new = crd(&json!([version("v1", true, &narrow())]), &json!(null));
    let cluster_scoped = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
    let report = check_objects(&new, &[cluster_scoped, json!(7)], &LiveOptions::default());
    assert_eq!(report.unknown, 2);
    assert_eq!(report.objects[0].id.to_string(), "n");
    assert_eq!(report.objects[0].unknown, ["v1 Node is not of widgets.example.com"]);
}

#[test]
fn a_schema_that_cannot_be_used_leaves_objects_unknown() {
    let new = crd(&json!([version("v1", true, &json!({"type": "what"}))]), &json!(null));
    let report = check_objects(&new, &[widget("a", "example.com/v1", &json!({}))], &LiveOptions::default());
    assert_eq!(
        report.objects[0].unknown,
        ["schema of widgets.example.com version v1: type: \"what\" is not supported by the API server"]
    );
    let unstored = crd(&json!([version("v1", false, &narrow())]), &json!(null));
    let report =
        check_objects(&unstored, &[widget("a", "example.com/v9", &json!({}))], &LiveOptions::default());
    assert_eq!(report.objects[0].unknown, ["widgets.example.com stores no version"]);
}

#[test]
fn going_back_loses_what_only_the_new_version_knows() {
    let old = crd(&json!([version("v1", true, &narrow())]), &json!(null));
    let objects: Vec<Value> =
        (0..3).map(|n| widget(&n.to_string(), "example.com/v1", &json!({"fresh": n}))).collect();
    let report = check_return(&old, &objects, &LiveOptions { keep: Some(1) });
    assert_eq!((report.pruned, report.objects.len()), (3, 1));
}
