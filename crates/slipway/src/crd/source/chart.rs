//! CRDs out of Helm charts: from `crds/`, and from templates where a chart renders them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use slipway_crd_compat::crd::Crd;
use slipway_programs::Program;

use super::SourceOptions;
use super::files::{crds, is_manifest};

/// How many files of an archive are looked at, and how large it may be unpacked.
const MOST_FILES: usize = 20_000;
const LARGEST_UNPACKED: u64 = 128 << 20;

/// A chart's files that can hold CRDs.
#[derive(Default)]
struct Contents {
    /// Manifests in a `crds` directory of the chart or of one that it brings along.
    crds: Vec<(String, String)>,
    /// Whether a template makes a CRD.
    templates_make_crds: bool,
}

impl Contents {
    fn add(&mut self, chart: &Path, name: &str, text: String) {
        let parts: Vec<_> = name.split('/').collect();
        let is_in = |directory: &str| parts.iter().rev().skip(1).any(|part| *part == directory);
        if is_in("templates") {
            self.templates_make_crds |= text.contains("kind: CustomResourceDefinition");
        } else if is_in("crds") && is_manifest(name) {
            self.crds.push((format!("{}/{name}", chart.display()), text));
        }
    }

    fn load(self, chart: &Path, options: &SourceOptions) -> anyhow::Result<Vec<Crd>> {
        if self.templates_make_crds {
            let rendered = render(chart, options)?;
            return crds(&[(format!("{}, rendered", chart.display()), rendered)]).context(
                "the chart's templates make CRDs, perhaps only with a value set, such as --set crds.enabled=true",
            );
        }
        if self.crds.is_empty() {
            bail!(
                "the chart {} brings no CRDs: it has no crds directory, and no template makes one",
                chart.display()
            );
        }
        crds(&self.crds)
    }
}

/// Reads a chart's directory.
pub(super) fn load_directory(chart: &Path, options: &SourceOptions) -> anyhow::Result<Vec<Crd>> {
    let mut contents = Contents::default();
    let mut waiting = vec![chart.to_owned()];
    let mut seen = 0;
    while let Some(directory) = waiting.pop() {
        let entries = std::fs::read_dir(&directory)
            .with_context(|| format!("{} cannot be read", directory.display()))?;
        for entry in entries {
            let entry = entry?;
            seen += 1;
            if seen > MOST_FILES {
                bail!("the chart {} holds more than {MOST_FILES} files", chart.display());
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                let name = path.strip_prefix(chart).unwrap_or(&path).to_string_lossy().into_owned();
                // Only text is of interest; an icon or an archive is not.
                if let Ok(text) = std::fs::read_to_string(&path) {
                    contents.add(chart, &name, text);
                }
            }
        }
    }
    contents.crds.sort();
    contents.load(chart, options)
}

/// Reads a packed chart, without unpacking it onto the disk.
pub(super) fn load_archive(chart: &Path, options: &SourceOptions) -> anyhow::Result<Vec<Crd>> {
    let broken = || format!("{} is not a packed chart", chart.display());
    let file = File::open(chart).with_context(|| format!("{} cannot be read", chart.display()))?;
    let unpacked = flate2::read::GzDecoder::new(file).take(LARGEST_UNPACKED);
    let mut contents = Contents::default();
    let mut is_chart = false;
    for (seen, entry) in tar::Archive::new(unpacked).entries().with_context(broken)?.enumerate() {
        if seen > MOST_FILES {
            bail!("the chart {} holds more than {MOST_FILES} files", chart.display());
        }
        let mut entry = entry.with_context(broken)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = entry.path().with_context(broken)?.to_string_lossy().into_owned();
        is_chart |= name.ends_with("Chart.yaml");
        let mut text = String::new();
        if entry.read_to_string(&mut text).is_ok() {
            contents.add(chart, &name, text);
        }
    }
    if !is_chart {
        bail!("{}: there is no Chart.yaml in it", broken());
    }
    contents.crds.sort();
    contents.load(chart, options)
}

/// Has helm render a chart, as for an installation.
fn render(chart: &Path, options: &SourceOptions) -> anyhow::Result<String> {
    let helm = helm();
    let mut command = Command::new(&helm);
    command.args(["template", "slipway"]).arg(chart).arg("--include-crds").stdin(Stdio::null());
    for value in &options.set {
        command.arg("--set").arg(value);
    }
    for file in &options.values {
        command.arg("--values").arg(file);
    }
    let output = command.output().with_context(|| {
        format!(
            "the templates of {} make CRDs, and the helm program that renders them does not run ({}); \
                 install helm, or point the variable HELM at it",
            chart.display(),
            helm.display()
        )
    })?;
    if !output.status.success() {
        bail!("helm cannot render {}: {}", chart.display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).context("helm rendered something that is not text")
}

/// The user's helm, else the one that setup built.
fn helm() -> PathBuf {
    let along_path = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).map(|directory| directory.join("helm")).find(|file| file.is_file())
    });
    match std::env::var_os("HELM") {
        Some(own) => own.into(),
        None => along_path.or_else(|| Program::Helm4.find().ok()).unwrap_or_else(|| "helm".into()),
    }
}
