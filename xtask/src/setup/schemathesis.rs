//! Schemathesis, in an environment of Python of its own. It is optional: a machine without Python or without
//! a package index lacks one test, and is told so.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use slipway_programs::{SCHEMATHESIS_VERSION, schemathesis, schemathesis_directory};

/// Installs it if it is not there; says what is lacking if that does not work.
pub(crate) fn install() {
    if schemathesis().is_some() {
        return;
    }
    if let Err(error) = install_it() {
        eprintln!("Schemathesis is not installed ({error:#}); the test that uses it is skipped.");
    }
}

fn install_it() -> anyhow::Result<()> {
    let place = schemathesis_directory();
    if let Some(directory) = place.parent() {
        fs::create_dir_all(directory)?;
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&place), "making an environment of Python")?;
    let wanted = format!("schemathesis=={SCHEMATHESIS_VERSION}");
    let pip = place.join("bin/pip");
    let installed = run(
        Command::new(pip).args(["install", "--quiet", "--disable-pip-version-check", &wanted]),
        "installing it from the package index",
    );
    if installed.is_err() {
        // Half an environment would be taken for a whole one the next time.
        let _ = fs::remove_dir_all(&place);
    }
    installed
}

fn run(command: &mut Command, doing: &str) -> anyhow::Result<()> {
    let status =
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().with_context(|| doing.to_owned())?;
    if !status.success() {
        bail!("{doing} failed");
    }
    Ok(())
}
