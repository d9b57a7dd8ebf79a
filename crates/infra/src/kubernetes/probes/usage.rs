//! What pods use, where the cluster has a metrics API.

use std::collections::BTreeMap;

use serde::Deserialize;
use slipway_domain::health::Usage;

use super::call::{Call, quoted};
use super::quantity::{millis, units};

#[derive(Deserialize)]
struct List {
    items: Vec<Pod>,
}

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
    #[serde(default)]
    containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Deserialize)]
struct Container {
    name: String,
    #[serde(default)]
    usage: BTreeMap<String, String>,
}

/// By pod and container; empty where there is no metrics API.
pub(super) async fn look(call: &Call, namespace: &str, selector: &str) -> BTreeMap<(String, String), Usage> {
    let path = format!(
        "/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods?labelSelector={}",
        quoted(selector)
    );
    let Ok(list) = call.get::<List>(&path).await else { return BTreeMap::new() };
    let containers = list.items.into_iter().flat_map(|pod| {
        let name = pod.metadata.name;
        pod.containers.into_iter().map(move |container| ((name.clone(), container.name), container.usage))
    });
    containers
        .map(|(key, used)| {
            let usage = Usage {
                cpu_millis: used.get("cpu").and_then(|text| millis(text)),
                memory_bytes: used.get("memory").and_then(|text| units(text)),
            };
            (key, usage)
        })
        .collect()
}
