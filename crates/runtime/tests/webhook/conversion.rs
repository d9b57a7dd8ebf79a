//! Conversion through a real API server.

use kube::api::{ListParams, PostParams};
use serde_json::json;

use crate::boats::{Harbour, boat, boats};

#[tokio::test]
async fn objects_are_read_in_either_version_and_one_that_cannot_be_is_named() {
    let harbour = Harbour::open().await;
    let (new, old) = (boats(&harbour.client, "v1"), boats(&harbour.client, "v1beta1"));
    let written = boat("v1beta1", "ark", &json!({"sailors": 8, "colour": "brown"}));
    old.create(&PostParams::default(), &written).await.unwrap();

    let at_hub = new.get("ark").await.unwrap();
    assert_eq!(at_hub.data["spec"], json!({"crew": 8, "colour": "brown"}));
    let back = old.get("ark").await.unwrap();
    assert_eq!(back.data["spec"], json!({"sailors": 8, "colour": "brown"}));
    assert_eq!(back.metadata.uid, at_hub.metadata.uid);
    assert_eq!(back.metadata.finalizers, at_hub.metadata.finalizers);

    let crowded = boat("v1", "crowded", &json!({"crew": 101}));
    new.create(&PostParams::default(), &crowded).await.unwrap();
    for error in [
        old.get("crowded").await.unwrap_err().to_string(),
        old.list(&ListParams::default()).await.unwrap_err().to_string(),
    ] {
        let reason = "Boat default/crowded cannot be converted to example.test/v1beta1: \
                      no boat of old had a crew of 101";
        assert!(error.contains(reason), "{error}");
    }
}
