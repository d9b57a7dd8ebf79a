//! Taking a release away. CRDs and custom resources stay, unless somebody says otherwise.

use std::time::{Duration, Instant};

use serde_json::Value;
use slipway_helm::{HelmError, Uninstall};
use slipway_orchestrator::ports::fleet::{Removal, Subject};
use slipway_orchestrator::ports::probes::ReleaseAt;

use super::api::Api;
use super::definition::PATH;
use super::fault::Fault;
use super::site::Site;
use super::{keep, revisions};

/// How long it may take.
const WITHIN: Duration = Duration::from_mins(5);
/// How often what goes is looked at.
const PAUSE: Duration = Duration::from_millis(500);

/// Takes the release of a subject away: what was left, in words.
pub(super) async fn run(site: &Site, subject: &Subject, removal: Removal) -> Result<Vec<String>, Fault> {
    let api = Api::new(site.client.clone(), subject.cluster.as_str(), Instant::now() + WITHIN);
    let release = &subject.placement.release;
    let mut crds: Vec<String> = subject.crds.clone();
    crds.extend(remove(site, &api, release, site.kubeconfig().await?).await?);
    crds.sort();
    crds.dedup();
    let mut left = Vec::new();
    for name in crds {
        let path = format!("{PATH}/{name}");
        if api.find(&path).await?.is_none() {
            continue;
        }
        if !removal.with_crds {
            left.push(format!("CustomResourceDefinition {name} and its custom resources"));
            continue;
        }
        api.delete(&path).await?;
        gone(&api, &path, &name).await?;
    }
    Ok(left)
}

/// Takes a release away with helm, its CRDs out of helm's reach; their names.
pub(crate) async fn remove(
    site: &Site,
    api: &Api,
    release: &ReleaseAt,
    cluster: slipway_helm::Kubeconfig,
) -> Result<Vec<String>, Fault> {
    if revisions::newest(api, release).await?.is_none() {
        return Ok(Vec::new());
    }
    let crds = keep::crds(api, release).await?;
    let uninstall = Uninstall {
        release: &release.name,
        namespace: &release.namespace,
        hooks: true,
        deadline: api.left(),
    };
    match site.helm.uninstall(&cluster, uninstall).await {
        Ok(()) | Err(HelmError::NoRelease { .. }) => Ok(crds),
        Err(error) => Err(error.into()),
    }
}

/// Waits until an object is gone: finalizers of custom resources may want to do their part.
async fn gone(api: &Api, path: &str, name: &str) -> Result<(), Fault> {
    loop {
        let Some(live) = api.find(path).await? else { return Ok(()) };
        if api.left() < 2 * PAUSE {
            let why = live.pointer("/status/conditions").and_then(Value::as_array).and_then(|conditions| {
                let all = &mut conditions.iter();
                let going = all.find(|it| it.get("type").and_then(Value::as_str) == Some("Terminating"))?;
                going.get("message").and_then(Value::as_str).map(str::to_owned)
            });
            let why =
                why.unwrap_or_else(|| "its custom resources have finalizers that nobody removes".to_owned());
            return Err(Fault::Failed(format!("CustomResourceDefinition {name} does not go: {why}")));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
