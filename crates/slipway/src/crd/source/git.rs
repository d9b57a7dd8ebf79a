//! CRDs out of Git, at any commit, without touching the work tree.

use std::fs;
use std::path::{Component, Path};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use slipway_crd_compat::crd::Crd;

use super::{SourceOptions, load_path};

/// Reads a file, a directory or a chart as it was at a commit, tag or branch.
///
/// What is there is written into a directory of its own first, so that charts and directories are
/// read in the one way there is.
pub(super) fn load(reference: &str, path: &str, options: &SourceOptions) -> anyhow::Result<Vec<Crd>> {
    let path = path.trim_end_matches('/');
    let place = format!("git:{reference}:{path}");
    if reference.starts_with('-') || Path::new(path).components().any(|part| part == Component::ParentDir) {
        bail!("{place} is not a commit and a path below the repository's root");
    }
    let commit =
        git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{reference}^{{commit}}")])
            .with_context(|| format!("{place}: there is no commit {reference:?} in this repository"))?;
    let commit = String::from_utf8_lossy(&commit).trim().to_owned();
    let pattern = if path.is_empty() { "." } else { path };
    let list = git(&["ls-tree", "-r", "-z", "--full-tree", "--name-only", &commit, "--", pattern])?;
    let names: Vec<_> = String::from_utf8_lossy(&list)
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    if names.is_empty() {
        bail!("{place}: there is no such file or directory at that commit");
    }
    let directory = tempfile::tempdir().context("making a directory for what Git holds")?;
    for name in &names {
        let target = directory.path().join(name);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&target, git(&["cat-file", "blob", &format!("{commit}:{name}")])?)?;
    }
    let root = directory.path().to_string_lossy().into_owned();
    load_path(&directory.path().join(path), options)
        // The directory means nothing to people; the commit does.
        .map_err(|error| {
            anyhow::anyhow!(
                "{}",
                format!("{error:#}").replace(&format!("{root}/"), &format!("git:{reference}:"))
            )
        })
}

fn git(arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let output = Command::new("git")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .context("the git program does not run")?;
    if !output.status.success() {
        bail!("git {} failed: {}", arguments[0], String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}
