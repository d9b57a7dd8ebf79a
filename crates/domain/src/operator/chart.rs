//! Where a chart comes from.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// What kind of repository an address is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RepositoryKind {
    /// Files below an address, with an `index.yaml`.
    Http,
    /// An OCI registry.
    Oci,
}

/// The absolute address of a chart repository: `https://…`, `http://…` or `oci://…`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Repository {
    text: String,
    url: Url,
}

/// Why a text is not the address of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadRepository {
    /// No address at all.
    #[error(
        "is not an absolute address such as https://charts.example.com or oci://registry.example.com/charts"
    )]
    NotAbsolute,
    /// An address of something else.
    #[error("has to begin with https://, http:// or oci://")]
    Scheme,
    /// A user name or password in the address.
    #[error("must not hold a user name or password; give them as credentials")]
    Credentials,
    /// A query or a fragment.
    #[error("must not have a query or a fragment")]
    Query,
    /// Longer than any real one.
    #[error("is longer than 2048 characters")]
    TooLong,
}

impl Repository {
    /// As it was written, without slashes at its end.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its parts.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Which kind it is.
    pub fn kind(&self) -> RepositoryKind {
        if self.url.scheme() == "oci" { RepositoryKind::Oci } else { RepositoryKind::Http }
    }

    /// The host, and the port where one is given; what an error names.
    pub fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether it is this machine itself, where encryption is of no use.
    pub fn is_loopback(&self) -> bool {
        // The address of an `oci` scheme is not parsed further than its text.
        match self.url.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            Some(Host::Domain(name)) => {
                name == "localhost"
                    || name.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
            }
            None => false,
        }
    }

    /// Whether what is sent there can be read on the way.
    pub fn is_in_the_clear(&self) -> bool {
        self.url.scheme() == "http" && !self.is_loopback()
    }
}

impl FromStr for Repository {
    type Err = BadRepository;

    fn from_str(text: &str) -> Result<Self, BadRepository> {
        if text.len() > 2048 {
            return Err(BadRepository::TooLong);
        }
        let url = Url::parse(text).map_err(|_| BadRepository::NotAbsolute)?;
        if !matches!(url.scheme(), "http" | "https" | "oci") {
            return Err(BadRepository::Scheme);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(BadRepository::NotAbsolute);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadRepository::Credentials);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(BadRepository::Query);
        }
        Ok(Self { text: text.trim_end_matches('/').to_owned(), url })
    }
}

impl TryFrom<String> for Repository {
    type Error = BadRepository;

    fn try_from(text: String) -> Result<Self, BadRepository> {
        text.parse()
    }
}

impl From<Repository> for String {
    fn from(repository: Repository) -> Self {
        repository.text
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The name of a chart, as its `Chart.yaml` has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ChartName(String);

/// Why a text is not the name of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "has to consist of letters, digits, dashes, dots and underscores, to begin with a letter or digit, and to have 250 characters at most"
)]
pub struct BadChartName;

impl ChartName {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ChartName {
    type Err = BadChartName;

    fn from_str(text: &str) -> Result<Self, BadChartName> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        let first = text.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
        if first && text.len() <= 250 && text.chars().all(allowed) && !text.contains("..") {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadChartName)
        }
    }
}

impl TryFrom<String> for ChartName {
    type Error = BadChartName;

    fn try_from(text: String) -> Result<Self, BadChartName> {
        text.parse()
    }
}

impl From<ChartName> for String {
    fn from(name: ChartName) -> Self {
        name.0
    }
}

impl fmt::Display for ChartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A chart of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChartSource {
    /// Where.
    pub repository: Repository,
    /// Which.
    pub chart: ChartName,
}

impl fmt::Display for ChartSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.repository, self.chart)
    }
}
