//! Repositories that are OCI registries: a chart is an artifact, a version is a tag.
//!
//! Reading only, and little of the protocol: tags, manifests, blobs, and the token that a registry may ask
//! for. A client of our own, because limits on every answer and the rule that credentials stay with their
//! host are what matters here.

mod challenge;
mod session;

use std::sync::Arc;

use futures::StreamExt as _;
use serde::Deserialize;
use slipway_domain::operator::{ChartSource, ChartVersion};
use slipway_domain::version::Version;
use slipway_orchestrator::ports::charts::{Archive, ChartsError, RepositoryAccess};

use super::index::{Entry, full_digest};
use super::{ChartRepositories, digest_of};
use session::Session;

/// What marks the configuration of a chart.
const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
/// What marks its archive; the second is of before helm 3.7.
const LAYERS: [&str; 2] = ["application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"];
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// Manifests and configurations are small.
const MOST_MANIFEST: usize = 4 << 20;
/// Of how many versions, the newest first, the registry is asked for details; each costs two requests.
const DETAILED: usize = 25;

/// What a chart says about itself, and its archive's digest.
#[derive(Debug)]
pub(super) struct Details {
    entry: Entry,
    layer: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    config: Blob,
    layers: Vec<Blob>,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Blob {
    media_type: String,
    digest: String,
    size: u64,
}

impl ChartRepositories {
    pub(super) async fn oci_versions(
        &self,
        source: &ChartSource,
        access: &RepositoryAccess,
    ) -> Result<Vec<ChartVersion>, ChartsError> {
        let session = Session::begin(&self.fetcher, source, access).await?;
        let mut versions: Vec<Version> = session
            .tags()
            .await?
            .iter()
            .filter_map(|tag| tag.replace('_', "+").parse::<Version>().ok())
            .collect();
        if versions.is_empty() {
            return Err(ChartsError::NoChart {
                chart: source.chart.to_string(),
                host: source.repository.host(),
                near: Vec::new(),
            });
        }
        versions.sort_by(|a, b| b.cmp(a));
        let older = versions.split_off(versions.len().min(DETAILED));
        let details = futures::stream::iter(versions).map(|version| {
            let session = &session;
            async move {
                let details = self.details(session, &version).await;
                // One version that cannot be read does not hide the others.
                offered(version, details.ok().as_deref())
            }
        });
        let mut found: Vec<ChartVersion> = details.buffered(4).collect().await;
        found.extend(older.into_iter().map(|version| offered(version, None)));
        Ok(found)
    }

    pub(super) async fn oci_pull(
        &self,
        source: &ChartSource,
        access: &RepositoryAccess,
        version: &Version,
    ) -> Result<Archive, ChartsError> {
        let what = format!("{} {version}", source.chart);
        let session = Session::begin(&self.fetcher, source, access).await?;
        let Some((manifest, _)) = manifest(&session, version).await? else {
            let tags = session.tags().await?;
            let mut known: Vec<Version> =
                tags.iter().filter_map(|tag| tag.replace('_', "+").parse().ok()).collect();
            known.sort_by(|a, b| b.cmp(a));
            return Err(ChartsError::NoVersion {
                chart: source.chart.to_string(),
                version: version.to_string(),
                newest: known.iter().take(3).map(ToString::to_string).collect(),
            });
        };
        let refused = |reason: String| ChartsError::Archive { what: what.clone(), reason };
        if manifest.config.media_type != CONFIG {
            return Err(refused(format!("it is no chart but {}", manifest.config.media_type)));
        }
        let layer = manifest
            .layers
            .iter()
            .find(|layer| LAYERS.contains(&layer.media_type.as_str()))
            .ok_or_else(|| refused("it holds no archive of a chart".to_owned()))?;
        if layer.size > self.limits.archive as u64 {
            return Err(refused(format!("it is larger than {} MB", self.limits.archive >> 20)));
        }
        let expected = full_digest(&layer.digest)
            .ok_or_else(|| refused(format!("its digest is no SHA-256: {:?}", layer.digest)))?;
        let bytes = session.blob(&expected, self.limits.archive).await?;
        let found = digest_of(&bytes);
        if found != expected {
            return Err(ChartsError::Digest { what, expected, found });
        }
        Ok(Archive { digest: found, bytes })
    }

    /// What a version says about itself; kept by the digest of its manifest, which says it all.
    async fn details(&self, session: &Session<'_>, version: &Version) -> Result<Arc<Details>, ChartsError> {
        let Some((manifest, digest)) = manifest(session, version).await? else {
            return Err(session.strange("a tag without a manifest"));
        };
        if let Some(known) = self.configs.get(&digest).await {
            return Ok(known);
        }
        let config = full_digest(&manifest.config.digest)
            .filter(|_| manifest.config.media_type == CONFIG)
            .ok_or_else(|| session.strange("an artifact that is no chart"))?;
        let bytes = session.blob(&config, MOST_MANIFEST).await?;
        if digest_of(&bytes) != config {
            return Err(session.strange("a configuration with another digest"));
        }
        let mut entry: Entry = serde_json::from_slice(&bytes)
            .map_err(|_| session.strange("a configuration that cannot be read"))?;
        entry.created = manifest.annotations.get("org.opencontainers.image.created").cloned();
        let layer = manifest.layers.iter().find(|layer| LAYERS.contains(&layer.media_type.as_str()));
        let details = Arc::new(Details { entry, layer: layer.and_then(|layer| full_digest(&layer.digest)) });
        self.configs.insert(digest, Arc::clone(&details)).await;
        Ok(details)
    }
}

/// The manifest of a version and its digest; nothing where there is no such tag.
async fn manifest(
    session: &Session<'_>,
    version: &Version,
) -> Result<Option<(Manifest, String)>, ChartsError> {
    // A tag cannot hold a plus; helm writes an underscore for it. Some publish with a leading v, some without.
    let bare = version.as_str().trim_start_matches('v').replace('+', "_");
    let written = version.as_str().replace('+', "_");
    for tag in [written, bare.clone(), format!("v{bare}")] {
        if let Some(bytes) = session.manifest(&tag, MANIFEST, MOST_MANIFEST).await? {
            let manifest = serde_json::from_slice(&bytes)
                .map_err(|_| session.strange("a manifest that cannot be read"))?;
            return Ok(Some((manifest, digest_of(&bytes))));
        }
    }
    Ok(None)
}

fn offered(version: Version, details: Option<&Details>) -> ChartVersion {
    let said = details.and_then(|details| {
        // The tag is the version; what the configuration says about it does not count.
        Entry { version: Some(version.to_string()), ..details.entry.clone() }.offered()
    });
    let mut offered = said.unwrap_or(ChartVersion {
        version,
        app_version: None,
        released_at: None,
        deprecated: false,
        changelog_url: None,
        digest: None,
    });
    offered.digest = details.and_then(|details| details.layer.clone());
    offered
}
