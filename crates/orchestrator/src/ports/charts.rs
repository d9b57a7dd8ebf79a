//! Chart repositories and the archives that came from them.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use slipway_domain::operator::{ChartSource, ChartVersion};
use slipway_domain::version::Version;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// How a repository is told who asks. It is secret; it is never printed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Credentials {
    /// Not at all.
    #[default]
    Anonymous,
    /// With a user name and a password.
    Basic {
        /// The user name.
        username: String,
        /// The password.
        password: String,
    },
    /// With a token.
    Bearer {
        /// The token.
        token: String,
    },
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anonymous => "Anonymous",
            Self::Basic { .. } => "Basic(…)",
            Self::Bearer { .. } => "Bearer(…)",
        })
    }
}

/// How a repository is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepositoryAccess {
    /// Who asks.
    pub credentials: Credentials,
    /// The authority that vouches for it beside the machine's own, as PEM.
    pub authority: Option<String>,
}

/// How old an answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// A few minutes.
    Cached,
    /// The repository is asked.
    Now,
}

/// A packed chart, whole and checked against the digest that its repository gave.
#[derive(Clone, PartialEq, Eq)]
pub struct Archive {
    /// `sha256:` and the digest of the bytes.
    pub digest: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Archive({}, {} bytes)", self.digest, self.bytes.len())
    }
}

/// What a chart is rendered with.
#[derive(Debug, Clone, Copy)]
pub struct Rendering<'a> {
    /// The name of the release.
    pub release: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The values beside the chart's own.
    pub values: &'a Map<String, Value>,
}

/// What is in a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartContents {
    /// The name in its `Chart.yaml`.
    pub name: String,
    /// The version in its `Chart.yaml`.
    pub version: String,
    /// Its definitions, from `crds/` of the chart and its parts and from its templates, by name.
    pub crds: Vec<Value>,
    /// Why its templates could not be rendered; the definitions among them are missing then. Nothing where no
    /// definition can be among them: they are not rendered then.
    pub not_rendered: Option<String>,
}

/// Why a repository or a chart could not be used. The texts hold no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChartsError {
    /// The repository does not answer, or not properly.
    #[error("the repository at {host} cannot be read: {reason}")]
    Unreachable {
        /// Host and port.
        host: String,
        /// Why.
        reason: String,
    },
    /// The repository wants to know who asks.
    #[error("the repository at {host} refuses: {reason}")]
    Refused {
        /// Host and port.
        host: String,
        /// What it said, and what to do.
        reason: String,
    },
    /// The repository has no such chart.
    #[error("{}", no_chart(.chart, .host, .near))]
    NoChart {
        /// Which chart.
        chart: String,
        /// Host and port.
        host: String,
        /// Names that are close.
        near: Vec<String>,
    },
    /// The chart has no such version.
    #[error("{}", no_version(.chart, .version, .newest))]
    NoVersion {
        /// Which chart.
        chart: String,
        /// Which version.
        version: String,
        /// The newest versions.
        newest: Vec<String>,
    },
    /// What came is not what the repository says it is.
    #[error(
        "the archive of {what} has the digest {found}, and the repository says {expected}; it was not used"
    )]
    Digest {
        /// Chart and version.
        what: String,
        /// What the repository says.
        expected: String,
        /// What came.
        found: String,
    },
    /// The archive is not one that is opened here.
    #[error("the archive of {what} is refused: {reason}")]
    Archive {
        /// Chart and version.
        what: String,
        /// Why.
        reason: String,
    },
    /// The machine lacks something, such as helm.
    #[error("charts cannot be rendered here: {reason}")]
    Unable {
        /// What.
        reason: String,
    },
}

fn no_chart(chart: &str, host: &str, near: &[String]) -> String {
    if near.is_empty() {
        format!("the repository at {host} has no chart {chart}")
    } else {
        format!("the repository at {host} has no chart {chart}; it has {}", near.join(", "))
    }
}

fn no_version(chart: &str, version: &str, newest: &[String]) -> String {
    if newest.is_empty() {
        format!("{chart} has no version {version}")
    } else {
        format!("{chart} has no version {version}; the newest are {}", newest.join(", "))
    }
}

/// Chart repositories and the archives that came from them. A server without them says so.
#[async_trait]
pub trait Charts: Send + Sync {
    /// The versions that a repository offers of a chart, the newest first.
    async fn versions(
        &self,
        _source: &ChartSource,
        _access: &RepositoryAccess,
        _freshness: Freshness,
    ) -> Result<Vec<ChartVersion>, ChartsError> {
        Err(absent())
    }

    /// Fetches an archive and checks it.
    async fn pull(
        &self,
        _source: &ChartSource,
        _access: &RepositoryAccess,
        _version: &Version,
    ) -> Result<Archive, ChartsError> {
        Err(absent())
    }

    /// Looks into an archive, which is not trusted.
    async fn open(
        &self,
        _archive: &Archive,
        _rendering: Rendering<'_>,
    ) -> Result<ChartContents, ChartsError> {
        Err(absent())
    }
}

fn absent() -> ChartsError {
    ChartsError::Unable { reason: "this server reads no chart repositories".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_never_printed() {
        let basic = Credentials::Basic { username: "reader".into(), password: "hunter2".into() };
        let access = RepositoryAccess { credentials: basic, authority: None };
        let printed = format!("{access:?} {:?}", Credentials::Bearer { token: "sesame".into() });
        assert!(!printed.contains("hunter2") && !printed.contains("reader") && !printed.contains("sesame"));
    }
}
