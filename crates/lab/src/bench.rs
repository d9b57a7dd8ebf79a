//! The measurements. Each suite writes what it saw into `bench/`, with the command that made it.

mod crd;
mod fleet;
mod record;

use anyhow::bail;

/// Runs one suite, or all.
pub(crate) async fn bench(name: Option<&str>) -> anyhow::Result<()> {
    match name {
        None => {
            fleet::measure().await?;
            crd::measure()?;
        }
        Some("fleet") => fleet::measure().await?,
        Some("crd") => crd::measure()?,
        Some(unknown) => bail!("there is no measurement {unknown:?}; there are: fleet, crd"),
    }
    slipway_testkit::broker::close();
    Ok(())
}
