//! Chart repositories over HTTP and OCI.
//!
//! What comes from a repository is not trusted: every answer has a limit and a deadline, archives are
//! checked against the digest that the repository gives and read without ever being unpacked to disk, and
//! credentials go to the repository's own host only.

mod access;
mod archive;
mod contents;
mod fetch;
mod http;
mod index;
mod nearest;
mod oci;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use moka::future::Cache;
use slipway_domain::operator::{ChartSource, ChartVersion, RepositoryKind, sort_newest_first};
use slipway_domain::version::Version;
use slipway_helm::Helm;
use slipway_orchestrator::ports::charts::{
    Archive, ChartContents, Charts, ChartsError, Freshness, Rendering, RepositoryAccess,
};
use tokio::sync::OnceCell;

use fetch::Fetcher;

/// How many versions of a chart are known.
const MOST_VERSIONS: usize = 5000;

/// How far answers of repositories may go.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The largest index.
    pub index: usize,
    /// The largest archive.
    pub archive: usize,
    /// The most that an archive may hold unpacked.
    pub unpacked: u64,
    /// The most files in it.
    pub files: usize,
    /// How long one request may take.
    pub request: Duration,
    /// How long what was read may be used again.
    pub cached: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            index: 50 << 20,
            archive: 50 << 20,
            unpacked: 200 << 20,
            files: 20_000,
            request: Duration::from_secs(30),
            cached: Duration::from_mins(5),
        }
    }
}

/// Where the programs are that render charts.
#[derive(Debug, Clone)]
pub struct HelmPrograms {
    /// The guardian, which watches over every run.
    pub guardian: PathBuf,
    /// helm; looked for on the machine where nothing is said.
    pub helm: Option<PathBuf>,
}

/// Chart repositories over HTTP and OCI.
pub struct ChartRepositories {
    fetcher: Fetcher,
    limits: Limits,
    indexes: Cache<String, Arc<http::Offer>>,
    configs: Cache<String, Arc<oci::Details>>,
    programs: HelmPrograms,
    helm: OnceCell<Helm>,
}

impl ChartRepositories {
    /// With limits that every real repository keeps.
    pub fn new(programs: HelmPrograms) -> Self {
        Self::with_limits(programs, Limits::default())
    }

    /// With limits of one's own.
    pub fn with_limits(programs: HelmPrograms, limits: Limits) -> Self {
        Self {
            fetcher: Fetcher::new(limits.request),
            limits,
            indexes: Cache::builder().max_capacity(1000).time_to_live(Duration::from_hours(24)).build(),
            configs: Cache::builder().max_capacity(20_000).time_to_idle(Duration::from_hours(24)).build(),
            programs,
            helm: OnceCell::new(),
        }
    }

    /// The helm program, asked for its version once.
    pub async fn helm(&self) -> Result<&Helm, slipway_helm::HelmError> {
        self.helm
            .get_or_try_init(|| async {
                match &self.programs.helm {
                    Some(program) => Helm::at(program, &self.programs.guardian).await,
                    None => Helm::find(&self.programs.guardian).await,
                }
            })
            .await
    }
}

#[async_trait]
impl Charts for ChartRepositories {
    #[tracing::instrument(name = "charts.versions", skip_all, fields(host = source.repository.host(), chart = %source.chart))]
    async fn versions(
        &self,
        source: &ChartSource,
        access: &RepositoryAccess,
        freshness: Freshness,
    ) -> Result<Vec<ChartVersion>, ChartsError> {
        let mut versions = match source.repository.kind() {
            RepositoryKind::Http => self.http_versions(source, access, freshness).await?,
            RepositoryKind::Oci => self.oci_versions(source, access).await?,
        };
        sort_newest_first(&mut versions);
        // A careless index has a version twice; beyond so many nobody looks.
        versions.dedup_by(|a, b| a.version.as_str() == b.version.as_str());
        versions.truncate(MOST_VERSIONS);
        Ok(versions)
    }

    #[tracing::instrument(name = "charts.pull", skip_all, fields(host = source.repository.host(), chart = %source.chart, version = %version))]
    async fn pull(
        &self,
        source: &ChartSource,
        access: &RepositoryAccess,
        version: &Version,
    ) -> Result<Archive, ChartsError> {
        let archive = match source.repository.kind() {
            RepositoryKind::Http => self.http_pull(source, access, version).await?,
            RepositoryKind::Oci => self.oci_pull(source, access, version).await?,
        };
        let limits = self.limits;
        let what = format!("{} {version}", source.chart);
        let (name, wanted) = (source.chart.as_str().to_owned(), version.clone());
        // Unpacking is work for a processor, not for a runtime.
        tokio::task::spawn_blocking(move || {
            let read = archive::Chart::read(&archive.bytes, &limits)
                .map_err(|reason| ChartsError::Archive { what: what.clone(), reason })?;
            let same = read.version.parse::<Version>().is_ok_and(|found| found == wanted);
            if read.name != name || !same {
                let reason = format!("it holds {} {}", read.name, read.version);
                return Err(ChartsError::Archive { what, reason });
            }
            Ok(archive)
        })
        .await
        .map_err(|_| ChartsError::Unable { reason: "reading the archive was broken off".to_owned() })?
    }

    #[tracing::instrument(name = "charts.open", skip_all, fields(digest = archive.digest))]
    async fn open(&self, archive: &Archive, rendering: Rendering<'_>) -> Result<ChartContents, ChartsError> {
        self.contents(archive, rendering).await
    }
}

/// `sha256:` and the digest of bytes.
fn digest_of(bytes: &[u8]) -> String {
    use sha2::{Digest as _, Sha256};
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |mut text, byte| {
        // A string takes every write.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
