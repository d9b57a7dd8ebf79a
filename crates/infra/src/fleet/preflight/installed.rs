//! The release that is there, as helm keeps it.

use serde_json::{Value, json};
use slipway_orchestrator::ports::probes::ReleaseAt;

use super::super::api::Api;
use super::super::fault::Fault;
use super::super::object::read_all;
use super::super::revisions;
use crate::releases::manager::{Mark, of_value};

/// A release that is there.
#[derive(Debug, Clone)]
pub(super) struct Installed {
    /// The version of its chart.
    pub(super) version: String,
    /// The name of its chart.
    pub(super) chart: String,
    /// helm's word for how far its newest revision came.
    pub(super) status: String,
    /// What helm applied.
    pub(super) objects: Vec<Value>,
    /// Another tool's mark on the release itself.
    pub(super) mark: Option<Mark>,
}

/// The revision that is deployed, or the newest where none is; nothing where there is no such release.
pub(super) async fn read(api: &Api, release: &ReleaseAt) -> Result<Option<Installed>, Fault> {
    let records = revisions::list(api, release).await?;
    let Some(newest) = records.last() else { return Ok(None) };
    let record = records.iter().rev().find(|record| record.status == "deployed").unwrap_or(newest);
    let stored = revisions::read(api, release, record).await?;
    let text = |pointer: &str| stored.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let objects = read_all(&text("/manifest")).map_err(|error| {
        Fault::Failed(format!(
            "helm release {} in {}: its manifest cannot be read: {error}",
            release.name, release.namespace
        ))
    })?;
    let labels = json!({"metadata": {"labels": record.labels}});
    Ok(Some(Installed {
        version: text("/chart/metadata/version"),
        chart: text("/chart/metadata/name"),
        status: newest.status.clone(),
        mark: of_value(&labels).or_else(|| objects.iter().find_map(of_value)),
        objects,
    }))
}
