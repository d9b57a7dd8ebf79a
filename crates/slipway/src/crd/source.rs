//! Where CRDs come from: files, charts, Git, clusters.

mod chart;
mod cluster;
mod files;
mod git;

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::options::KubernetesVersion;

pub(crate) use cluster::Cluster;

/// The largest input that is read at all.
const LARGEST: u64 = 64 << 20;

/// What sources need to be told.
#[derive(Debug, Args)]
pub(crate) struct SourceOptions {
    /// The kubeconfig for cluster:<context> [default: KUBECONFIG, ~/.kube/config].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// A value for charts whose CRDs are templates, such as crds.enabled=true.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// A values file for charts whose CRDs are templates.
    #[arg(long, value_name = "FILE")]
    values: Vec<PathBuf>,
}

impl SourceOptions {
    /// The kubeconfig that was named.
    pub(crate) fn kubeconfig(&self) -> Option<&Path> {
        self.kubeconfig.as_deref()
    }
}

/// One side of a comparison, as it was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    StandardInput,
    Path(PathBuf),
    Git { reference: String, path: String },
    Cluster { context: Option<String> },
}

/// What a source held.
pub(crate) struct Loaded {
    pub(crate) crds: Vec<Crd>,
    /// The version of the cluster that they come from.
    pub(crate) kubernetes: Option<KubernetesVersion>,
}

impl Loaded {
    fn of(crds: Vec<Crd>) -> Self {
        Self { crds, kubernetes: None }
    }

    pub(crate) fn is_cluster(&self) -> bool {
        self.kubernetes.is_some()
    }
}

impl Source {
    /// Reads what a person typed.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        if text == "-" {
            return Ok(Self::StandardInput);
        }
        if let Some(context) = text.strip_prefix("cluster:") {
            return Ok(Self::Cluster { context: (!context.is_empty()).then(|| context.to_owned()) });
        }
        if let Some(rest) = text.strip_prefix("git:") {
            let Some((reference, path)) = rest.split_once(':').filter(|(reference, _)| !reference.is_empty())
            else {
                bail!(
                    "{text:?} names no file in Git; write it as git:<ref>:<path>, such as git:v1.2.0:config/crd"
                );
            };
            return Ok(Self::Git { reference: reference.to_owned(), path: path.to_owned() });
        }
        Ok(Self::Path(text.into()))
    }

    pub(crate) fn is_standard_input(&self) -> bool {
        *self == Self::StandardInput
    }

    /// The file or directory it is read from, as a reference relative to the working directory.
    pub(crate) fn file(&self) -> Option<String> {
        match self {
            Self::Path(path) => Some(path.strip_prefix("./").unwrap_or(path).to_string_lossy().into_owned()),
            Self::Git { path, .. } => Some(path.clone()),
            Self::StandardInput | Self::Cluster { .. } => None,
        }
    }

    /// Reads the CRDs.
    pub(crate) fn load(&self, options: &SourceOptions) -> anyhow::Result<Loaded> {
        match self {
            Self::StandardInput => {
                let text = read_text(std::io::stdin().lock(), "standard input")?;
                files::crds(&[("standard input".to_owned(), text)]).map(Loaded::of)
            }
            Self::Path(path) => load_path(path, options).map(Loaded::of),
            Self::Git { reference, path } => git::load(reference, path, options).map(Loaded::of),
            Self::Cluster { context } => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(async {
                    let cluster = Cluster::connect(options.kubeconfig.as_deref(), context.as_deref()).await?;
                    Ok(Loaded { crds: cluster.crds().await?, kubernetes: Some(cluster.version) })
                })
            }
        }
    }
}

/// The manifests of a file, of a directory and below, or of standard input (`-`), each with its name.
pub(crate) fn texts(named: &str) -> anyhow::Result<Vec<(String, String)>> {
    if named == "-" {
        let name = "standard input".to_owned();
        return Ok(vec![(name.clone(), read_text(std::io::stdin().lock(), &name)?)]);
    }
    let path = Path::new(named);
    let kind = std::fs::metadata(path).with_context(|| format!("{named} cannot be read"))?;
    if kind.is_dir() {
        return files::directory(path);
    }
    let file = std::fs::File::open(path).with_context(|| format!("{named} cannot be read"))?;
    Ok(vec![(named.to_owned(), read_text(file, named)?)])
}

fn load_path(path: &Path, options: &SourceOptions) -> anyhow::Result<Vec<Crd>> {
    let shown = path.display();
    let kind = std::fs::metadata(path).with_context(|| format!("{shown} cannot be read"))?;
    if kind.is_dir() {
        if path.join("Chart.yaml").is_file() {
            return chart::load_directory(path, options);
        }
        return files::crds(&files::directory(path)?);
    }
    let name = path.to_string_lossy();
    if name.ends_with(".tgz") || name.ends_with(".tar.gz") {
        return chart::load_archive(path, options);
    }
    let file = std::fs::File::open(path).with_context(|| format!("{shown} cannot be read"))?;
    files::crds(&[(shown.to_string(), read_text(file, &shown.to_string())?)])
}

/// Reads a text, but not more than is sensible.
fn read_text(reader: impl Read, name: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    reader.take(LARGEST + 1).read_to_end(&mut bytes).with_context(|| format!("{name} cannot be read"))?;
    if bytes.len() as u64 > LARGEST {
        bail!("{name} is larger than {} MiB", LARGEST >> 20);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..valid].split(|byte| *byte == b'\n').count();
            bail!("{name}: line {line} is not UTF-8 text")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_apart_by_how_they_are_written() {
        let git = Source::Git { reference: "v1".into(), path: "a:b.yaml".into() };
        for (text, source) in [
            ("-", Source::StandardInput),
            ("a.yaml", Source::Path("a.yaml".into())),
            ("git:v1:a:b.yaml", git),
            ("cluster:prod", Source::Cluster { context: Some("prod".into()) }),
            ("cluster:", Source::Cluster { context: None }),
        ] {
            assert_eq!(Source::parse(text).unwrap(), source, "{text}");
        }
        let error = Source::parse("git:v1").unwrap_err().to_string();
        assert!(error.contains("write it as git:<ref>:<path>"), "{error}");
    }

    #[test]
    fn text_that_is_not_utf_8_is_refused_with_its_line() {
        let error = read_text(&b"a: 1\nb: \xff\n"[..], "x.yaml").unwrap_err();
        assert_eq!(error.to_string(), "x.yaml: line 2 is not UTF-8 text");
    }
}
