use serde_json::json;

use super::*;

fn boats() -> Conversions {
    Conversions::new("example.test", "Boat", "v1")
        .version(
            "v1beta1",
            |mut boat| {
                let crew = boat["spec"]["sailors"].take();
                let crew = crew.as_i64().ok_or("spec.sailors is not a number")?;
                boat["spec"] = json!({"crew": crew});
                Ok(boat)
            },
            |mut boat| {
                boat["spec"] = json!({"sailors": boat["spec"]["crew"]});
                boat["metadata"] = json!({"name": "tampered", "uid": "x", "labels": {"from": "hub"}});
                Ok(boat)
            },
        )
        .version("v1alpha1", |_| Ok(json!({"spec": {}})), |_| panic!("sank"))
}

fn boat(version: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("example.test/{version}"), "kind": "Boat", "spec": spec,
        "metadata": {"name": "ark", "namespace": "sea", "uid": "1", "labels": {"a": "b"}, "generation": 3},
    })
}

#[test]
fn metadata_passes_untouched_but_for_labels_and_annotations() {
    let converted = boats().convert(&boat("v1", &json!({"crew": 2})), "v1beta1").unwrap();
    assert_eq!(
        converted,
        json!({
            "apiVersion": "example.test/v1beta1", "kind": "Boat", "spec": {"sailors": 2},
            "metadata": {"name": "ark", "namespace": "sea", "uid": "1", "labels": {"from": "hub"}, "generation": 3},
        })
    );
}

#[test]
fn a_converter_that_forgets_the_metadata_loses_nothing() {
    let converted = boats().convert(&boat("v1alpha1", &json!({})), "v1").unwrap();
    assert_eq!(converted["metadata"], boat("v1", &json!({}))["metadata"]);
    assert_eq!(converted["apiVersion"], "example.test/v1");
    assert_eq!(converted["kind"], "Boat");
}

#[test]
fn two_versions_meet_at_the_hub() {
    let converted = boats().convert(&boat("v1beta1", &json!({"sailors": 4})), "v1").unwrap();
    let back = boats().convert(&converted, "v1beta1").unwrap();
    assert_eq!(back["spec"], json!({"sailors": 4}));
}

#[test]
fn the_same_version_comes_back_as_it_was() {
    let boat = boat("v1beta1", &json!({"sailors": "many"}));
    assert_eq!(boats().convert(&boat, "v1beta1").unwrap(), boat);
}

#[test]
fn unknown_versions_are_named_with_those_there_are() {
    let error = boats().convert(&boat("v2", &json!({})), "v1").unwrap_err();
    assert_eq!(error, "example.test Boat has no version \"v2\" here; there are v1alpha1, v1beta1, v1");
    assert!(boats().convert(&boat("v1", &json!({})), "v3").unwrap_err().contains("\"v3\""));
}

fn review(objects: &[Value], desired: &str) -> Value {
    let body = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "7", "desiredAPIVersion": desired, "objects": objects},
    });
    let answer = answer(&[boats()], None, &serde_json::to_vec(&body).unwrap()).unwrap();
    answer["response"].clone()
}

#[test]
fn objects_are_converted_in_order() {
    let objects: Vec<Value> = (0..3).map(|sailors| boat("v1beta1", &json!({"sailors": sailors}))).collect();
    let response = review(&objects, "example.test/v1");
    assert_eq!(response["uid"], "7");
    let crews: Vec<i64> = response["convertedObjects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|boat| boat["spec"]["crew"].as_i64().unwrap())
        .collect();
    assert_eq!(crews, [0, 1, 2]);
}

#[test]
fn one_object_that_does_not_convert_fails_the_review_by_name() {
    let objects = [boat("v1beta1", &json!({"sailors": 1})), boat("v1beta1", &json!({"sailors": "many"}))];
    let response = review(&objects, "example.test/v1");
    assert_eq!(response["result"]["status"], "Failure");
    assert_eq!(
        response["result"]["message"],
        "Boat sea/ark cannot be converted to example.test/v1: spec.sailors is not a number"
    );
    assert!(response.get("convertedObjects").is_none());
}

#[test]
fn a_panic_in_a_converter_is_an_answer() {
    let response = review(&[boat("v1", &json!({}))], "example.test/v1alpha1");
    let message = response["result"]["message"].as_str().unwrap();
    assert!(message.ends_with("the conversion to v1alpha1 panicked: sank"), "{message}");
}

#[test]
fn a_kind_nobody_registered_is_named() {
    let mut stranger = boat("v1", &json!({}));
    stranger["kind"] = "Ship".into();
    let response = review(&[stranger], "example.test/v1beta1");
    assert!(
        response["result"]["message"].as_str().unwrap().contains("no conversions of Ship in example.test")
    );
}
