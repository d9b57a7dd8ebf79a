//! Reading a packed chart without trusting it: bounded, in memory, never unpacked to disk.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Component;

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use tar::{Archive, EntryType};

use super::Limits;

/// The largest single file; a chart's files are small.
const LARGEST_FILE: u64 = 32 << 20;
/// How deep parts may be packed within each other.
const DEEPEST: usize = 4;

/// What is of interest in a chart.
#[derive(Debug, Default)]
pub(super) struct Chart {
    pub(super) name: String,
    pub(super) version: String,
    /// Files of `crds/`, of the chart and its parts, by path.
    pub(super) crds: BTreeMap<String, String>,
    /// Whether a definition may be among what its templates make.
    pub(super) may_render_crds: bool,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    version: String,
}

/// What may still be read, of the archive and everything packed within it.
struct Budget {
    bytes: u64,
    files: usize,
}

impl Chart {
    /// Reads an archive, or says why it is refused.
    pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Self, String> {
        let mut chart = Self::default();
        let mut budget = Budget { bytes: limits.unpacked, files: limits.files };
        chart.read_level(bytes, "", 0, &mut budget)?;
        if chart.name.is_empty() {
            return Err("it holds no Chart.yaml".to_owned());
        }
        Ok(chart)
    }

    fn read_level(
        &mut self,
        bytes: &[u8],
        above: &str,
        depth: usize,
        budget: &mut Budget,
    ) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!("its parts are packed more than {DEEPEST} times within each other"));
        }
        let mut archive = Archive::new(Bounded { inner: MultiGzDecoder::new(bytes), left: budget.bytes });
        let mut root: Option<String> = None;
        let mut inner: Vec<(String, Vec<u8>)> = Vec::new();
        let entries = archive.entries().map_err(|error| format!("it cannot be unpacked: {error}"))?;
        for entry in entries {
            let mut entry = entry.map_err(|error| format!("it cannot be unpacked: {error}"))?;
            budget.files = budget.files.checked_sub(1).ok_or("it holds too many files")?;
            let path = safe_path(&entry)?;
            let shown = path.join("/");
            match entry.header().entry_type() {
                EntryType::Regular => {}
                EntryType::Directory | EntryType::XGlobalHeader => continue,
                EntryType::Symlink | EntryType::Link => {
                    return Err(format!("{shown} is a link, which a chart must not hold"));
                }
                _ => return Err(format!("{shown} is neither a file nor a directory")),
            }
            let [first, rest @ ..] = path.as_slice() else { continue };
            if root.get_or_insert_with(|| first.clone()) != first {
                return Err(format!("{shown} is outside of the chart's own directory"));
            }
            if rest.is_empty() {
                return Err(format!("{shown} is outside of the chart's own directory"));
            }
            let size = entry.header().size().unwrap_or(u64::MAX);
            if size > LARGEST_FILE {
                return Err(format!("{shown} is larger than {} MB", LARGEST_FILE >> 20));
            }
            let below = rest.join("/");
            let wanted = (depth == 0 && below == "Chart.yaml") || is_crd(rest) || is_part(rest);
            let rendered = !self.may_render_crds && is_rendered(rest);
            if !wanted && !rendered {
                continue;
            }
            let mut content = Vec::new();
            (&mut entry)
                .take(LARGEST_FILE)
                .read_to_end(&mut content)
                .map_err(|error| format!("{shown} cannot be unpacked: {error}"))?;
            if rendered {
                self.may_render_crds = mentions_crds(&String::from_utf8_lossy(&content));
            } else if is_part(rest) {
                inner.push((format!("{above}{below}"), content));
            } else {
                let text = String::from_utf8(content).map_err(|_| format!("{shown} is no text"))?;
                if is_crd(rest) {
                    self.crds.insert(format!("{above}{below}"), text);
                } else {
                    self.described(&text)?;
                }
            }
        }
        budget.bytes = archive.into_inner().left;
        for (place, bytes) in inner {
            self.read_level(&bytes, &format!("{place}/"), depth + 1, budget)
                .map_err(|reason| format!("its part {place}: {reason}"))?;
        }
        Ok(())
    }

    fn described(&mut self, text: &str) -> Result<(), String> {
        if !self.name.is_empty() {
            return Err("it holds Chart.yaml twice".to_owned());
        }
        let metadata: Metadata = serde_saphyr::from_str(text).map_err(|error| {
            let first = error.to_string().lines().next().unwrap_or_default().to_owned();
            format!("its Chart.yaml cannot be read: {first}")
        })?;
        if metadata.name.is_empty() {
            return Err("its Chart.yaml has no name".to_owned());
        }
        self.name = metadata.name;
        self.version = metadata.version;
        Ok(())
    }
}

/// The parts of a path that stays where it belongs.
fn safe_path<R: Read>(entry: &tar::Entry<'_, R>) -> Result<Vec<String>, String> {
    let path = entry.path().map_err(|_| "a file in it has no proper name".to_owned())?;
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => match part.to_str() {
                Some(part) if !part.contains(['\\', '\0', '\n']) => parts.push(part.to_owned()),
                _ => return Err("a file in it has no proper name".to_owned()),
            },
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(format!("{:?} leads out of the archive", path.display().to_string()));
            }
        }
    }
    if parts.is_empty() && entry.header().entry_type() == EntryType::Regular {
        return Err("a file in it has no name".to_owned());
    }
    Ok(parts)
}

/// Below `crds/` of the chart, or of a part of it that is not packed.
fn is_crd(path: &[String]) -> bool {
    let below = match path {
        [charts, _, rest @ ..] if charts == "charts" => return is_crd(rest),
        [crds, rest @ ..] if crds == "crds" => rest,
        _ => return false,
    };
    below.last().is_some_and(|name| {
        let name = name.to_lowercase();
        [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
    })
}

/// A template of the chart or of a part of it that is not packed, or the values for them.
fn is_rendered(path: &[String]) -> bool {
    match path {
        [charts, _, rest @ ..] if charts == "charts" => is_rendered(rest),
        [templates, _, ..] if templates == "templates" => true,
        [values] => values == "values.yaml",
        _ => false,
    }
}

/// Whether a template or a value may make a definition: it names the kind, or takes other files of the chart, which
/// may.
pub(super) fn mentions_crds(text: &str) -> bool {
    text.contains("CustomResourceDefinition") || text.contains("Files")
}

/// A part that is packed.
fn is_part(path: &[String]) -> bool {
    match path {
        [charts, file] => charts == "charts" && file.strip_suffix(".tgz").is_some(),
        [charts, _, rest @ ..] if charts == "charts" => is_part(rest),
        _ => false,
    }
}

/// Ends with an error once more comes out than may; a few bytes can unpack to gigabytes.
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.left = self
            .left
            .checked_sub(read as u64)
            .ok_or_else(|| io::Error::other("it is larger than a chart may be"))?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
