//! Asking webhooks: the API server is asked to change an object by dry run, and calls them for it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use slipway_domain::health::WebhookAnswer;

use super::call::{Call, Fault, base};
use super::hook::Hook;
use super::matching::{Candidate, Operation};
use super::release::Registration;

/// What a dry run gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) end: End,
    /// How long the webhooks took together, at most.
    pub(super) latency: Option<Duration>,
}

/// How a dry run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// All that look at the object answered, and none refused.
    Passed,
    /// One could not be called.
    Failed { webhook: String, message: String },
    /// One refused: it works.
    Denied { webhook: String },
    /// One of somebody has side effects, so the API server does no dry run.
    NoDryRun { webhook: String },
    /// The object is not valid; those that change objects were called before that was seen.
    Invalid { message: String },
    /// Something else.
    Other { message: String },
}

impl Outcome {
    /// What it says about a webhook that looks at the object; nothing if it says nothing.
    pub(super) fn about(&self, hook: &Hook) -> Option<WebhookAnswer> {
        match &self.end {
            End::Passed if hook.conditional => {
                Some(WebhookAnswer::NotAsked { why: "its match conditions may have left it out".to_owned() })
            }
            End::Passed => Some(WebhookAnswer::Answered),
            End::Failed { webhook, message } if *webhook == hook.name => {
                Some(WebhookAnswer::Failed { message: message.clone() })
            }
            End::Denied { webhook } if *webhook == hook.name => Some(WebhookAnswer::Answered),
            // Changing comes before judging, so whoever judges was reached only after all who change.
            End::Denied { .. } | End::Failed { .. } | End::NoDryRun { .. } | End::Other { .. } => None,
            End::Invalid { .. } => (hook.registration == Registration::Mutating && !hook.conditional)
                .then_some(WebhookAnswer::Answered),
        }
    }

    /// Why nothing can be said of a webhook that looks at the object.
    pub(super) fn why_not(&self) -> String {
        match &self.end {
            End::Passed => "it was left out".to_owned(),
            End::Failed { webhook, .. } => format!("webhook \"{webhook}\" failed before it"),
            End::Denied { webhook } => format!("webhook \"{webhook}\" refused before it"),
            End::NoDryRun { webhook } => {
                format!("webhook \"{webhook}\" beside it has side effects, so nothing can be tried")
            }
            End::Invalid { message } | End::Other { message } => message.clone(),
        }
    }
}

/// Asks the API server to do something to an object without doing it.
pub(super) async fn ask(call: &Call, candidate: &Candidate, operation: Operation) -> Outcome {
    let resource = &candidate.resource;
    let mut path = base(&resource.group, &resource.version);
    if let Some(namespace) = &candidate.namespace {
        let _ = write!(path, "/namespaces/{namespace}");
    }
    let _ = write!(path, "/{}", resource.plural);
    let query = "dryRun=All&fieldManager=slipway-health";
    let begun = Instant::now();
    let (answer, plain) = match operation {
        Operation::Create => {
            let object = fresh(&candidate.object, candidate.namespace.as_deref());
            (call.post(&format!("{path}?{query}"), &object).await, Duration::ZERO)
        }
        Operation::Update => {
            let name = candidate.object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            // What the way to the API server takes is not the webhook's fault.
            let read = call.get::<Value>(&format!("{path}/{name}")).await;
            let plain = begun.elapsed();
            if let Err(fault) = read {
                return Outcome { end: end(Err(fault)), latency: None };
            }
            (call.patch(&format!("{path}/{name}?{query}"), &json!({})).await, plain * 2)
        }
    };
    let end = end(answer.map(drop));
    let answered = matches!(end, End::Passed | End::Denied { .. });
    Outcome { end, latency: answered.then(|| begun.elapsed().saturating_sub(plain)) }
}

/// A new object like this one.
fn fresh(object: &Value, namespace: Option<&str>) -> Value {
    let mut fresh: Map<String, Value> = object.as_object().cloned().unwrap_or_default();
    fresh.remove("status");
    let mut metadata = json!({"generateName": "slipway-health-"});
    for key in ["labels", "annotations"] {
        if let Some(value) = object.pointer(&format!("/metadata/{key}")) {
            metadata[key] = value.clone();
        }
    }
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    fresh.insert("metadata".to_owned(), metadata);
    Value::Object(fresh)
}

fn end(answer: Result<(), Fault>) -> End {
    let fault = match answer {
        Ok(()) => return End::Passed,
        Err(fault) => fault,
    };
    let code = fault.code();
    let message = fault.to_string();
    if let Some((webhook, rest)) = named(&message, "failed calling webhook \"") {
        let cause = rest.trim_start_matches([':', ' ']);
        let cause = cause.strip_prefix("failed to call webhook: ").unwrap_or(cause);
        return End::Failed { webhook, message: cause.to_owned() };
    }
    if let Some((webhook, rest)) = named(&message, "admission webhook \"") {
        if rest.contains("does not support dry run") {
            return End::NoDryRun { webhook };
        }
        return End::Denied { webhook };
    }
    match code {
        Some(422 | 400) => End::Invalid { message },
        _ => End::Other { message },
    }
}

/// The name in quotes that follows these words, and what comes after it.
fn named(message: &str, words: &str) -> Option<(String, String)> {
    let (name, rest) = message.split_once(words)?.1.split_once('"')?;
    Some((name.to_owned(), rest.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, message: &str) -> End {
        end(Err(Fault::Refused { code, message: message.to_owned() }))
    }

    #[test]
    fn what_the_api_server_says_is_understood() {
        let failed = refused(
            500,
            "Internal error occurred: failed calling webhook \"v.sea.dev\": failed to call webhook: Post \"https://127.0.0.1:1/v?timeout=10s\": dial tcp 127.0.0.1:1: connect: connection refused",
        );
        let End::Failed { webhook, message } = failed else { panic!("{failed:?}") };
        assert_eq!(webhook, "v.sea.dev");
        assert!(message.starts_with("Post \"https://127.0.0.1:1/v?timeout=10s\": dial tcp"), "{message}");
        assert_eq!(
            refused(403, "admission webhook \"v.sea.dev\" denied the request: too wide"),
            End::Denied { webhook: "v.sea.dev".into() }
        );
        assert_eq!(
            refused(400, "admission webhook \"v.sea.dev\" does not support dry run"),
            End::NoDryRun { webhook: "v.sea.dev".into() }
        );
        assert!(matches!(refused(422, "Boat \"a\" is invalid"), End::Invalid { .. }));
        assert!(matches!(refused(403, "boats is forbidden"), End::Other { .. }));
        assert_eq!(end(Ok(())), End::Passed);
    }

    #[test]
    fn a_new_object_has_no_trace_of_the_old_one() {
        let old = json!({"kind": "Boat", "metadata": {"name": "a", "uid": "u", "resourceVersion": "1",
            "labels": {"a": "b"}, "ownerReferences": []}, "spec": {"x": 1}, "status": {"y": 2}});
        let expected = json!({"kind": "Boat", "metadata": {"generateName": "slipway-health-", "namespace": "sea",
            "labels": {"a": "b"}}, "spec": {"x": 1}});
        assert_eq!(fresh(&old, Some("sea")), expected);
    }
}
