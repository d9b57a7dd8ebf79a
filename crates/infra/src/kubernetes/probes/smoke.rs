//! The smoke test: an object is made, has to reach a condition, and is removed. It has a namespace of its
//! own, which goes with it, so that nothing of it is left and nothing else is touched.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use slipway_domain::health::{SmokeSeen, SmokeTest};

use super::call::{Call, Fault, quoted};
use super::further::{condition, place};

/// Marks what a smoke test made, with the operator it was for.
const LABEL: &str = "health.slipway.dev/smoke-test";

/// How long is left to clean up after the test's own time.
const CLEANING: Duration = Duration::from_secs(20);

/// How often the object is looked at.
const PAUSE: Duration = Duration::from_millis(250);

/// Runs the test.
pub(super) async fn run(call: &Call, operator: &str, test: &SmokeTest, at: Timestamp) -> SmokeSeen {
    let begun = Instant::now();
    let field = |pointer: &str| test.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let object = format!("{} {}", field("/kind"), field("/metadata/name"));
    let call = call.until(begun + test.within + CLEANING);
    let failure = attempt(&call, operator, test).await.err();
    SmokeSeen { at, object, failure, took: begun.elapsed() }
}

async fn attempt(call: &Call, operator: &str, test: &SmokeTest) -> Result<(), String> {
    let words = |fault: Fault| fault.to_string();
    let field = |pointer: &str| test.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (base, plural, namespaced) =
        place(call, field("/apiVersion"), field("/kind")).await.map_err(words)?;
    let mut object = test.object.clone();
    if !object.get("metadata").is_some_and(Value::is_object) {
        object["metadata"] = json!({});
    }
    object["metadata"]["labels"][LABEL] = json!(operator);
    // What an earlier test left, because its server died, goes first.
    sweep(call, operator, &base, &plural, namespaced).await;
    let namespace = if namespaced {
        let new = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"generateName": "slipway-smoke-", "labels": {LABEL: operator}}});
        let made = call.post("/api/v1/namespaces", &new).await.map_err(words)?;
        let name = made.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        object["metadata"]["namespace"] = json!(name);
        Some(name)
    } else {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("name");
            metadata.remove("namespace");
        }
        object["metadata"]["generateName"] = json!("slipway-smoke-");
        None
    };
    let path = match &namespace {
        Some(namespace) => format!("{base}/namespaces/{namespace}/{plural}"),
        None => format!("{base}/{plural}"),
    };
    let result = try_object(call, &path, &object, test).await;
    // Whatever became of it, it goes.
    if let Some(namespace) = &namespace {
        let _ = call.delete(&format!("/api/v1/namespaces/{namespace}")).await;
    }
    result
}

async fn try_object(call: &Call, path: &str, object: &Value, test: &SmokeTest) -> Result<(), String> {
    let until = Instant::now() + test.within;
    let made = call.post(path, object).await.map_err(|fault| format!("it cannot be made: {fault}"))?;
    let name = made.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let own = format!("{path}/{name}");
    let mut last = "nothing was said about it".to_owned();
    let reached = loop {
        match call.get::<Value>(&own).await {
            Ok(object) => {
                let found = condition(&object, &test.condition);
                let field = |key: &str| found.and_then(|found| found.get(key)).and_then(Value::as_str);
                if field("status") == Some("True") {
                    break true;
                }
                if let Some(message) = field("message").or(field("reason")).filter(|text| !text.is_empty()) {
                    last = message.to_owned();
                }
            }
            Err(fault) => last = fault.to_string(),
        }
        if Instant::now() >= until {
            break false;
        }
        tokio::time::sleep(PAUSE).await;
    };
    let _ = call.delete(&own).await;
    if reached {
        return Ok(());
    }
    Err(format!("{} was not True within {} s: {last}", test.condition, test.within.as_secs()))
}

#[derive(Deserialize)]
struct List {
    // A list of names and labels alone says null where it has none.
    items: Option<Vec<Item>>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

async fn sweep(call: &Call, operator: &str, base: &str, plural: &str, namespaced: bool) {
    let path = if namespaced { "/api/v1/namespaces".to_owned() } else { format!("{base}/{plural}") };
    let selector = quoted(&format!("{LABEL}={operator}"));
    let Ok(list) = call.metadata::<List>(&format!("{path}?labelSelector={selector}")).await else { return };
    for item in list.items.unwrap_or_default() {
        let _ = call.delete(&format!("{path}/{}", item.metadata.name)).await;
    }
}
