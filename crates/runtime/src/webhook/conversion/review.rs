//! Conversion reviews: read, converted, written.

use std::time::Instant;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Conversions;
use crate::webhook::admission::Rejection;
use crate::webhook::observer::WebhookObserver;

const API_VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<Request>,
}

#[derive(Deserialize)]
struct Request {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired: String,
    objects: Vec<Value>,
}

/// The whole answer to a body. One object that does not convert fails the review, by its name.
pub(crate) fn answer(
    all: &[Conversions],
    observer: Option<&dyn WebhookObserver>,
    body: &[u8],
) -> Result<Value, Rejection> {
    let review: Review = serde_json::from_slice(body)
        .map_err(|error| Rejection::bad(format!("the body is not a {KIND}: {error}")))?;
    if review.kind != KIND || review.api_version != API_VERSION {
        return Err(Rejection::bad(format!(
            "expected {KIND} of {API_VERSION}, got {:?} of {:?}; list v1 alone in conversionReviewVersions",
            review.kind, review.api_version
        )));
    }
    let request = review.request.ok_or_else(|| Rejection::bad(format!("the {KIND} has no request")))?;
    let started = Instant::now();
    let outcome: Result<Vec<Value>, String> =
        request.objects.iter().map(|object| convert(all, object, &request.desired)).collect();
    if let Some(observer) = observer {
        observer.served("conversion", "CONVERT", outcome.is_ok(), started.elapsed());
    }
    let response = match outcome {
        Ok(converted) => json!({
            "uid": request.uid,
            "result": {"status": "Success"},
            "convertedObjects": converted,
        }),
        Err(message) => {
            tracing::warn!("{message}");
            json!({
                "uid": request.uid,
                "result": {"status": "Failure", "code": 422, "reason": "Invalid", "message": message},
            })
        }
    };
    Ok(json!({"apiVersion": API_VERSION, "kind": KIND, "response": response}))
}

fn convert(all: &[Conversions], object: &Value, desired: &str) -> Result<Value, String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let named = |reason: String| {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let place = object
            .pointer("/metadata/namespace")
            .and_then(Value::as_str)
            .map(|namespace| format!("{namespace}/"))
            .unwrap_or_default();
        format!("{kind} {place}{name} cannot be converted to {desired}: {reason}")
    };
    let (group, version) = desired.split_once('/').unwrap_or(("", desired));
    let conversions = all
        .iter()
        .find(|conversions| conversions.kind() == kind && conversions.group() == group)
        .ok_or_else(|| named(format!("no conversions of {kind} in {group} are registered here")))?;
    conversions.convert(object, version).map_err(named)
}
