//! The environment of the pods.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ObjectMeta;
use sha2::{Digest, Sha256};

use super::labels;
use super::names::Names;
use crate::crd::Application;

/// The annotation on pods that changes with their environment, which makes a change roll them.
pub const CONFIG_HASH: &str = "cloudnative.elide.dev/config-hash";

pub(super) fn config_map(app: &Application, names: &Names) -> Option<ConfigMap> {
    let config = &app.spec.config;
    (!config.is_empty()).then(|| ConfigMap {
        metadata: metadata(app, names, &names.config_map),
        data: Some(config.clone()),
        ..ConfigMap::default()
    })
}

/// A hash of the environment; none when there is none.
pub fn config_hash(app: &Application) -> Option<String> {
    let config = &app.spec.config;
    if config.is_empty() {
        return None;
    }
    let mut hasher = Sha256::new();
    for (key, value) in config {
        // Lengths keep `a=bc` and `ab=c` apart.
        hasher.update(key.len().to_be_bytes());
        hasher.update(key);
        hasher.update(value.len().to_be_bytes());
        hasher.update(value);
    }
    let digest: [u8; 32] = hasher.finalize().into();
    let start = digest.first_chunk().copied().map(u64::from_be_bytes).unwrap_or_default();
    Some(format!("{start:016x}"))
}

/// Name, namespace and labels of a child.
pub(super) fn metadata(app: &Application, names: &Names, name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: app.metadata.namespace.clone(),
        labels: Some(labels::of(names)),
        ..ObjectMeta::default()
    }
}
