//! The index of a chart repository, as helm reads it.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Map, Value};

use super::Chart;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index<'a> {
    api_version: &'static str,
    generated: &'static str,
    entries: BTreeMap<&'a str, Vec<Entry<'a>>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    metadata: &'a Map<String, Value>,
    created: &'static str,
    digest: &'a str,
    urls: [String; 1],
}

/// A fixed time: an index that changes only with its charts is easier to reason about.
const WHEN: &str = "2024-01-01T00:00:00Z";

pub(super) fn render<'a>(charts: impl Iterator<Item = &'a Chart>) -> Result<String> {
    let mut entries = BTreeMap::<_, Vec<_>>::new();
    for chart in charts {
        entries.entry(chart.name()).or_default().push(Entry {
            metadata: chart.metadata(),
            created: WHEN,
            digest: chart.digest(),
            // Relative, so that the credentials of the repository go along.
            urls: [format!("charts/{}", chart.file_name())],
        });
    }
    let index = Index { api_version: "v1", generated: WHEN, entries };
    serde_saphyr::to_string(&index).context("could not write the chart repository's index")
}
