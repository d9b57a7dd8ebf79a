//! The Applications of the measurement: making, changing and removing many of them at once.

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::cluster::NAMESPACE;

/// How many requests are under way at once.
const AT_ONCE: usize = 32;
pub(super) const FIRST_IMAGE: &str = "docker.io/library/nginx:1.27";
pub(super) const SECOND_IMAGE: &str = "docker.io/library/nginx:1.28";

/// The kind that is measured.
pub(super) fn resource() -> ApiResource {
    let kind = GroupVersionKind::gvk("cloudnative.elide.dev", "v1", "Application");
    ApiResource::from_gvk_with_plural(&kind, "applications")
}

/// The Applications of the measurement.
pub(super) fn api(client: &Client) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), NAMESPACE, &resource())
}

/// An Application as people write them.
pub(super) fn application(name: &str, replicas: u32) -> anyhow::Result<DynamicObject> {
    Ok(serde_json::from_value(json!({
        "apiVersion": "cloudnative.elide.dev/v1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "image": FIRST_IMAGE,
            "strategy": "RollingUpdate",
            "config": {"PORT": "8080", "LOG_LEVEL": "info", "GREETING": format!("hello from {name}")},
            "resources": {
                "requests": {"cpu": "50m", "memory": "64Mi"},
                "limits": {"cpu": "200m", "memory": "128Mi"},
            },
        },
    }))?)
}

pub(super) fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}-{number:05}")).collect()
}

pub(super) async fn create(client: &Client, names: &[String], replicas: u32) -> anyhow::Result<()> {
    let api = api(client);
    at_once(names, async |name| {
        let object = application(name, replicas)?;
        api.create(&PostParams::default(), &object).await.with_context(|| format!("creating {name}"))?;
        Ok(())
    })
    .await
}

pub(super) async fn change_image(client: &Client, names: &[String], image: &str) -> anyhow::Result<()> {
    let api = api(client);
    let patch = Patch::Merge(json!({"spec": {"image": image}}));
    at_once(names, async |name| {
        api.patch(name, &PatchParams::default(), &patch).await.with_context(|| format!("changing {name}"))?;
        Ok(())
    })
    .await
}

pub(super) async fn delete(client: &Client, names: &[String]) -> anyhow::Result<()> {
    let api = api(client);
    at_once(names, async |name| {
        api.delete(name, &DeleteParams::default()).await.with_context(|| format!("deleting {name}"))?;
        Ok(())
    })
    .await
}

async fn at_once(names: &[String], request: impl AsyncFn(&str) -> anyhow::Result<()>) -> anyhow::Result<()> {
    stream::iter(names).map(|name| request(name)).buffer_unordered(AT_ONCE).try_collect().await
}
