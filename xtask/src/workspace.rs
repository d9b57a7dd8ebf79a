//! Running the workspace's own programs and cargo.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, bail};
use slipway_programs::cache_directory;

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}

/// Cargo, in the root of the checkout.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Where cargo puts what it builds.
pub(crate) fn target_directory() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<ExitStatus> {
    let program = command.get_program().to_owned();
    command.status().with_context(|| format!("running {}", program.display()))
}

fn code(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// The lab: the demonstration and images.
pub(crate) fn run_lab(words: &[&str]) -> anyhow::Result<ExitCode> {
    // The lab starts the guardian and the manager, and puts the test kit's probe and the operator into images:
    // programs of their own.
    let packages =
        ["slipway-guardian", "slipway-lab", "slipway-testkit", "slipway", "slipway-application-operator"];
    build_and_run(&["--quiet"], &packages, "debug", words)
}

fn build_and_run(
    options: &[&str],
    packages: &[&str],
    folder: &str,
    words: &[&str],
) -> anyhow::Result<ExitCode> {
    let packages = packages.iter().flat_map(|package| ["--package", package]);
    let arguments: Vec<&str> = ["build"].into_iter().chain(options.iter().copied()).chain(packages).collect();
    let built = run(&mut cargo(&arguments))?;
    if !built.success() {
        return Ok(code(built));
    }
    let lab = target_directory().join(folder).join("slipway-lab");
    Ok(code(run(Command::new(lab).args(words).current_dir(root()))?))
}

/// Writes the generated files, or compares them.
pub(crate) fn generate(words: &[&str]) -> anyhow::Result<ExitCode> {
    if let Some(unknown) = words.iter().find(|word| **word != "--check") {
        bail!("generate has no option {unknown:?}; it takes --check");
    }
    let mut last = ExitCode::SUCCESS;
    for package in ["slipway", "slipway-application-operator"] {
        let mut arguments = vec!["run", "--quiet", "--package", package, "--example", "generate", "--"];
        arguments.extend(words);
        // Both say what is out of date before one of them fails the command.
        let status = run(&mut cargo(&arguments))?;
        if !status.success() {
            last = code(status);
        }
    }
    Ok(last)
}

/// Judges the corpus, where it is present.
pub(crate) fn conformance(words: &[&str]) -> anyhow::Result<ExitCode> {
    let mut arguments = vec!["run", "--quiet", "--package", "slipway", "--example", "conformance", "--"];
    arguments.extend(words);
    Ok(code(run(&mut cargo(&arguments))?))
}

/// Measures; each suite writes its figures into `bench/`. What measures is optimized as what is measured is: it shares
/// the machine with it, and would else measure itself.
pub(crate) fn bench(words: &[&str]) -> anyhow::Result<ExitCode> {
    let packages = ["slipway-guardian", "slipway-lab", "slipway-testkit"];
    // The test kit has more programs, and each takes minutes to optimize.
    let programs = ["--release", "--bin", "guardian", "--bin", "slipway-lab", "--bin", "probe"];
    build_and_run(&programs, &packages, "release", &[&["bench"], words].concat())
}

/// Checks licences, bans and sources. The advisories need a database from elsewhere: a step of its own.
pub(crate) fn deny() -> anyhow::Result<ExitCode> {
    let tools = cache_directory().join("tools");
    let deny = tools.join("bin/cargo-deny");
    if !deny.is_file() {
        let root = tools.to_string_lossy().into_owned();
        let installed = run(&mut cargo(&["install", "--quiet", "--locked", "--root", &root, "cargo-deny"]))?;
        if !installed.success() {
            bail!("cargo-deny could not be installed; try: cargo install cargo-deny");
        }
    }
    Ok(code(run(Command::new(deny).args(["check", "licenses", "bans", "sources"]).current_dir(root()))?))
}
