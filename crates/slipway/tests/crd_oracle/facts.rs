//! What an API server does when a definition changes under a live object, and that the report names whom
//! the change hits.
//!
//! Each case creates an object, replaces the definition, and then reads the object, creates it again,
//! and updates it in three places. Verdicts and `hits` rest on these answers; should a Kubernetes release
//! answer otherwise, this says so.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use slipway_crd_compat::compare;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::Hit::{self, Create, Read, Status, Update, UpdateField, UpdateParent};
use slipway_crd_compat::finding::Severity::{self, Breaking, Risky, Safe};
use slipway_crd_compat::options::Options;
use tokio::task::JoinSet;

use crate::server::{Answer, Server, collection};

/// What became of what was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Whole,
    Less,
    More,
    Refused(u16),
}

const OK: Seen = Seen::Whole;
const INVALID: Seen = Seen::Refused(422);
const UNKNOWN_FIELD: Seen = Seen::Refused(400);

/// The answers to a read, a create, a strict create, and updates of a label, of another field of the spec,
/// and of the status.
type Answers = [Seen; 6];

/// The row of a rule that became stricter about one value.
const STRICTER: Answers = [OK, INVALID, INVALID, OK, OK, OK];
/// The row of a rule that became stricter about what holds the value.
const STRICTER_BESIDE: Answers = [OK, INVALID, INVALID, OK, INVALID, OK];
/// The row of a field that nobody knows any more.
const LOST: Answers = [Seen::Less, Seen::Less, UNKNOWN_FIELD, OK, OK, OK];

struct Fact {
    name: &'static str,
    /// Where the change is: `/spec`, `/spec/properties/a` or the like.
    at: &'static str,
    old: Value,
    new: Value,
    /// The object's spec.
    spec: Value,
    answers: Answers,
    finding: (&'static str, Severity, &'static [Hit]),
}

fn fact(
    name: &'static str,
    at: &'static str,
    [old, new]: [Value; 2],
    spec: Value,
    answers: Answers,
    finding: (&'static str, Severity, &'static [Hit]),
) -> Fact {
    Fact { name, at, old, new, spec, answers, finding }
}

const FIELD: &[Hit] = &[Create, UpdateField];
const BESIDE: &[Hit] = &[Create, UpdateParent];
const EVERYBODY: &[Hit] = &[Create, Update, Read];

/// Changes of one value.
fn of_a_value() -> Vec<Fact> {
    let integer = json!({"type": "integer"});
    let string = json!({"type": "string"});
    let strings = json!({"type": "array", "items": {"type": "string"}});
    let map = |values: &str| json!({"type": "object", "additionalProperties": {"type": values}});
    let list = |kind: Value| {
        let mut list = json!({"type": "array", "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}});
        list.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
        list
    };
    vec![
        fact(
            "type changed",
            "a",
            [integer.clone(), string.clone()],
            json!({"a": 1}),
            STRICTER,
            ("type-changed", Breaking, FIELD),
        ),
        fact(
            "enum value removed",
            "a",
            [json!({"type": "string", "enum": ["x", "y"]}), json!({"type": "string", "enum": ["y"]})],
            json!({"a": "x"}),
            STRICTER,
            ("enum-value-removed", Breaking, FIELD),
        ),
        fact(
            "maximum lowered",
            "a",
            [json!({"type": "integer", "maximum": 9}), json!({"type": "integer", "maximum": 5})],
            json!({"a": 7}),
            STRICTER,
            ("maximum-tightened", Breaking, FIELD),
        ),
        fact(
            "pattern added",
            "a",
            [string.clone(), json!({"type": "string", "pattern": "^z"})],
            json!({"a": "x"}),
            STRICTER,
            ("pattern-added", Breaking, FIELD),
        ),
        fact(
            "maxItems added",
            "a",
            [strings.clone(), json!({"type": "array", "items": {"type": "string"}, "maxItems": 1})],
            json!({"a": ["x", "y"]}),
            STRICTER,
            ("max-items-tightened", Breaking, FIELD),
        ),
        fact(
            "map value type changed",
            "a",
            [map("integer"), map("string")],
            json!({"a": {"k": 1}}),
            STRICTER,
            ("type-changed", Breaking, FIELD),
        ),
        fact(
            "list becomes a map, duplicate keys are live",
            "a",
            [
                list(json!({})),
                list(json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]})),
            ],
            json!({"a": [{"k": "x"}, {"k": "x"}]}),
            STRICTER,
            ("list-type-changed", Breaking, FIELD),
        ),
        fact(
            "rule added on the field",
            "a",
            [integer, json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5"}]})],
            json!({"a": 1}),
            STRICTER,
            ("cel-rule-added", Breaking, FIELD),
        ),
        fact(
            "nullable removed, the value is null",
            "a",
            [json!({"type": "string", "nullable": true}), string],
            json!({"a": null}),
            [Seen::Less, Seen::Less, Seen::Less, OK, OK, OK],
            ("nullable-removed", Risky, &[Create, Read]),
        ),
        fact(
            "default changed",
            "a",
            [json!({"type": "string", "default": "x"}), json!({"type": "string", "default": "y"})],
            json!({}),
            [OK, Seen::More, Seen::More, OK, OK, OK],
            ("default-changed", Risky, &[Create, Read]),
        ),
    ]
}

/// Changes of what holds the value.
fn of_the_parent() -> Vec<Fact> {
    let object = |more: Value| {
        let mut object =
            json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let plain = || object(json!({}));
    let without_a = json!({"type": "object", "properties": {"b": {"type": "integer"}}});
    let defaulted = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "integer", "default": 3}, "b": {"type": "integer"},
    }});
    vec![
        fact(
            "field removed",
            "",
            [plain(), without_a],
            json!({"a": 1}),
            LOST,
            ("field-removed", Breaking, EVERYBODY),
        ),
        fact(
            "preserve-unknown-fields removed",
            "",
            [object(json!({"x-kubernetes-preserve-unknown-fields": true})), plain()],
            json!({"a": 1, "anything": {"goes": true}}),
            LOST,
            ("preserve-unknown-fields-removed", Breaking, EVERYBODY),
        ),
        fact(
            "required added, the field is absent",
            "",
            [plain(), object(json!({"required": ["a"]}))],
            json!({}),
            STRICTER_BESIDE,
            ("required-added", Breaking, BESIDE),
        ),
        fact(
            "required added with a default",
            "",
            [plain(), defaulted],
            json!({}),
            [Seen::More, Seen::More, Seen::More, OK, OK, OK],
            ("required-added", Safe, &[]),
        ),
        fact(
            "rule added on the parent",
            "",
            [plain(), object(json!({"x-kubernetes-validations": [{"rule": "has(self.b)"}]}))],
            json!({"a": 1}),
            STRICTER_BESIDE,
            ("cel-rule-added", Breaking, FIELD),
        ),
        fact(
            "oneOf added on the parent",
            "",
            [plain(), object(json!({"oneOf": [{"required": ["b"]}, {"required": ["other"]}]}))],
            json!({"a": 1, "other": "x", "b": 1}),
            STRICTER_BESIDE,
            ("condition-added", Breaking, FIELD),
        ),
    ]
}

/// Changes of the status, which the controller writes.
fn of_the_status() -> Vec<Fact> {
    let status = |more: Value| {
        let mut status = json!({"type": "object", "properties": {"phase": {"type": "string"}, "note": {"type": "string"}}});
        status.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        status
    };
    let without_note = json!({"type": "object", "properties": {"phase": {"type": "string"}}});
    vec![
        fact(
            "status: a field becomes required, and is absent",
            "status",
            [status(json!({})), status(json!({"required": ["phase"]}))],
            json!({}),
            [OK, OK, OK, OK, OK, INVALID],
            ("required-added", Breaking, &[Status]),
        ),
        fact(
            "status: field removed",
            "status",
            [status(json!({})), without_note],
            json!({}),
            [OK, OK, OK, OK, OK, Seen::Less],
            ("field-removed", Breaking, &[Read, Status]),
        ),
    ]
}

impl Fact {
    /// The definition with one of the two schemas in its place; `other` is there for updates beside it.
    fn definition(&self, group: &str, schema: &Value) -> Value {
        let mut spec = json!({"type": "object", "properties": {"other": {"type": "string"}}});
        let mut status = json!({"type": "object", "properties": {"note": {"type": "string"}}});
        match self.at {
            "status" => status = schema.clone(),
            "" => {
                spec = schema.clone();
                spec["properties"]["other"] = json!({"type": "string"});
            }
            field => spec["properties"][field] = schema.clone(),
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("boats.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
                }],
            },
        })
    }

    async fn answers(&self, server: &Server, old: &Value, new: &Value) -> Answers {
        let group = old["spec"]["group"].as_str().unwrap();
        let list = collection(old, "v1", "default");
        let boat = |name: &str| json!({"apiVersion": format!("{group}/v1"), "kind": "Boat", "metadata": {"name": name}, "spec": self.spec});
        server.define(old, "before").await.unwrap();
        let stored = server.ask(Method::POST, &list, Some(&boat("stored"))).await;
        assert!(stored.is_success(), "{}: {}", self.name, stored.message());
        server.define(new, "after").await.unwrap();

        let (whole, sent) = (&stored.body["spec"], &self.spec);
        let one = format!("{list}/stored");
        let read = server.ask(Method::GET, &one, None).await;
        let dry = "dryRun=All&fieldValidation";
        let create = server.ask(Method::POST, &format!("{list}?{dry}=Ignore"), Some(&boat("again"))).await;
        let strict = server.ask(Method::POST, &format!("{list}?{dry}=Strict"), Some(&boat("again"))).await;
        let label = json!({"metadata": {"labels": {"l": "x"}}});
        let label = server.merge(&format!("{one}?dryRun=All"), &label).await;
        let other = server.merge(&format!("{one}?dryRun=All"), &json!({"spec": {"other": "y"}})).await;
        let status = json!({"status": {"note": "n"}});
        let status_answer = server.merge(&format!("{one}/status?dryRun=All"), &status).await;
        [
            seen(&read, whole, "spec"),
            seen(&create, sent, "spec"),
            seen(&strict, sent, "spec"),
            accepted(&label),
            accepted(&other),
            seen(&status_answer, &status["status"], "status"),
        ]
    }
}

fn accepted(answer: &Answer) -> Seen {
    if answer.is_success() { OK } else { Seen::Refused(answer.code) }
}

/// What is left of a part of the object.
fn seen(answer: &Answer, was: &Value, part: &str) -> Seen {
    let empty = json!({});
    let is = answer.body.get(part).unwrap_or(&empty);
    let names = |value: &Value| value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>());
    if !answer.is_success() {
        Seen::Refused(answer.code)
    } else if is == was {
        Seen::Whole
    } else if names(is) > names(was) {
        Seen::More
    } else {
        Seen::Less
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_does_what_the_hits_of_a_finding_say() {
    let server = Arc::new(Server::start().await);
    let mut tasks = JoinSet::new();
    for (index, fact) in [of_a_value(), of_the_parent(), of_the_status()].into_iter().flatten().enumerate() {
        let server = server.clone();
        tasks.spawn(async move {
            let group = format!("fact{index}.example.test");
            let (old, new) = (fact.definition(&group, &fact.old), fact.definition(&group, &fact.new));
            let answers = fact.answers(&server, &old, &new).await;
            let report =
                compare(&Crd::from_value(old).unwrap(), &Crd::from_value(new).unwrap(), &Options::default());
            let found: Vec<_> =
                report.findings.iter().map(|f| (f.id, f.severity, f.hits.as_slice())).collect();
            let mut wrong = Vec::new();
            if answers != fact.answers {
                wrong.push(format!("{}: {answers:?} instead of {:?}", fact.name, fact.answers));
            }
            if !found.contains(&fact.finding) {
                wrong.push(format!("{}: {found:?} lacks {:?}", fact.name, fact.finding));
            }
            wrong
        });
    }
    let wrong: Vec<String> = tasks.join_all().await.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
