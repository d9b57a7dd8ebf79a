use std::sync::Mutex;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;

use super::*;
use crate::webhook::{Mutate, Validate};

/// Refuses maps that hold these keys.
struct Without(&'static str);

impl Validate<ConfigMap> for Without {
    async fn validate(&self, review: &Review<ConfigMap>) -> Verdict {
        let mut verdict = Verdict::new();
        let data = review.object.as_ref().and_then(|map| map.data.as_ref());
        if data.is_some_and(|data| data.contains_key(self.0)) {
            verdict.deny(format!("data.{}", self.0), "is not allowed");
            verdict.warn("look it up");
        }
        if review.operation == Operation::Delete {
            verdict.deny("", format!("{} stays", review.name));
        }
        verdict
    }
}

struct Panics;

impl Validate<ConfigMap> for Panics {
    async fn validate(&self, _: &Review<ConfigMap>) -> Verdict {
        panic!("what now")
    }
}

struct Never;

impl Validate<ConfigMap> for Never {
    async fn validate(&self, _: &Review<ConfigMap>) -> Verdict {
        std::future::pending().await
    }
}

/// Adds an entry, or refuses a map that has it twice over.
struct With(&'static str);

impl Mutate<ConfigMap> for With {
    async fn mutate(&self, review: &Review<ConfigMap>, map: &mut ConfigMap) -> Result<(), Denial> {
        let before = review
            .object
            .as_ref()
            .and_then(|map| map.data.as_ref())
            .map_or(0, std::collections::BTreeMap::len);
        let data = map.data.get_or_insert_default();
        if data.contains_key("refuse") {
            return Err(Denial::new("data.refuse", "as it says"));
        }
        data.insert(self.0.to_owned(), before.to_string());
        Ok(())
    }
}

#[derive(Default)]
struct Notes(Mutex<Vec<(String, String, bool)>>);

impl WebhookObserver for Notes {
    fn served(&self, webhook: &str, operation: &str, allowed: bool, _: Duration) {
        self.0.lock().unwrap().push((webhook.to_owned(), operation.to_owned(), allowed));
    }
}

fn review(operation: &str, object: &Value, old: &Value) -> Value {
    json!({"apiVersion": API_VERSION, "kind": KIND, "request": {
        "uid": "u", "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "map", "namespace": "default", "operation": operation,
        "userInfo": {"username": "me", "groups": ["us"]}, "object": object, "oldObject": old,
    }})
}

fn map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}, "data": data})
}

async fn ask(set: &WebhookSet, path: Path, body: &Value) -> Result<Value, Rejection> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(9);
    let admission = Admission { set, observer: None, deadline };
    let answer = admission.answer(path, &serde_json::to_vec(body).unwrap()).await?;
    assert_eq!(answer["response"]["uid"], "u");
    Ok(answer["response"].clone())
}

fn patch_of(response: &Value) -> json_patch::Patch {
    let patch = BASE64.decode(response["patch"].as_str().unwrap()).unwrap();
    serde_json::from_slice(&patch).unwrap()
}

#[tokio::test]
async fn all_denials_of_all_validators_are_reported_together() {
    let set = WebhookSet::new().validate("a", Without("x")).validate("b", Without("y"));
    let notes = Notes::default();
    let deadline = tokio::time::Instant::now() + Duration::from_secs(9);
    let admission = Admission { set: &set, observer: Some(&notes), deadline };
    let body = review("CREATE", &map(&json!({"x": "1", "y": "2"})), &Value::Null);
    let answer = admission.answer(Path::Validate, &serde_json::to_vec(&body).unwrap()).await.unwrap();
    let response = &answer["response"];
    assert_eq!(response["allowed"], false);
    assert_eq!(response["status"]["message"], "2 problems: data.x: is not allowed; data.y: is not allowed");
    assert_eq!(response["status"]["details"]["causes"].as_array().unwrap().len(), 2);
    assert_eq!(response["warnings"], json!(["look it up"]));
    let refused = |name: &str| (name.to_owned(), "CREATE".to_owned(), false);
    assert_eq!(*notes.0.lock().unwrap(), [refused("a"), refused("b")]);
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_by_validators_and_passed_by_mutators() {
    let set = WebhookSet::new().validate("a", Without("x")).mutate("b", With("y"));
    let body = review("CREATE", &map(&json!({"x": 1})), &Value::Null);
    let response = ask(&set, Path::Validate, &body).await.unwrap();
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("data.x: cannot be read: "), "{message}");
    let response = ask(&set, Path::Mutate, &body).await.unwrap();
    assert_eq!(response, json!({"uid": "u", "allowed": true}));
}

#[tokio::test]
async fn a_broken_object_can_be_mended_and_can_leave() {
    let set = WebhookSet::new().register(
        crate::webhook::Registration::validating("a", Without("x"))
            .operations([Operation::Update, Operation::Delete]),
    );
    let broken = map(&json!({"y": 1}));
    let mended = review("UPDATE", &map(&json!({"y": "1"})), &broken);
    assert_eq!(ask(&set, Path::Validate, &mended).await.unwrap()["allowed"], true);
    let response = ask(&set, Path::Validate, &review("DELETE", &Value::Null, &broken)).await.unwrap();
    assert_eq!(response["allowed"], true);
    assert!(response["warnings"][0].as_str().unwrap().starts_with("not judged while it is deleted: data.y"));
    let readable = review("DELETE", &Value::Null, &map(&json!({})));
    assert_eq!(ask(&set, Path::Validate, &readable).await.unwrap()["status"]["message"], "map stays");
}

#[tokio::test]
async fn a_finalizer_can_be_taken_off_an_object_that_new_rules_refuse() {
    let set = WebhookSet::new().validate("a", Without("x"));
    let mut old = map(&json!({"x": "1"}));
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    old["metadata"]["finalizers"] = json!(["example.test/f"]);
    let mut object = old.clone();
    object["metadata"]["finalizers"] = json!([]);
    assert_eq!(ask(&set, Path::Validate, &review("UPDATE", &object, &old)).await.unwrap()["allowed"], true);
    // But nothing else is smuggled in on the way.
    object["data"]["z"] = "2".into();
    assert_eq!(ask(&set, Path::Validate, &review("UPDATE", &object, &old)).await.unwrap()["allowed"], false);
}

#[tokio::test]
async fn mutators_build_on_one_another_and_one_patch_comes_out() {
    let set = WebhookSet::new().mutate("a", With("first")).register(
        crate::webhook::Registration::mutating("b", With("second")).with_finalizer("example.test/f"),
    );
    let mut object = map(&json!({"x": "1"}));
    object["metadata"]["unknown"] = json!({"kept": true});
    let response = ask(&set, Path::Mutate, &review("CREATE", &object, &Value::Null)).await.unwrap();
    assert_eq!(response["patchType"], "JSONPatch");
    let mut patched = object.clone();
    json_patch::patch(&mut patched, &patch_of(&response)).unwrap();
    let mut expected = map(&json!({"x": "1", "first": "1", "second": "2"}));
    expected["metadata"]["unknown"] = json!({"kept": true});
    expected["metadata"]["finalizers"] = json!(["example.test/f"]);
    assert_eq!(patched, expected);

    let update = review("UPDATE", &object, &object);
    let response = ask(&set, Path::Mutate, &update).await.unwrap();
    assert_eq!(patch_of(&response).0.len(), 2);
}

#[tokio::test]
async fn a_mutator_that_changes_nothing_sends_no_patch_and_one_may_refuse() {
    let set = WebhookSet::new().mutate("a", With("x"));
    let body = review("CREATE", &map(&json!({"x": "1"})), &Value::Null);
    assert_eq!(ask(&set, Path::Mutate, &body).await.unwrap(), json!({"uid": "u", "allowed": true}));
    let body = review("CREATE", &map(&json!({"refuse": "1"})), &Value::Null);
    assert_eq!(ask(&set, Path::Mutate, &body).await.unwrap()["status"]["message"], "data.refuse: as it says");
}

#[tokio::test]
async fn a_panic_is_an_error_of_the_server_and_names_the_webhook() {
    let set = WebhookSet::new().validate("fragile", Panics);
    let rejection =
        ask(&set, Path::Validate, &review("CREATE", &map(&json!({})), &Value::Null)).await.unwrap_err();
    assert_eq!(rejection.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(rejection.message.contains("fragile"));
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_never_answers_is_not_waited_for() {
    let set = WebhookSet::new().validate("quick", Without("x")).validate("slow", Never);
    let rejection =
        ask(&set, Path::Validate, &review("CREATE", &map(&json!({})), &Value::Null)).await.unwrap_err();
    assert_eq!(rejection, Rejection::new(StatusCode::GATEWAY_TIMEOUT, "webhook slow did not answer in time"));
}

#[tokio::test]
async fn a_request_that_nobody_is_for_is_refused_as_a_mistake() {
    let set = WebhookSet::new().mutate("a", With("x"));
    let body = review("CREATE", &map(&json!({})), &Value::Null);
    let response = ask(&set, Path::Validate, &body).await.unwrap();
    assert_eq!(response["allowed"], false);
    assert_eq!(response["status"]["code"], 400);
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("no webhook at /validate is for CREATE of configmaps in /v1"), "{message}");
}

#[tokio::test]
async fn only_reviews_of_version_1_are_understood() {
    let set = WebhookSet::new().validate("a", Without("x"));
    let mut body = review("CREATE", &map(&json!({})), &Value::Null);
    body["apiVersion"] = "admission.k8s.io/v1beta1".into();
    let rejection = ask(&set, Path::Validate, &body).await.unwrap_err();
    assert_eq!(rejection.status, StatusCode::BAD_REQUEST);
    assert!(rejection.message.contains("v1beta1"), "{}", rejection.message);
    assert!(ask(&set, Path::Validate, &json!("?")).await.unwrap_err().message.contains("not a JSON object"));
    let empty = json!({"apiVersion": API_VERSION, "kind": KIND});
    assert!(ask(&set, Path::Validate, &empty).await.unwrap_err().message.contains("has no request"));
}
