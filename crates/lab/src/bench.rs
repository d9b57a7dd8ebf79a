//! The measurements. Each suite writes what it saw into `bench/`, with the command that made it.

mod crd;
mod fleet;
mod helm;
pub(crate) mod manager;
pub(crate) mod operator;
mod parts;
mod record;
pub(crate) mod rollouts;
mod seen;
mod server;
mod usage;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};

/// Runs one suite, or all.
pub(crate) async fn bench(
    name: Option<&str>,
    options: &operator::Options,
    manager: &manager::Options,
    rollouts: &rollouts::Options,
) -> anyhow::Result<()> {
    match name {
        None => {
            fleet::measure().await?;
            crd::measure()?;
            operator::measure(options).await?;
            manager::measure(manager).await?;
            rollouts::measure(rollouts, manager.small).await?;
        }
        Some("fleet") => fleet::measure().await?,
        Some("crd") => crd::measure()?,
        Some("operator") => operator::measure(options).await?,
        Some("manager") => manager::measure(manager).await?,
        Some("rollouts") => rollouts::measure(rollouts, manager.small).await?,
        Some(unknown) => {
            bail!("there is no measurement {unknown:?}; there are: fleet, crd, operator, manager, rollouts")
        }
    }
    slipway_testkit::broker::close();
    Ok(())
}

/// A program of ours as people install it.
fn build(package: &str) -> anyhow::Result<PathBuf> {
    println!("building {package} …");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", package])
        .status()
        .context("running cargo")?;
    if !built.success() {
        bail!("{package} could not be built");
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    Ok(target.join("release").join(package))
}
