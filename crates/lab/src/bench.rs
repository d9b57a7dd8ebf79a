//! The measurements. Each suite writes what it saw into `bench/`, with the command that made it.

mod crd;
mod fleet;
pub(crate) mod operator;
mod record;

use anyhow::bail;

/// Runs one suite, or all.
pub(crate) async fn bench(name: Option<&str>, options: &operator::Options) -> anyhow::Result<()> {
    match name {
        None => {
            fleet::measure().await?;
            crd::measure()?;
            operator::measure(options).await?;
        }
        Some("fleet") => fleet::measure().await?,
        Some("crd") => crd::measure()?,
        Some("operator") => operator::measure(options).await?,
        Some(unknown) => bail!("there is no measurement {unknown:?}; there are: fleet, crd, operator"),
    }
    slipway_testkit::broker::close();
    Ok(())
}
