//! Whether images can be pulled, as far as that can be known: those that nodes have already.

use std::collections::BTreeSet;

use serde_json::Value;
use slipway_domain::preflight::{CheckKind, Finding, Level};

use super::super::api::{Api, Trouble};

/// How many nodes are looked at.
const NODES: usize = 500;

/// What is known about the images of manifests.
pub(super) async fn finding<'a>(
    api: &Api,
    manifests: impl Iterator<Item = &'a Value>,
) -> Result<Finding, Trouble> {
    let mut wanted = BTreeSet::new();
    for manifest in manifests {
        images(manifest, &mut wanted);
    }
    let finding = |level, text: &str| Finding::new(CheckKind::Images, level, text);
    if wanted.is_empty() {
        return Ok(finding(Level::Passed, "it runs no images"));
    }
    let nodes = match api.get(&format!("/api/v1/nodes?limit={NODES}")).await {
        Ok(nodes) => nodes,
        Err(Trouble::Refused(_)) => {
            return Ok(finding(Level::Unknown, "which images its nodes have cannot be read"));
        }
        Err(trouble) => return Err(trouble),
    };
    let nodes = nodes.get("items").and_then(Value::as_array).into_iter().flatten();
    let there: BTreeSet<String> = nodes
        .filter_map(|node| node.pointer("/status/images")?.as_array())
        .flatten()
        .filter_map(|image| image.get("names")?.as_array())
        .flatten()
        .filter_map(|name| name.as_str().map(whole))
        .collect();
    let unknown: Vec<String> = wanted.into_iter().filter(|image| !there.contains(&whole(image))).collect();
    if unknown.is_empty() {
        return Ok(finding(Level::Passed, "its nodes have every image already"));
    }
    Ok(finding(Level::Unknown, "no node has these yet; whether they can be pulled shows then").about(unknown))
}

/// The images that an object runs.
fn images(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if matches!(key.as_str(), "containers" | "initContainers") {
                    let containers = value.as_array().into_iter().flatten();
                    let named = containers.filter_map(|one| one.get("image")?.as_str());
                    found.extend(named.map(str::to_owned));
                } else {
                    images(value, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| images(item, found)),
        _ => {}
    }
}

/// A reference as runtimes write it: `nginx` is `docker.io/library/nginx:latest`.
fn whole(image: &str) -> String {
    let first = image.split('/').next().unwrap_or_default();
    let has_host = image.contains('/') && (first.contains(['.', ':']) || first == "localhost");
    let mut whole = match (has_host, image.contains('/')) {
        (true, _) => image.to_owned(),
        (false, true) => format!("docker.io/{image}"),
        (false, false) => format!("docker.io/library/{image}"),
    };
    let last = whole.rsplit('/').next().unwrap_or_default();
    if !last.contains([':', '@']) {
        whole.push_str(":latest");
    }
    whole
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn images_are_found_and_written_whole() {
        let deployment = json!({"spec": {"template": {"spec": {"containers": [{"image": "nginx"}],
            "initContainers": [{"image": "example.test/a:1"}]}}}});
        let mut found = BTreeSet::new();
        images(&deployment, &mut found);
        let whole: Vec<String> = found.iter().map(|image| whole(image)).collect();
        assert_eq!(whole, ["example.test/a:1", "docker.io/library/nginx:latest"]);
        assert_eq!(super::whole("team/app@sha256:1"), "docker.io/team/app@sha256:1");
    }
}
