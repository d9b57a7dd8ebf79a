//! Repositories over HTTP: files below an address, with an `index.yaml`.

use std::sync::Arc;
use std::time::Instant;

use slipway_domain::operator::{ChartSource, ChartVersion};
use slipway_domain::version::Version;
use slipway_orchestrator::ports::charts::{Archive, ChartsError, Freshness, RepositoryAccess};
use url::Url;

use super::access::authorization;
use super::fetch::{Ask, Fetched};
use super::index::{Entry, Index};
use super::nearest::nearest;
use super::{ChartRepositories, digest_of};

/// What a repository offered of a chart when it was last asked.
#[derive(Debug)]
pub(super) struct Offer {
    tag: Option<String>,
    read_at: Instant,
    entries: Vec<Entry>,
}

impl ChartRepositories {
    pub(super) async fn http_versions(
        &self,
        source: &ChartSource,
        access: &RepositoryAccess,
        freshness: Freshness,
    ) -> Result<Vec<ChartVersion>, ChartsError> {
        let offer = self.offer(source, access, freshness).await?;
        Ok(offer.entries.iter().filter_map(Entry::offered).collect())
    }

    pub(super) async fn http_pull(
        &self,
        source: &ChartSource,
        access: &RepositoryAccess,
        version: &Version,
    ) -> Result<Archive, ChartsError> {
        let known = find(&*self.offer(source, access, Freshness::Cached).await?, version);
        let entry = if let Some(entry) = known {
            entry
        } else {
            // It may have been published a moment ago.
            let offer = self.offer(source, access, Freshness::Now).await?;
            find(&offer, version).ok_or_else(|| no_version(source, version, &offer))?
        };
        let what = format!("{} {version}", source.chart);
        let unusable = |reason: String| ChartsError::Archive { what: what.clone(), reason };
        let place =
            entry.urls.first().ok_or_else(|| unusable("the index does not say where it is".to_owned()))?;
        let base = base(source);
        let url = base.join(place).map_err(|_| unusable(format!("the index names no address: {place:?}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(unusable(format!("the index leads to {}:, which is not followed", url.scheme())));
        }
        let same_host = url.origin() == base.origin();
        if !same_host && url.scheme() != "https" {
            let host = url.host_str().unwrap_or_default();
            return Err(unusable(format!(
                "the index leads to {host}, which is neither the repository nor encrypted"
            )));
        }
        let authorization = authorization(&access.credentials).filter(|_| same_host);
        let host = url.host_str().unwrap_or_default().to_owned();
        let fetched = self
            .fetcher
            .fetch(Ask {
                url,
                authority: access.authority.as_deref(),
                authorization: authorization.as_ref(),
                accept: None,
                known: None,
                most: self.limits.archive,
            })
            .await
            .map_err(|reason| ChartsError::Unreachable { host: host.clone(), reason })?;
        succeeded(&fetched, &host, access)?;
        let found = digest_of(&fetched.body);
        if let Some(expected) = entry.digest.as_deref().and_then(super::index::full_digest)
            && expected != found
        {
            // What is cached may be the index of before.
            self.indexes.invalidate(&key(source, access)).await;
            return Err(ChartsError::Digest { what, expected, found });
        }
        Ok(Archive { digest: found, bytes: fetched.body })
    }

    async fn offer(
        &self,
        source: &ChartSource,
        access: &RepositoryAccess,
        freshness: Freshness,
    ) -> Result<Arc<Offer>, ChartsError> {
        let key = key(source, access);
        let known = self.indexes.get(&key).await;
        if freshness == Freshness::Cached
            && let Some(offer) = known.as_ref().filter(|offer| offer.read_at.elapsed() < self.limits.cached)
        {
            return Ok(Arc::clone(offer));
        }
        let host = source.repository.host();
        let unreachable = |reason: String| ChartsError::Unreachable { host: host.clone(), reason };
        let url = base(source).join("index.yaml").map_err(|_| unreachable("it has no index".to_owned()))?;
        let authorization = authorization(&access.credentials);
        let fetched = self
            .fetcher
            .fetch(Ask {
                url,
                authority: access.authority.as_deref(),
                authorization: authorization.as_ref(),
                accept: None,
                known: known.as_ref().and_then(|offer| offer.tag.as_deref()),
                most: self.limits.index,
            })
            .await
            .map_err(unreachable)?;
        let offer = if fetched.status == http::StatusCode::NOT_MODIFIED
            && let Some(offer) = known
        {
            Offer { tag: offer.tag.clone(), read_at: Instant::now(), entries: offer.entries.clone() }
        } else {
            succeeded(&fetched, &host, access)?;
            let tag = fetched.tag();
            let chart = source.chart.as_str().to_owned();
            let read = tokio::task::spawn_blocking(move || {
                let text =
                    std::str::from_utf8(&fetched.body).map_err(|_| "its index is no text".to_owned())?;
                Index::read(text, &chart).map_err(|error| format!("its index cannot be read: {error}"))
            });
            let index = read
                .await
                .map_err(|_| "reading its index was broken off".to_owned())
                .flatten()
                .map_err(unreachable)?;
            let entries = index.entries.ok_or_else(|| ChartsError::NoChart {
                chart: source.chart.to_string(),
                host: host.clone(),
                near: nearest(source.chart.as_str(), index.names),
            })?;
            Offer { tag, read_at: Instant::now(), entries }
        };
        let offer = Arc::new(offer);
        self.indexes.insert(key, Arc::clone(&offer)).await;
        Ok(offer)
    }
}

/// Whether the answer is one, with what to do where it is not.
pub(super) fn succeeded(fetched: &Fetched, host: &str, access: &RepositoryAccess) -> Result<(), ChartsError> {
    use slipway_orchestrator::ports::charts::Credentials;
    let status = fetched.status;
    if status.is_success() {
        return Ok(());
    }
    let host = host.to_owned();
    if matches!(status.as_u16(), 401 | 403) {
        let hint = match access.credentials {
            Credentials::Anonymous => "it wants credentials",
            Credentials::Basic { .. } | Credentials::Bearer { .. } => "it does not accept the credentials",
        };
        return Err(ChartsError::Refused { host, reason: format!("{hint} ({})", status.as_u16()) });
    }
    let reason = status.canonical_reason().unwrap_or("no words");
    Err(ChartsError::Unreachable { host, reason: format!("it answers {} {reason}", status.as_u16()) })
}

fn find(offer: &Offer, version: &Version) -> Option<Entry> {
    let exact = offer.entries.iter().find(|entry| entry.version.as_deref() == Some(version.as_str()));
    exact.or_else(|| offer.entries.iter().find(|entry| same(entry, version))).cloned()
}

/// `v1.2.3` and `1.2.3` are the same version.
fn same(entry: &Entry, version: &Version) -> bool {
    entry
        .version
        .as_deref()
        .and_then(|text| text.parse::<Version>().ok())
        .is_some_and(|found| found == *version)
}

fn no_version(source: &ChartSource, version: &Version, offer: &Offer) -> ChartsError {
    let mut offered: Vec<ChartVersion> = offer.entries.iter().filter_map(Entry::offered).collect();
    slipway_domain::operator::sort_newest_first(&mut offered);
    ChartsError::NoVersion {
        chart: source.chart.to_string(),
        version: version.to_string(),
        newest: offered.iter().take(3).map(|offered| offered.version.to_string()).collect(),
    }
}

/// The address with a slash at its end, so that what is joined goes below it.
fn base(source: &ChartSource) -> Url {
    let mut url = source.repository.url().clone();
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    url
}

/// What was read with one access is not given to another.
fn key(source: &ChartSource, access: &RepositoryAccess) -> String {
    let secret = match &access.credentials {
        slipway_orchestrator::ports::charts::Credentials::Anonymous => String::new(),
        slipway_orchestrator::ports::charts::Credentials::Basic { username, password } => {
            digest_of(format!("basic\0{username}\0{password}").as_bytes())
        }
        slipway_orchestrator::ports::charts::Credentials::Bearer { token } => {
            digest_of(format!("bearer\0{token}").as_bytes())
        }
    };
    let authority = access.authority.as_ref().map(|pem| digest_of(pem.as_bytes())).unwrap_or_default();
    format!("{source}\0{secret}\0{authority}")
}
