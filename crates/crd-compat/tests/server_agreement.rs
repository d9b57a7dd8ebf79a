//! Agreement with a real API server.
//!
//! The fixtures hold schemas, objects, and what kube-apiserver 1.36.3 answered when each object was created,
//! dry-run, under a definition with that schema. The validator must answer the same.

#![allow(clippy::unwrap_used, reason = "a fixture that does not have this shape is a broken test")]

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use slipway_crd_compat::admit::{Validator, Verdict, Violation};
use slipway_crd_compat::crd::Crd;

const FIXTURES: [(&str, &str); 3] = [
    ("schema", include_str!("fixtures/server-schema.json")),
    ("cel", include_str!("fixtures/server-cel.json")),
    ("random", include_str!("fixtures/server-random.json")),
];

fn validator(case: &Value) -> Validator {
    let mut subresources = Map::new();
    if case["status"] == true {
        subresources.insert("status".into(), json!({}));
    }
    if !case["scale"].is_null() {
        subresources.insert("scale".into(), case["scale"].clone());
    }
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "ks.test.example.com"},
        "spec": {
            "group": "test.example.com", "scope": "Namespaced", "names": {"kind": "K", "plural": "ks"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": subresources,
                          "schema": {"openAPIV3Schema": case["schema"]}}],
        },
    });
    Validator::new(&Crd::from_value(crd).unwrap(), "v1").unwrap()
}

/// The object as it was sent, with the type the fixture leaves out.
fn sent(record: &Value) -> Value {
    let mut object = record["object"].clone();
    for (key, value) in [("apiVersion", "test.example.com/v1"), ("kind", "K")] {
        let map = object.as_object_mut().unwrap();
        map.entry(key).or_insert_with(|| json!(value));
    }
    object
}

/// Rules in the fixtures are named `r0`, `r1` and so on; messages end with the name.
fn rule_names<'a>(messages: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    messages
        .filter_map(|message| message.rsplit(' ').next())
        .filter(|word| {
            word.strip_prefix('r')
                .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        })
        .collect()
}

/// What the server reports without a field: alternatives, and bounds that do not fit the type.
fn has_no_field(violation: &Violation) -> bool {
    matches!(violation.keyword, "anyOf" | "oneOf" | "allOf" | "not")
        || violation.message.contains(" value must be of type ")
}

fn disagreement(record: &Value, validator: &Validator) -> Option<String> {
    let admission = validator.create(&sent(record));
    let server_accepts = record["code"] == 201;
    match &admission.verdict {
        Verdict::Unknown(reasons) => Some(format!("unknown: {reasons:?}")),
        Verdict::Accepted if !server_accepts => {
            Some(format!("accepted, the server says {}", record["causes"]))
        }
        Verdict::Rejected(violations) if server_accepts => Some(format!("rejected: {violations:?}")),
        Verdict::Accepted => {
            let mut object = admission.object.clone();
            let map = object.as_object_mut().unwrap();
            map.remove("apiVersion");
            map.remove("kind");
            let metadata = map["metadata"].as_object_mut().unwrap();
            for key in
                ["creationTimestamp", "generation", "uid", "namespace", "managedFields", "resourceVersion"]
            {
                metadata.remove(key);
            }
            if same(&object, &record["stored"]) {
                let pruned: BTreeSet<&str> = admission.pruned.iter().map(String::as_str).collect();
                let server: BTreeSet<&str> =
                    record["pruned"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
                (pruned != server).then(|| format!("pruned {pruned:?}, the server {server:?}"))
            } else {
                Some(format!("stored {object}, the server {}", record["stored"]))
            }
        }
        Verdict::Rejected(violations) => {
            let causes = record["causes"].as_array().unwrap();
            let server = rule_names(causes.iter().filter_map(|cause| cause["message"].as_str()));
            let ours = rule_names(violations.iter().map(|violation| violation.message.as_str()));
            if ours != server {
                return Some(format!("rules {ours:?} do not hold, the server says {server:?}"));
            }
            if record["code"] == 400 || causes.iter().any(|cause| cause["field"] == "<nil>") {
                return None;
            }
            let server: BTreeSet<&str> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
            let ours: BTreeSet<&str> = violations
                .iter()
                .filter(|violation| !has_no_field(violation))
                .map(|violation| violation.path.as_str())
                .collect();
            (ours != server).then(|| format!("fields {ours:?}, the server says {server:?}: {violations:?}"))
        }
    }
}

/// Equal, a whole float being the integer it is written as.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

#[test]
fn every_recorded_answer_of_the_api_server_is_given_here_too() {
    let mut compared = 0;
    let mut disagreements = Vec::new();
    for (file, text) in FIXTURES {
        let cases: Vec<Value> = serde_json::from_str(text).unwrap();
        for case in &cases {
            let validator = validator(case);
            for record in case["objects"].as_array().unwrap() {
                compared += 1;
                if let Some(difference) = disagreement(record, &validator) {
                    disagreements
                        .push(format!("{file}/{}: {}\n    {difference}", case["name"], record["object"]));
                }
            }
        }
    }
    assert!(compared > 1000, "only {compared} answers compared");
    assert!(
        disagreements.is_empty(),
        "{} of {compared} answers differ:\n{}",
        disagreements.len(),
        disagreements.join("\n")
    );
}

#[test]
fn every_recorded_status_write_is_answered_here_too() {
    let recorded: Vec<Value> = serde_json::from_str(include_str!("fixtures/server-status.json")).unwrap();
    for case in &recorded {
        let validator = validator(case);
        for record in case["writes"].as_array().unwrap() {
            let object = json!({"apiVersion": "test.example.com/v1", "kind": "K", "metadata": {"name": "ok"},
                                "spec": {"a": "x"}, "status": record["status"]});
            let admission = validator.update_status(&object);
            let told = format!("{}: {}", case["name"], record["status"]);
            match &admission.verdict {
                Verdict::Accepted => {
                    assert_eq!(record["code"], 200, "{told}: accepted, the server says {}", record["causes"]);
                    let status = admission.object.get("status").unwrap_or(&Value::Null);
                    assert!(same(status, &record["stored"]), "{told}: stored {status}");
                }
                Verdict::Rejected(violations) => {
                    let causes =
                        record["causes"].as_array().unwrap_or_else(|| panic!("{told}: {violations:?}"));
                    let server: BTreeSet<&str> =
                        causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
                    let ours: BTreeSet<&str> =
                        violations.iter().map(|violation| violation.path.as_str()).collect();
                    // The server calls the object itself `<nil>`, and says so too when it skips rules.
                    let server: BTreeSet<&str> =
                        server.into_iter().map(|field| field.trim_start_matches("<nil>")).collect();
                    assert!(
                        ours == server || server.difference(&ours).eq([&""]),
                        "{told}: {ours:?}, the server {server:?}"
                    );
                }
                Verdict::Unknown(reasons) => panic!("{told}: unknown: {reasons:?}"),
            }
        }
    }
}
