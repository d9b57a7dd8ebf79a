//! The index of a repository: read as it streams by, keeping only what is wanted of it.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use slipway_domain::operator::ChartVersion;
use slipway_domain::version::Version;

/// What a chart says about itself, in an index or in the configuration of an OCI artifact.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Entry {
    pub(super) version: Option<String>,
    pub(super) app_version: Option<String>,
    pub(super) created: Option<String>,
    pub(super) digest: Option<String>,
    pub(super) urls: Vec<String>,
    pub(super) deprecated: bool,
    pub(super) home: Option<String>,
    pub(super) sources: Vec<String>,
    pub(super) annotations: BTreeMap<String, String>,
}

/// The part of an index that is about one chart, and the names of the others.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Index {
    pub(super) entries: Option<Vec<Entry>>,
    pub(super) names: Vec<String>,
}

impl Index {
    /// Reads an index, which may be huge, and keeps what is about one chart.
    pub(super) fn read(text: &str, chart: &str) -> Result<Self, String> {
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! {
                max_events: 40_000_000,
                max_nodes: 20_000_000,
                max_depth: 40,
                max_documents: 1,
                max_aliases: 0,
                max_anchors: 0,
            },
        };
        serde_saphyr::with_deserializer_from_str_with_options(text, options, |from| {
            Top { chart }.deserialize(from)
        })
        .map_err(|error| {
            // Only the first line: the rest is a picture of the text around it.
            error.to_string().lines().next().unwrap_or_default().to_owned()
        })
    }
}

struct Top<'a> {
    chart: &'a str,
}

impl<'de> DeserializeSeed<'de> for Top<'_> {
    type Value = Index;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Index, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Top<'_> {
    type Value = Index;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an index of charts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Index, A::Error> {
        let mut index = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "entries" {
                index = Some(map.next_value_seed(Entries { chart: self.chart })?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        index.ok_or_else(|| serde::de::Error::custom("it has no entries; is it an index of charts?"))
    }
}

struct Entries<'a> {
    chart: &'a str,
}

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = Index;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Index, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = Index;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("charts by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Index, A::Error> {
        let mut index = Index::default();
        while let Some(name) = map.next_key::<String>()? {
            if name == self.chart {
                index.entries = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            index.names.push(name);
        }
        Ok(index)
    }

    fn visit_unit<E>(self) -> Result<Index, E> {
        Ok(Index::default())
    }
}

impl Entry {
    /// The entry as a version; nothing where its version is none in semantic order.
    pub(super) fn offered(&self) -> Option<ChartVersion> {
        let version = self.version.as_deref()?.parse::<Version>().ok()?;
        Some(ChartVersion {
            version,
            app_version: self.app_version.clone().filter(|text| !text.is_empty() && text.len() <= 255),
            released_at: self.created.as_deref().and_then(|created| created.parse::<Timestamp>().ok()),
            deprecated: self.deprecated,
            changelog_url: self.changelog(),
            digest: self.digest.as_deref().and_then(full_digest),
        })
    }

    /// Where the chart itself says its changes are told: a link of that name, a link beside its changes,
    /// else where its sources or its home are.
    fn changelog(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Link {
            #[serde(default)]
            name: String,
            #[serde(default)]
            url: String,
        }
        #[derive(Deserialize)]
        struct Change {
            #[serde(default)]
            links: Vec<Link>,
        }
        let annotation = |key: &str| self.annotations.get(key).filter(|text| text.len() < 64 * 1024);
        let named = annotation("artifacthub.io/links")
            .and_then(|text| serde_saphyr::from_str::<Vec<Link>>(text).ok())
            .into_iter()
            .flatten()
            .find(|link| {
                let name = link.name.to_lowercase();
                ["changelog", "change log", "release notes", "releases"]
                    .iter()
                    .any(|word| name.contains(word))
            })
            .map(|link| link.url);
        let beside = || {
            let changes =
                serde_saphyr::from_str::<Vec<Change>>(annotation("artifacthub.io/changes")?).ok()?;
            changes.into_iter().flat_map(|change| change.links).map(|link| link.url).next()
        };
        named
            .or_else(beside)
            .or_else(|| self.sources.first().cloned())
            .or_else(|| self.home.clone())
            .filter(|url| is_page(url))
    }
}

/// Only addresses that a browser may be sent to.
fn is_page(url: &str) -> bool {
    url.len() <= 2048 && url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

/// A digest with its algorithm, whichever way the index wrote it.
pub(super) fn full_digest(text: &str) -> Option<String> {
    let bare = text.strip_prefix("sha256:").unwrap_or(text);
    let hexadecimal = bare.len() == 64 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
    hexadecimal.then(|| format!("sha256:{}", bare.to_lowercase()))
}

#[cfg(test)]
mod tests;
