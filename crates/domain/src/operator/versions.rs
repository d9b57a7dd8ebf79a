//! What a repository offers of a chart.

use jiff::Timestamp;

use crate::version::Version;

/// One version of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartVersion {
    /// Which.
    pub version: Version,
    /// The version of what the chart installs, as it was written.
    pub app_version: Option<String>,
    /// When it was published, where the repository says so.
    pub released_at: Option<Timestamp>,
    /// Whether the chart says that it should not be used any more.
    pub deprecated: bool,
    /// Where its changes are told, as far as the chart itself says so.
    pub changelog_url: Option<String>,
    /// The digest of its archive, `sha256:…`, where the repository says so.
    pub digest: Option<String>,
}

/// How a version stands among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The newest that is released and not given up.
    Latest,
    /// Released.
    Stable,
    /// Comes before a release.
    PreRelease,
    /// Given up by its authors.
    Deprecated,
}

impl ChartVersion {
    /// How it stands, given the newest stable one.
    pub fn standing(&self, latest: Option<&Version>) -> Standing {
        if latest == Some(&self.version) {
            Standing::Latest
        } else if self.deprecated {
            Standing::Deprecated
        } else if self.version.is_prerelease() {
            Standing::PreRelease
        } else {
            Standing::Stable
        }
    }
}

/// The newest version that is neither a pre-release nor given up.
pub fn newest_stable(versions: &[ChartVersion]) -> Option<&ChartVersion> {
    let released = versions.iter().filter(|version| !version.version.is_prerelease());
    let kept =
        released.clone().filter(|version| !version.deprecated).max_by(|a, b| a.version.cmp(&b.version));
    // A chart that is given up as a whole still has a newest version.
    kept.or_else(|| released.max_by(|a, b| a.version.cmp(&b.version)))
}

/// Puts the newest first, in semantic order.
pub fn sort_newest_first(versions: &mut [ChartVersion]) {
    versions
        .sort_by(|a, b| b.version.cmp(&a.version).then_with(|| b.version.as_str().cmp(a.version.as_str())));
}
