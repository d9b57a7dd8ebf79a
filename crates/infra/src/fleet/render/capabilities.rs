//! What a cluster offers to charts: its version, and the kinds it serves.

use kube::Client;
use kube::discovery::{ApiGroup, Discovery};
use serde_json::Value;
use slipway_helm::Capabilities;

use crate::fleet::fault::Fault;

/// What a cluster offers now.
pub(super) async fn of(client: &Client) -> Result<Capabilities, Fault> {
    let version = client.apiserver_version().await?;
    let discovery = match Discovery::new(client.clone()).run_aggregated().await {
        Ok(discovery) => discovery,
        // Before Kubernetes 1.30 group by group.
        Err(_) => Discovery::new(client.clone()).run().await?,
    };
    let mut apis: Vec<String> = discovery.groups().flat_map(of_group).collect();
    apis.sort();
    apis.dedup();
    Ok(Capabilities { kubernetes: version.git_version, apis })
}

fn of_group(group: &ApiGroup) -> Vec<String> {
    let mut apis = Vec::new();
    for version in group.versions() {
        for (resource, _) in group.versioned_resources(version) {
            apis.push(resource.api_version.clone());
            apis.push(format!("{}/{}", resource.api_version, resource.kind));
        }
    }
    apis
}

/// Adds what CRDs make a cluster serve. Whether something was new.
pub(super) fn add<'a>(capabilities: &mut Capabilities, crds: impl Iterator<Item = &'a Value>) -> bool {
    let before = capabilities.apis.len();
    for crd in crds {
        let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (group, kind) = (text("/spec/group"), text("/spec/names/kind"));
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
        for version in versions.into_iter().flatten() {
            if version.get("served").and_then(Value::as_bool) != Some(true) {
                continue;
            }
            let Some(version) = version.get("name").and_then(Value::as_str) else { continue };
            capabilities.apis.push(format!("{group}/{version}"));
            capabilities.apis.push(format!("{group}/{version}/{kind}"));
        }
    }
    capabilities.apis.sort();
    capabilities.apis.dedup();
    capabilities.apis.len() > before
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_definition_will_serve_is_there_once() {
        let crd = json!({"spec": {"group": "sea.dev", "names": {"kind": "Boat"}, "versions": [
            {"name": "v1", "served": true}, {"name": "v0", "served": false}]}});
        let mut capabilities = Capabilities::default();
        assert!(add(&mut capabilities, [&crd].into_iter()));
        assert_eq!(capabilities.apis, ["sea.dev/v1", "sea.dev/v1/Boat"]);
        assert!(!add(&mut capabilities, [&crd].into_iter()));
    }
}
