//! Finding the guardian program that every part runs under.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, bail};

/// The guardian: where `SLIPWAY_GUARDIAN` points, else beside this program, built on first use.
pub fn guardian() -> anyhow::Result<&'static Path> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match FOUND.get_or_init(|| locate().map_err(|error| format!("{error:#}"))) {
        Ok(path) => Ok(path),
        Err(error) => bail!("{error}"),
    }
}

fn locate() -> anyhow::Result<PathBuf> {
    if let Some(set) = env::var_os("SLIPWAY_GUARDIAN").filter(|value| !value.is_empty()) {
        return Ok(set.into());
    }
    let this = env::current_exe().context("finding this program's own file")?;
    // A test is in `deps` or `examples` below the directory of its profile; a program is in that directory.
    let directory = this
        .ancestors()
        .skip(1)
        .find(|directory| !directory.ends_with("deps") && !directory.ends_with("examples"))
        .context("this program's file has no directory")?;
    let guardian = directory.join("guardian");
    if guardian.is_file() {
        return Ok(guardian);
    }
    let profile = match directory.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let target = directory.parent().context("the build directory has no parent")?;
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--package", "slipway-guardian", "--profile", profile])
        .arg("--manifest-path")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status()
        .context("running cargo to build the guardian")?;
    if !status.success() || !guardian.is_file() {
        bail!("the guardian could not be built; see why with: cargo build -p slipway-guardian");
    }
    Ok(guardian)
}
