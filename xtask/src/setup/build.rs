//! Building one recipe into the cache.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use slipway_programs::{Recipe, Source};

use super::go::Go;
use crate::progress::Progress;

/// Builds a recipe, unless another run is just doing so: then it waits for that one.
///
/// The programs are made in a directory beside their place and moved there whole, so that a
/// directory in the cache is always complete.
pub(crate) fn build(go: &Go, recipe: &Recipe) -> anyhow::Result<()> {
    let directory = recipe.directory();
    let parent = directory.parent().context("the cache has no directory")?;
    fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
    let lock_file = beside(&directory, "lock");
    let lock = File::create(&lock_file)?;
    lock.lock().with_context(|| format!("waiting for another build of {}", recipe.name))?;
    if recipe.is_built() {
        return Ok(());
    }
    let what = format!("{} {}", recipe.name, recipe.version);
    let progress = Progress::start(&what, Some(Duration::from_secs(recipe.cold_seconds.into())));
    let unfinished = beside(&directory, "unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    fs::create_dir_all(&unfinished)?;
    compile(go, recipe, &unfinished)?;
    for link in recipe.links {
        symlink(recipe.binary, unfinished.join(link))?;
    }
    fs::rename(&unfinished, &directory)?;
    let _ = fs::remove_file(lock_file);
    progress.done();
    Ok(())
}

/// A path beside a directory, named after it. Its name has dots, so an extension would cut it.
fn beside(directory: &Path, suffix: &str) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{suffix}"));
    directory.with_file_name(name)
}

/// Fetches packages of npm, exactly those that the lock file pins; their scripts do not run.
fn fetch(recipe: &Recipe, files: &[(&str, &str)], output: &Path) -> anyhow::Result<()> {
    for (name, content) in files {
        fs::write(output.join(name), content)?;
    }
    let result = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(output)
        .stdin(Stdio::null())
        .output()
        .context("running npm")?;
    if !result.status.success() {
        let said = String::from_utf8_lossy(&result.stderr);
        bail!("fetching {} {} failed:\n{said}", recipe.name, recipe.version);
    }
    Ok(())
}

fn compile(go: &Go, recipe: &Recipe, output: &Path) -> anyhow::Result<()> {
    if let Source::Node(files) = &recipe.source {
        return fetch(recipe, files, output);
    }
    let stamps: Vec<_> = recipe.stamps.iter().map(|(name, value)| format!("-X {name}={value}")).collect();
    let mut command = Command::new(&go.program);
    command
        .env("CGO_ENABLED", "0")
        .env("GOTOOLCHAIN", go.toolchain)
        .env("GOFLAGS", "-buildvcs=false")
        .env("GOWORK", "off")
        .env_remove("GOROOT")
        .stdin(Stdio::null());
    let linker = format!("-s -w {}", stamps.join(" "));
    let source = output.join("source");
    match &recipe.source {
        Source::Module(files) => {
            fs::create_dir(&source)?;
            for (name, content) in *files {
                let file = source.join(name);
                fs::create_dir_all(file.parent().unwrap_or(&source))?;
                fs::write(file, content)?;
            }
            command.current_dir(&source).args(["build", "-trimpath", "-ldflags", &linker, "-o"]);
            command.arg(output.join(recipe.binary)).arg(".");
        }
        Source::Node(_) => bail!("{} is not built by Go", recipe.name),
        Source::Install { packages, version } => {
            command.current_dir(output).env("GOBIN", output).args([
                "install",
                "-trimpath",
                "-ldflags",
                &linker,
            ]);
            command.args(packages.iter().map(|package| format!("{package}@{version}")));
        }
    }
    let result = command.output().with_context(|| format!("running {}", go.program.display()))?;
    if !result.status.success() {
        let said = String::from_utf8_lossy(&result.stderr);
        let said: Vec<_> = said.lines().filter(|line| !line.starts_with("go: downloading")).collect();
        bail!("building {} {} failed:\n{}", recipe.name, recipe.version, said.join("\n"));
    }
    if source.exists() {
        fs::remove_dir_all(&source)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_versions_of_a_program_are_locked_apart() {
        let one = beside(Path::new("/c/kubernetes-1.36.3-aa"), "lock");
        assert_eq!(one, Path::new("/c/kubernetes-1.36.3-aa.lock"));
        assert_ne!(one, beside(Path::new("/c/kubernetes-1.36.4-bb"), "lock"));
    }
}
