//! Chart archives made from text, byte for byte the same in every run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tar::{EntryType, Header};

/// A packed chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    name: String,
    version: String,
    metadata: Map<String, Value>,
    archive: Vec<u8>,
    digest: String,
}

/// A chart in the making.
#[derive(Clone, Debug)]
pub struct ChartBuilder {
    name: String,
    version: String,
    metadata: Map<String, Value>,
    files: BTreeMap<String, String>,
}

impl ChartBuilder {
    /// A chart with this name and version and nothing in it.
    pub fn new(name: &str, version: &str) -> Self {
        let builder = Self {
            name: name.to_owned(),
            version: version.to_owned(),
            metadata: Map::new(),
            files: BTreeMap::new(),
        };
        builder
            .metadata("apiVersion", json!("v2"))
            .metadata("name", json!(name))
            .metadata("version", json!(version))
            .metadata("type", json!("application"))
            .values("")
    }

    /// Adds a file below `templates/`.
    #[must_use]
    pub fn template(self, name: &str, content: &str) -> Self {
        self.file(&format!("templates/{name}"), content)
    }

    /// Adds a file below `crds/`.
    #[must_use]
    pub fn crd(self, name: &str, content: &str) -> Self {
        self.file(&format!("crds/{name}"), content)
    }

    /// Sets `values.yaml`.
    #[must_use]
    pub fn values(self, yaml: &str) -> Self {
        self.file("values.yaml", yaml)
    }

    /// Sets `values.schema.json`.
    #[must_use]
    pub fn values_schema(self, json: &str) -> Self {
        self.file("values.schema.json", json)
    }

    /// Sets the version of the application that the chart installs.
    #[must_use]
    pub fn app_version(self, version: &str) -> Self {
        self.metadata("appVersion", json!(version))
    }

    /// Sets which Kubernetes versions the chart accepts, such as `>=1.30.0-0`.
    #[must_use]
    pub fn kube_version(self, constraint: &str) -> Self {
        self.metadata("kubeVersion", json!(constraint))
    }

    /// Sets any field of `Chart.yaml`.
    #[must_use]
    pub fn metadata(mut self, field: &str, value: Value) -> Self {
        self.metadata.insert(field.to_owned(), value);
        self
    }

    /// Adds any file; a `Chart.yaml` given here is packed as it is, so that a test can have a broken one.
    #[must_use]
    pub fn file(mut self, path: &str, content: &str) -> Self {
        self.files.insert(path.to_owned(), content.to_owned());
        self
    }

    /// Packs the chart.
    pub fn build(mut self) -> Result<Chart> {
        if !self.files.contains_key("Chart.yaml") {
            let yaml = serde_saphyr::to_string(&self.metadata)
                .with_context(|| format!("could not write Chart.yaml of {}", self.name))?;
            self.files.insert("Chart.yaml".to_owned(), yaml);
        }
        let archive = pack(&self.name, &self.files)
            .with_context(|| format!("could not pack the chart {} {}", self.name, self.version))?;
        let digest = hexadecimal(&Sha256::digest(&archive));
        Ok(Chart { name: self.name, version: self.version, metadata: self.metadata, archive, digest })
    }
}

impl Chart {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The fields of its `Chart.yaml`.
    pub fn metadata(&self) -> &Map<String, Value> {
        &self.metadata
    }

    /// The packed bytes.
    pub fn archive(&self) -> &[u8] {
        &self.archive
    }

    /// The SHA-256 of the packed bytes, in hexadecimal.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// What helm calls the archive: `<name>-<version>.tgz`.
    pub fn file_name(&self) -> String {
        format!("{}-{}.tgz", self.name, self.version)
    }

    /// Writes the archive into a folder and returns its path.
    pub fn write_to(&self, folder: &Path) -> Result<PathBuf> {
        let path = folder.join(self.file_name());
        std::fs::write(&path, &self.archive)
            .with_context(|| format!("could not write {}", path.display()))?;
        Ok(path)
    }
}

fn pack(name: &str, files: &BTreeMap<String, String>) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzBuilder::new().write(Vec::new(), Compression::default()));
    // Helm itself puts Chart.yaml first; some readers stop looking soon.
    let (first, others): (Vec<_>, Vec<_>) = files.iter().partition(|(path, _)| *path == "Chart.yaml");
    for (path, content) in first.into_iter().chain(others) {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, format!("{name}/{path}"), content.as_bytes())?;
    }
    archive.into_inner()?.finish()
}

/// Bytes as people read digests.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
