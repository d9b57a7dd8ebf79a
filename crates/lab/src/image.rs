//! OCI archives of our programs, without Docker.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use slipway_testkit::image::Image;

/// The programs that have images, with the package each is in.
const PROGRAMS: [(&str, &str); 2] = [("probe", "slipway-testkit"), ("slipway", "slipway")];

/// Compiles a program and writes its image.
pub(crate) fn image(name: &str, fast: bool, output: Option<PathBuf>) -> anyhow::Result<()> {
    let Some((_, package)) = PROGRAMS.iter().find(|(program, _)| *program == name) else {
        let names: Vec<_> = PROGRAMS.iter().map(|(program, _)| *program).collect();
        bail!("there is no image {name:?}; there are: {}", names.join(", "));
    };
    // What tests are compiled with anyway costs nothing more.
    let (profile, built_in) = if fast { ("dev", "debug") } else { ("release", "release") };
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--package", package, "--bin", name, "--profile", profile])
        .status()
        .context("running cargo")?;
    if !status.success() {
        bail!("{name} does not compile");
    }
    let target = target()?;
    let output = output.unwrap_or_else(|| target.join("images").join(format!("{name}.tar")));
    if let Some(directory) = output.parent() {
        std::fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
    }
    let image = Image::from_binary(&reference(name), target.join(built_in).join(name))?;
    let digest = image.write(&output)?;
    println!("{} {digest}\n  written to {}", image.reference(), output.display());
    println!("  load it with: ctr -n k8s.io image import {}", output.display());
    Ok(())
}

/// The image of the test kit's probe, from the program that was compiled beside this one.
pub(crate) fn probe() -> anyhow::Result<Image> {
    let this = std::env::current_exe().context("finding this program's own file")?;
    Image::from_binary(&reference("probe"), this.with_file_name("probe"))
}

fn reference(name: &str) -> String {
    format!("slipway.dev/{name}:{}", env!("CARGO_PKG_VERSION"))
}

/// The build directory, from where this program is in it.
fn target() -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe().context("finding this program's own file")?;
    this.parent().and_then(Path::parent).map(Path::to_owned).context("this program is in no build directory")
}
