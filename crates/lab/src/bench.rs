//! The measurements. Each suite writes what it saw into `bench/`, with the command that made it.

mod fleet;
mod record;

use anyhow::bail;

/// Runs one suite, or all.
pub(crate) async fn bench(name: Option<&str>) -> anyhow::Result<()> {
    match name {
        None | Some("fleet") => fleet::measure().await?,
        Some(unknown) => bail!("there is no measurement {unknown:?}; there is: fleet"),
    }
    slipway_testkit::broker::close();
    Ok(())
}
