//! Admission through a real API server.

use kube::api::PostParams;
use kube::client::Body;
use serde_json::json;

use crate::boats::{Harbour, boat, boats};

#[tokio::test]
async fn whoever_is_refused_learns_of_all_problems_at_once() {
    let harbour = Harbour::open().await;
    let bad = boat("v1", "bad", &json!({"crew": 0, "colour": "black"}));
    let error = boats(&harbour.client, "v1").create(&PostParams::default(), &bad).await.unwrap_err();
    let kube::Error::Api(status) = error else { panic!("the API server answers: {error}") };
    assert_eq!(status.code, 403);
    assert_eq!(
        status.message,
        "admission webhook \"validate.boats.example.test\" denied the request: 2 problems: \
         spec.crew: must be at least 1; spec.colour: must not be black, which is for pirates"
    );
    let fields: Vec<String> = status.details.unwrap().causes.into_iter().map(|cause| cause.field).collect();
    assert_eq!(fields, ["spec.crew", "spec.colour"]);

    // The older version is judged as the newer one.
    let bad = boat("v1beta1", "bad", &json!({"sailors": 0}));
    let error = boats(&harbour.client, "v1beta1").create(&PostParams::default(), &bad).await.unwrap_err();
    assert!(error.to_string().contains("spec.crew: must be at least 1"), "{error}");
}

#[tokio::test]
async fn warnings_arrive_and_defaults_are_added_beside_unknown_fields() {
    let harbour = Harbour::open().await;
    let large = boat("v1", "large", &json!({"crew": 12, "sails": {"main": 1}}));
    let request = http::Request::post("/apis/example.test/v1/namespaces/default/boats")
        .header("content-type", "application/json")
        .body(Body::from(serde_json::to_vec(&large).unwrap()))
        .unwrap();
    let response = harbour.client.send(request).await.unwrap();
    assert_eq!(response.status(), 201);
    let warnings: Vec<&str> =
        response.headers().get_all("warning").iter().map(|warning| warning.to_str().unwrap()).collect();
    assert_eq!(warnings, ["299 - \"a crew of 12 is large\""]);

    let stored = boats(&harbour.client, "v1").get("large").await.unwrap();
    assert_eq!(stored.data["spec"], json!({"crew": 12, "sails": {"main": 1}, "colour": "white"}));
    assert_eq!(stored.metadata.finalizers.unwrap(), ["example.test/mooring"]);
}
