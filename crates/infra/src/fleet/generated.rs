//! The chart that helm gets: what was rendered, under the name and version of the real one.

use serde_json::{Map, Value, json};
use slipway_helm::{Generated, file_of};
use slipway_orchestrator::ports::fleet::{KeptRelease, Subject};

use super::fault::Fault;
use super::object::read_all;
use super::render::{Rendered, is_crd};

/// A release's record has to fit into a Secret.
const MOST: usize = 1_000_000;

/// Of a rendered chart.
pub(crate) fn of_rendered(subject: &Subject, rendered: &Rendered) -> Result<Vec<u8>, Fault> {
    let archive = &subject.archive.bytes;
    let metadata = file_of(archive, "Chart.yaml")?.unwrap_or_default();
    let metadata = slipway_manifests::read(&String::from_utf8_lossy(&metadata))
        .ok()
        .and_then(|documents| documents.into_iter().next())
        .and_then(|document| document.value.as_object().cloned())
        .ok_or_else(|| Fault::Failed("the chart's Chart.yaml cannot be read".to_owned()))?;
    let values = file_of(archive, "values.yaml")?.unwrap_or_default();
    let values = String::from_utf8_lossy(&values);
    let all = rendered.manifests.iter().chain(&rendered.hooks);
    let manifests: Vec<&str> = all.map(|manifest| manifest.text.as_str()).collect();
    packed(metadata, Some(&values), &manifests, rendered.notes.as_deref())
}

/// Of a release as it was.
pub(crate) fn of_kept(kept: &KeptRelease, manifests: &[String]) -> Result<Vec<u8>, Fault> {
    let mut metadata = Map::new();
    metadata.insert("apiVersion".to_owned(), "v2".into());
    metadata.insert("name".to_owned(), kept.chart.clone().into());
    metadata.insert("version".to_owned(), kept.version.clone().into());
    if let Some(version) = &kept.app_version {
        metadata.insert("appVersion".to_owned(), json!(version));
    }
    let hooks = kept.hooks.iter().filter_map(|hook| hook.get("manifest").and_then(Value::as_str));
    let all: Vec<&str> = manifests.iter().map(String::as_str).chain(hooks).collect();
    packed(metadata, None, &all, kept.notes.as_deref())
}

/// The objects of a stored manifest, without CRDs: those are not in helm's hands any more.
pub(crate) fn without_crds(manifest: &str) -> Result<Vec<Value>, Fault> {
    let objects = read_all(manifest)
        .map_err(|why| Fault::Failed(format!("the manifest of the release cannot be read: {why}")))?;
    Ok(objects.into_iter().filter(|object| !is_crd(object)).collect())
}

fn packed(
    metadata: Map<String, Value>,
    values: Option<&str>,
    manifests: &[&str],
    notes: Option<&str>,
) -> Result<Vec<u8>, Fault> {
    let archive = Generated { metadata, values, manifests, notes }.archive()?;
    // helm keeps the chart and, once more, what it rendered, each packed and written as text.
    if archive.len() * 2 * 4 / 3 > MOST {
        return Err(Fault::Failed(format!(
            "what the chart renders is too large for helm's record of a release ({} kB packed, and at most {} kB \
             fit); switch off parts of it by its values",
            archive.len() / 1000,
            MOST * 3 / 8 / 1000
        )));
    }
    Ok(archive)
}
