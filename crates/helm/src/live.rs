//! Rendering a chart against a cluster as it is.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::archive::{File, pack, unpack};
use crate::error::HelmError;
use crate::home::Home;
use crate::program::{Helm, Major};
use crate::release::Kubeconfig;
use crate::run::Run;

/// The kind that notes travel as, among what is rendered.
const NOTES: &str = "slipway.dev/notes";
/// So deep that it is rendered before every other template, those of parts of parts included: helm renders the
/// deepest first, and all templates share one `.Release`.
const FIRST: &str = "templates/0/0/0/0/0/0/0/0/0/0/0/0/revision.yaml";
/// What differs from one rendering to the next.
const MOVES: &[&str] = &[
    "Revision",
    "rand",
    "genCA",
    "genPrivateKey",
    "genSelfSigned",
    "genSigned",
    "uuidv4",
    " now",
    "(now",
    "shuffle",
    "htpasswd",
    "bcrypt",
    "encryptAES",
];

/// What a cluster offers to charts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Its version of Kubernetes, such as `v1.36.3`.
    pub kubernetes: String,
    /// `group/version` and `group/version/Kind` of what it serves, and of what it will serve by then.
    pub apis: Vec<String>,
}

/// What is rendered, and for whom.
#[derive(Debug, Clone)]
pub struct LiveTemplate<'a> {
    /// The packed chart.
    pub archive: &'a [u8],
    /// The name in its `Chart.yaml`.
    pub chart: &'a str,
    /// The name of the release.
    pub release: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The values beside the chart's own.
    pub values: &'a Map<String, Value>,
    /// Whether the release takes the place of another one.
    pub upgrade: bool,
    /// The number of the revision that it will be.
    pub revision: u32,
    /// What the cluster offers.
    pub capabilities: &'a Capabilities,
    /// How long it may take.
    pub deadline: Duration,
}

/// Whether a chart renders differently from one time to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moving {
    /// The same values and the same cluster make the same manifests.
    Never,
    /// It uses random values, the time or the number of the revision.
    Perhaps,
}

/// What came out: files of manifests, each document after a line that names its source.
#[derive(Debug)]
pub struct Live {
    /// All that was rendered, hooks and CRDs included.
    pub text: String,
    /// What people are told.
    pub notes: Option<String>,
    /// Whether it would come out the same again.
    pub moving: Moving,
}

impl Helm {
    /// Renders a chart against a cluster, with lookups, capabilities and revision as they are there. Nothing is
    /// changed.
    pub async fn live_template(
        &self,
        cluster: &Kubeconfig,
        template: LiveTemplate<'_>,
    ) -> Result<Live, HelmError> {
        let prepared = Prepared::of(&template)?;
        let home = Home::new()?;
        home.file("kubeconfig", cluster.0.as_bytes())?;
        let archive = home.file("chart.tgz", &prepared.archive)?;
        let values = home.file("values.json", &serde_json::to_vec(template.values).unwrap_or_default())?;
        // Apart, since the guardian takes the home away as soon as helm ends.
        let rendered = Home::new()?;
        let output = rendered.path().join("rendered");
        let mut arguments: Vec<OsString> = vec!["template".into(), template.release.into(), archive.into()];
        arguments.extend(["--namespace".into(), template.namespace.into(), "--values".into(), values.into()]);
        // Into files: what is printed helm 4 would compare with what the cluster knows, and refuse kinds whose
        // definition comes with the chart.
        arguments.extend(["--output-dir".into(), output.clone().into(), "--include-crds".into()]);
        arguments.push("--skip-schema-validation".into());
        // helm 4 takes either lookups or given capabilities, so lookups go first where a chart has them.
        let server = self.major() == Major::Three || prepared.looks_up;
        arguments.push(if server { "--dry-run=server" } else { "--dry-run=client" }.into());
        if template.upgrade {
            arguments.push("--is-upgrade".into());
        }
        arguments.extend(["--kube-version".into(), template.capabilities.kubernetes.as_str().into()]);
        for api in &template.capabilities.apis {
            arguments.extend(["--api-versions".into(), api.as_str().into()]);
        }
        let run = Run {
            program: &self.program,
            guardian: &self.guardian,
            home: &home,
            arguments,
            doing: "rendering the chart",
            deadline: template.deadline,
            most: 4 << 20,
        };
        run.output().await?;
        let mut text = String::new();
        collect(&output, &mut text).map_err(HelmError::Home)?;
        let (text, notes) = without_notes(&text);
        Ok(Live { text, notes, moving: prepared.moving })
    }
}

/// The chart with two templates more: one tells the revision, one prints the notes.
struct Prepared {
    archive: Vec<u8>,
    looks_up: bool,
    moving: Moving,
}

impl Prepared {
    fn of(template: &LiveTemplate<'_>) -> Result<Self, HelmError> {
        let mut files = unpack(template.archive)?;
        // What is packed inside is not looked into: it may do anything.
        let packed = files.iter().any(|file| is_packed(Path::new(&file.path)));
        let says = |words: &[&str]| {
            packed
                || files.iter().filter(|file| file.path.contains("templates/")).any(|file| {
                    let text = String::from_utf8_lossy(&file.content);
                    words.iter().any(|word| text.contains(word))
                })
        };
        // Values may be templates, too.
        let values = serde_json::to_string(template.values).unwrap_or_default();
        let looks_up = says(&["lookup"]) || values.contains("lookup");
        let moving = if says(MOVES) || values.contains("{{") { Moving::Perhaps } else { Moving::Never };
        let revision = format!("{{{{- $_ := set .Release \"Revision\" {} -}}}}", template.revision);
        files.push(File::new(FIRST, revision));
        if files.iter().any(|file| file.path == "templates/NOTES.txt") {
            let notes = format!(
                "{{{{- $notes := include \"{}/templates/NOTES.txt\" . }}}}\napiVersion: {NOTES}\nkind: Notes\nnotes: {{{{ toJson $notes }}}}\n",
                template.chart
            );
            files.push(File::new("templates/slipway-notes.yaml", notes));
        }
        Ok(Self { archive: pack(template.chart, &files)?, looks_up, moving })
    }
}

/// Whether a file of a chart is a part of it that is packed.
fn is_packed(path: &Path) -> bool {
    path.starts_with("charts") && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("tgz"))
}

/// Adds every file below a directory, in the order of their paths.
fn collect(directory: &Path, text: &mut String) -> std::io::Result<()> {
    let mut entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries.collect::<Result<Vec<_>, _>>()?,
        // A chart may render nothing at all.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), text)?;
        } else {
            text.push_str(&String::from_utf8_lossy(&std::fs::read(entry.path())?));
            text.push('\n');
        }
    }
    Ok(())
}

/// Takes the notes out of what was rendered.
fn without_notes(text: &str) -> (String, Option<String>) {
    let mark = format!("apiVersion: {NOTES}\n");
    let Some(at) = text.find(&mark) else { return (text.to_owned(), None) };
    let start = text[..at].rfind("---").unwrap_or(at);
    let end = text[at..].find("\n---").map_or(text.len(), |length| at + length);
    let line = text[at..end].lines().find_map(|line| line.strip_prefix("notes: "));
    let notes = line.and_then(|line| serde_json::from_str::<String>(line).ok());
    (format!("{}{}", &text[..start], &text[end..]), notes.filter(|notes| !notes.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_taken_out_of_what_was_rendered() {
        let text = "---\n# Source: a\na: 1\n---\n# Source: n\napiVersion: slipway.dev/notes\nkind: Notes\nnotes: \"a\\n--- b\"\n\n---\n# Source: b\nb: 1\n";
        let (rest, notes) = without_notes(text);
        assert_eq!(notes.as_deref(), Some("a\n--- b"));
        assert_eq!(rest, "---\n# Source: a\na: 1\n\n---\n# Source: b\nb: 1\n");
        assert_eq!(without_notes("a: 1"), ("a: 1".to_owned(), None));
    }
}
