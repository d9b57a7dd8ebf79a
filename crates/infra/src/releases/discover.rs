//! One look at a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, PartialObjectMeta};
use kube::core::ObjectMeta;
use kube::{Api, Client, Resource};
use serde_json::Map;
use slipway_domain::id::ClusterId;
use slipway_domain::operator::{InstallationState, Manager, Seen};
use slipway_orchestrator::ports::releases::{FoundRelease, ReleasesError};

use super::HelmReleases;
use super::decode::{Release, release};
use super::manager::{Mark, of_manifest, of_object};

/// How many objects one page of a list has, and how many pages are read at most.
const PAGE: u32 = 500;
const MOST_PAGES: usize = 100;
/// How many releases of one cluster are looked after.
const MOST_RELEASES: usize = 1000;
/// How many Secrets are read at once.
const AT_ONCE: usize = 4;

type Key = (String, String);

impl HelmReleases {
    pub(super) async fn look(
        &self,
        cluster: ClusterId,
        client: Client,
    ) -> Result<Vec<FoundRelease>, ReleasesError> {
        let newest = newest_revisions(&client).await?;
        let workloads = workloads(&client).await?;
        let marks = marks_of_releases(&workloads);
        let read = newest.into_iter().map(|(key, secret)| {
            let (client, marks) = (client.clone(), &marks);
            async move {
                let found = self.read(cluster, &client, &key, &secret).await?;
                Ok::<_, ReleasesError>(found.map(|found| marked(&found, marks.get(&key))))
            }
        });
        let read: Vec<Option<FoundRelease>> =
            futures::stream::iter(read).buffer_unordered(AT_ONCE).try_collect().await?;
        let mut found: Vec<FoundRelease> = read.into_iter().flatten().collect();
        let releases: BTreeSet<Key> =
            found.iter().map(|found| (found.seen.namespace.clone(), found.seen.release.clone())).collect();
        found.extend(without_release(&workloads, &releases));
        found.sort_by(|a, b| (&a.seen.namespace, &a.seen.release).cmp(&(&b.seen.namespace, &b.seen.release)));
        Ok(found)
    }

    /// One release, from its Secret unless that is known; nothing where it is gone, or is no release.
    async fn read(
        &self,
        cluster: ClusterId,
        client: &Client,
        key: &Key,
        secret: &ObjectMeta,
    ) -> Result<Option<Arc<FoundRelease>>, ReleasesError> {
        let name = secret.name.clone().unwrap_or_default();
        let uid = secret.uid.clone().unwrap_or_default();
        let version = secret.resource_version.clone().unwrap_or_default();
        let known = (cluster, uid, version);
        if let Some(found) = self.known.get(&known).await {
            return Ok(Some(found));
        }
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &key.0);
        let Some(content) = secrets.get_opt(&name).await.map_err(error)? else { return Ok(None) };
        let Some(content) = content.data.as_ref().and_then(|data| data.get("release")) else {
            return Ok(None);
        };
        let release = match release::<Release>(&content.0) {
            Ok(release) => release,
            Err(reason) => {
                tracing::warn!(%cluster, namespace = key.0, secret = name, reason, "a release cannot be read");
                return Ok(None);
            }
        };
        let mark = of_object(secret).or_else(|| of_manifest(&release.manifest));
        let seen = Seen {
            namespace: key.0.clone(),
            release: release.name,
            chart: release.chart.metadata.name,
            version: release.chart.metadata.version,
            app_version: release.chart.metadata.app_version.filter(|version| !version.is_empty()),
            revision: release.version,
            state: InstallationState::of_helm(&release.info.status),
            managed_by: mark.as_ref().map_or(Manager::Helm, |mark| mark.manager),
            manager_reference: mark.and_then(|mark| mark.reference),
            deployed_at: release.info.deployed_at(),
        };
        let found = Arc::new(FoundRelease { seen, values: release.config.unwrap_or_default() });
        self.known.insert(known, Arc::clone(&found)).await;
        Ok(Some(found))
    }
}

/// The Secret of the newest revision of each release, by namespace and name.
async fn newest_revisions(client: &Client) -> Result<BTreeMap<Key, ObjectMeta>, ReleasesError> {
    let secrets: Api<Secret> = Api::all(client.clone());
    let listed = list(&secrets, "owner=helm").await?;
    let mut newest: BTreeMap<Key, (u32, ObjectMeta)> = BTreeMap::new();
    for metadata in listed {
        let label = |key: &str| metadata.labels.as_ref()?.get(key).cloned();
        let is_release = metadata.name.as_deref().is_some_and(|name| name.starts_with("sh.helm.release.v1."));
        let (Some(namespace), Some(name)) = (metadata.namespace.clone(), label("name")) else { continue };
        let Some(revision) = label("version").and_then(|version| version.parse::<u32>().ok()) else {
            continue;
        };
        if !is_release {
            continue;
        }
        let key = (namespace, name);
        if newest.get(&key).is_none_or(|(known, _)| *known < revision) && newest.len() < MOST_RELEASES {
            newest.insert(key, (revision, metadata));
        }
    }
    Ok(newest.into_iter().map(|(key, (_, metadata))| (key, metadata)).collect())
}

/// The metadata of everything that runs pods for good.
async fn workloads(client: &Client) -> Result<Vec<ObjectMeta>, ReleasesError> {
    let deployments: Api<Deployment> = Api::all(client.clone());
    let stateful: Api<StatefulSet> = Api::all(client.clone());
    let daemons: Api<DaemonSet> = Api::all(client.clone());
    let (mut all, stateful, daemons) =
        tokio::try_join!(list(&deployments, ""), list(&stateful, ""), list(&daemons, ""))?;
    all.extend(stateful);
    all.extend(daemons);
    Ok(all)
}

async fn list<K>(objects: &Api<K>, labels: &str) -> Result<Vec<ObjectMeta>, ReleasesError>
where
    K: Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    let mut parameters = ListParams::default().limit(PAGE);
    if !labels.is_empty() {
        parameters = parameters.labels(labels);
    }
    let mut all = Vec::new();
    for _ in 0..MOST_PAGES {
        let page = objects.list_metadata(&parameters).await.map_err(error)?;
        all.extend(page.items.into_iter().map(|object: PartialObjectMeta<K>| object.metadata));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => break,
        }
    }
    Ok(all)
}

/// The marks that other tools left on what belongs to a release.
fn marks_of_releases(workloads: &[ObjectMeta]) -> BTreeMap<Key, Mark> {
    let of = |metadata: &ObjectMeta| Some((release_of(metadata)?, of_object(metadata)?));
    workloads.iter().filter_map(of).collect()
}

/// The release that an object says it belongs to.
fn release_of(metadata: &ObjectMeta) -> Option<Key> {
    let annotations = metadata.annotations.as_ref()?;
    let name = annotations.get("meta.helm.sh/release-name")?;
    Some((annotations.get("meta.helm.sh/release-namespace")?.clone(), name.clone()))
}

fn marked(found: &FoundRelease, mark: Option<&Mark>) -> FoundRelease {
    let mut found = found.clone();
    if let Some(mark) = mark {
        found.seen.managed_by = mark.manager;
        found.seen.manager_reference.clone_from(&mark.reference);
    }
    found
}

/// What another tool installed without a release of helm: Argo CD renders charts itself, OLM has no charts.
fn without_release(workloads: &[ObjectMeta], releases: &BTreeSet<Key>) -> Vec<FoundRelease> {
    let mut found: BTreeMap<Key, FoundRelease> = BTreeMap::new();
    for metadata in workloads {
        if release_of(metadata).is_some_and(|release| releases.contains(&release)) {
            continue;
        }
        let Some(mark) = of_object(metadata) else { continue };
        let Some(namespace) = metadata.namespace.clone() else { continue };
        let label = |key: &str| metadata.labels.as_ref()?.get(key).cloned();
        let what = match mark.manager {
            Manager::Olm => mark.reference.as_deref().and_then(of_csv),
            _ => label("helm.sh/chart").as_deref().and_then(of_chart_label),
        };
        let Some((chart, version)) = what else { continue };
        let name = label("app.kubernetes.io/instance")
            .or_else(|| mark.reference.clone())
            .unwrap_or_else(|| chart.clone());
        let seen = Seen {
            namespace: namespace.clone(),
            release: name.clone(),
            chart,
            version,
            app_version: label("app.kubernetes.io/version"),
            revision: 0,
            state: InstallationState::Deployed,
            managed_by: mark.manager,
            manager_reference: mark.reference,
            deployed_at: metadata.creation_timestamp.as_ref().map(|time| time.0),
        };
        found.entry((namespace, name)).or_insert(FoundRelease { seen, values: Map::new() });
    }
    found.into_values().take(MOST_RELEASES).collect()
}

/// Chart and version of the label that charts conventionally have: `cert-manager-v1.13.0`.
fn of_chart_label(label: &str) -> Option<(String, String)> {
    label.match_indices('-').find_map(|(at, _)| {
        let version = &label[at + 1..];
        let parsed = version.replace('_', "+").parse::<slipway_domain::version::Version>();
        parsed.is_ok().then(|| (label[..at].to_owned(), version.replace('_', "+")))
    })
}

/// Package and version of a `ClusterServiceVersion`'s name: `kafka-operator.v0.38.0`.
fn of_csv(name: &str) -> Option<(String, String)> {
    let (package, version) = name.split_once('.')?;
    version
        .parse::<slipway_domain::version::Version>()
        .is_ok()
        .then(|| (package.to_owned(), version.to_owned()))
}

fn error(error: kube::Error) -> ReleasesError {
    match error {
        kube::Error::Api(status) if matches!(status.code, 401 | 403) => {
            ReleasesError::Forbidden(status.message)
        }
        kube::Error::Api(status) => ReleasesError::Unreadable(status.message),
        other => ReleasesError::Unreachable(deepest(&other)),
    }
}

fn deepest(error: &dyn std::error::Error) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_hold_a_version_are_taken_apart() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(of_chart_label("cert-manager-v1.13.0"), pair("cert-manager", "v1.13.0"));
        assert_eq!(of_chart_label("kafka-1.2.3-rc.1"), pair("kafka", "1.2.3-rc.1"));
        assert_eq!(of_chart_label("kafka-1.2.3_build.5"), pair("kafka", "1.2.3+build.5"));
        assert_eq!(of_chart_label("kafka"), None);
        assert_eq!(of_csv("kafka-operator.v0.38.0"), pair("kafka-operator", "v0.38.0"));
        assert_eq!(of_csv("kafka"), None);
    }
}
