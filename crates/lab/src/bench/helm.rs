//! Installing a chart as people do it.

use std::process::Stdio;

use anyhow::{Context, bail};
use slipway_testkit::charts::Chart;
use slipway_testkit::{ControlPlane, Program, scratch};

/// Installs a chart as a release of this name, in a namespace of the same name.
pub(super) async fn install(plane: &ControlPlane, name: &str, chart: &Chart) -> anyhow::Result<()> {
    let folder = scratch("bench-helm")?;
    let archive = chart.write_to(folder.path())?;
    let output = tokio::process::Command::new(Program::Helm4.find()?)
        .args(["install", name, "--namespace", name, "--create-namespace"])
        .arg(&archive)
        .env("KUBECONFIG", plane.kubeconfig_file())
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .output()
        .await
        .context("running helm")?;
    if !output.status.success() {
        bail!("helm install: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
