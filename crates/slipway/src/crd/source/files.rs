//! CRDs out of manifests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use serde_json::Value;
use slipway_crd_compat::crd::Crd;
use slipway_manifests::Document;

use super::read_text;

/// How deep a directory is searched.
const DEEPEST: usize = 16;

/// The manifests in a directory and below, by name.
pub(super) fn directory(root: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let mut paths = Vec::new();
    collect(root, 0, &mut paths)?;
    paths.sort();
    if paths.is_empty() {
        bail!("{} holds no .yaml, .yml or .json file", root.display());
    }
    paths
        .into_iter()
        .map(|path| {
            let name = path.display().to_string();
            let file = fs::File::open(&path).with_context(|| format!("{name} cannot be read"))?;
            Ok((name.clone(), read_text(file, &name)?))
        })
        .collect()
}

fn collect(directory: &Path, depth: usize, paths: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if depth > DEEPEST {
        bail!("{} is nested too deep", directory.display());
    }
    let entries =
        fs::read_dir(directory).with_context(|| format!("{} cannot be read", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        // Links are not followed: one to a directory above would never end.
        let kind = entry.file_type()?;
        let path = entry.path();
        if kind.is_dir() {
            if !entry.file_name().to_string_lossy().starts_with('.') {
                collect(&path, depth + 1, paths)?;
            }
        } else if is_manifest(&path.to_string_lossy()) {
            paths.push(path);
        }
    }
    Ok(())
}

/// Whether a file's name says that it is a manifest.
pub(super) fn is_manifest(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// The CRDs in texts. Other objects beside them are left out; a CRD that is none is an error.
pub(super) fn crds(texts: &[(String, String)]) -> anyhow::Result<Vec<Crd>> {
    let mut found: Vec<Crd> = Vec::new();
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    let mut other = None;
    for (name, text) in texts {
        let documents = slipway_manifests::read(text).map_err(|error| anyhow!("{name}: {error}"))?;
        for document in documents {
            let place = format!("{name}: line {}, document {}", document.line, document.number);
            for object in objects(document) {
                match object.get("kind").and_then(Value::as_str) {
                    Some("CustomResourceDefinition") => {
                        let crd = Crd::from_value(object).map_err(|error| anyhow!("{place}: {error}"))?;
                        if let Some(first) = places.insert(crd.name().to_owned(), place.clone()) {
                            bail!("{place}: {} is there twice; the first is at {first}", crd.name());
                        }
                        found.push(crd);
                    }
                    kind => {
                        other.get_or_insert_with(|| match kind {
                            Some(kind) => format!("{place} is a {kind}"),
                            None => format!("{place} is no Kubernetes object: it has no kind"),
                        });
                    }
                }
            }
        }
    }
    if found.is_empty() {
        let names = if let [(name, _)] = texts { name.clone() } else { format!("{} files", texts.len()) };
        match other {
            Some(other) => bail!("there is no CustomResourceDefinition in {names}; {other}"),
            None => bail!("there is no CustomResourceDefinition in {names}: it is empty"),
        }
    }
    Ok(found)
}

/// The objects of a document: itself, or the items of a list, as `kubectl get -o yaml` writes them.
fn objects(document: Document) -> Vec<Value> {
    let is_list =
        document.value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    let mut value = document.value;
    match value.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if is_list => items,
        Some(items) => {
            value["items"] = items;
            vec![value]
        }
        None => vec![value],
    }
}
