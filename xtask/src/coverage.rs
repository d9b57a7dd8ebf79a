//! `cargo xtask coverage`: line coverage with the compiler's own instruments.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, bail};

use crate::workspace::{cargo, root, run};

/// The share of lines that must be covered, in percent.
const NEEDED: f64 = 85.0;

/// Runs the tests instrumented and prints the share of lines per crate; fails below what is needed.
pub(crate) fn coverage(words: &[&str]) -> anyhow::Result<ExitCode> {
    let selection: Vec<&str> = match words {
        [] => vec!["--workspace"],
        packages => packages.iter().flat_map(|package| ["--package", package]).collect(),
    };
    let target = root().join("target/coverage");
    let profiles = target.join("profiles");
    if profiles.exists() {
        fs::remove_dir_all(&profiles)?;
    }
    fs::create_dir_all(&profiles)?;
    let instrumented = |arguments: &[&str]| {
        let mut command = cargo(arguments);
        command
            .env("RUSTFLAGS", "-C instrument-coverage")
            .env("CARGO_TARGET_DIR", &target)
            .env("SLIPWAY_GUARDIAN", target.join("debug/guardian"))
            .env("LLVM_PROFILE_FILE", profiles.join("%p-%m.profraw"));
        command
    };
    if !run(&mut instrumented(&["build", "--quiet", "--workspace", "--bins"]))?.success() {
        bail!("the workspace does not build");
    }
    let list = instrumented(&[&["test", "--no-run", "--message-format=json"], selection.as_slice()].concat())
        .stderr(std::process::Stdio::inherit())
        .output()?;
    let mut binaries = executables(&String::from_utf8_lossy(&list.stdout));
    let programs = fs::read_dir(target.join("debug"))?.flatten().map(|entry| entry.path());
    binaries.extend(programs.filter(|path| is_program(path)));
    let tests = run(&mut instrumented(&[&["test", "--no-fail-fast"], selection.as_slice()].concat()))?;
    if !tests.success() {
        bail!("the tests fail, so their coverage says nothing; see: cargo xtask test");
    }
    let tools = tools()?;
    let merged = target.join("all.profdata");
    let raw = fs::read_dir(&profiles)?.flatten().map(|entry| entry.path());
    let status = run(Command::new(tools.join("llvm-profdata"))
        .args(["merge", "--sparse", "--failure-mode=all", "-o"])
        .arg(&merged)
        .args(raw))?;
    if !status.success() {
        bail!("llvm-profdata could not merge the profiles");
    }
    let mut report = Command::new(tools.join("llvm-cov"));
    report.args(["export", "--format=lcov", "--instr-profile"]).arg(&merged);
    report.arg("--ignore-filename-regex=/(registry|rustc|tests|benches|examples)/");
    for binary in &binaries {
        report.arg("--object").arg(binary);
    }
    let output = report.output().context("running llvm-cov")?;
    if !output.status.success() {
        bail!("llvm-cov failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let mut crates = lines_by_crate(&String::from_utf8_lossy(&output.stdout), &root());
    if !words.is_empty() {
        // Crates whose tests did not run say nothing.
        let folder = |word: &str| word.strip_prefix("slipway-").unwrap_or(word).to_owned();
        crates.retain(|path, _| words.iter().any(|word| Path::new(path).ends_with(folder(word))));
    }
    Ok(print(&crates))
}

#[allow(clippy::cast_precision_loss, reason = "counts of lines are small")]
fn percent(hit: usize, all: usize) -> f64 {
    if all == 0 { 100.0 } else { hit as f64 * 100.0 / all as f64 }
}

fn print(crates: &BTreeMap<String, (usize, usize)>) -> ExitCode {
    let (mut hit, mut all) = (0, 0);
    for (name, (covered, lines)) in crates {
        println!("  {name:24} {:5.1} %  {covered} of {lines} lines", percent(*covered, *lines));
        hit += covered;
        all += lines;
    }
    let share = percent(hit, all);
    println!("  {:24} {share:5.1} %  needed: {NEEDED} %", "in all");
    if share < NEEDED { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Whether a file in the build directory is a program, not one of cargo's own notes.
fn is_program(path: &Path) -> bool {
    let runnable = path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    runnable && path.extension().is_none()
}

/// The files that cargo's messages name as runnable.
fn executables(messages: &str) -> Vec<PathBuf> {
    let field = "\"executable\":\"";
    messages
        .lines()
        .filter_map(|line| line.split_once(field)?.1.split_once('"'))
        .map(|(path, _)| path.into())
        .collect()
}

/// Covered and coverable lines by crate, from the `lcov` format.
fn lines_by_crate(lcov: &str, root: &Path) -> BTreeMap<String, (usize, usize)> {
    let mut crates: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut current = None;
    for line in lcov.lines() {
        if let Some(file) = line.strip_prefix("SF:") {
            current = Path::new(file).strip_prefix(root).ok().and_then(|path| {
                let crate_directory = path.iter().take_while(|part| *part != "src").collect::<PathBuf>();
                path.iter().any(|part| part == "src").then(|| crate_directory.display().to_string())
            });
        } else if let (Some(name), Some(data)) = (&current, line.strip_prefix("DA:")) {
            let count = data.split(',').nth(1).and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
            let entry = crates.entry(name.clone()).or_default();
            entry.1 += 1;
            entry.0 += usize::from(count > 0);
        }
    }
    crates
}

/// The directory of the compiler's tools for coverage.
fn tools() -> anyhow::Result<PathBuf> {
    let output = Command::new("rustc").args(["--print", "target-libdir"]).current_dir(root()).output()?;
    let library = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let tools = library.parent().map(|directory| directory.join("bin")).unwrap_or_default();
    if tools.join("llvm-cov").is_file() {
        return Ok(tools);
    }
    let added = run(Command::new("rustup").args(["component", "add", "llvm-tools"]).current_dir(root()));
    if added.is_ok_and(|status| status.success()) && tools.join("llvm-cov").is_file() {
        return Ok(tools);
    }
    bail!("the compiler's coverage tools are missing; get them with: rustup component add llvm-tools")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_crate() {
        let lcov = "SF:/w/crates/a/src/lib.rs\nDA:1,3\nDA:2,0\nend_of_record\nSF:/w/crates/a/src/b/c.rs\nDA:9,1\nend_of_record\nSF:/elsewhere/src/x.rs\nDA:1,0\nSF:/w/xtask/src/main.rs\nDA:1,0\n";
        let crates = lines_by_crate(lcov, Path::new("/w"));
        assert_eq!(crates.get("crates/a"), Some(&(2, 3)));
        assert_eq!(crates.get("xtask"), Some(&(0, 1)));
        assert_eq!(crates.len(), 2);
    }

    #[test]
    fn executables_are_read_from_cargos_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":\"/t/a-1\",\"fresh\":true}\n{\"executable\":null}\n";
        assert_eq!(executables(messages), [PathBuf::from("/t/a-1")]);
    }
}
