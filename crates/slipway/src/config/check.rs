//! `slipway config check`: each setting, its value, and where that came from.

use clap::Subcommand;

use super::{Config, Sources};
use crate::cli::{Cell, Tone, print, table};

/// Look at the server's settings without starting it.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting with its value and where that came from; fail if the server would.
    Check(Box<Sources>),
}

impl ConfigCommand {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let Self::Check(sources) = self;
        let mut values = sources.values()?;
        let rows = values.shown().map(|(key, value, origin)| {
            let tone = if *origin == super::values::Origin::Default { Tone::Quiet } else { Tone::Plain };
            vec![key.into(), Cell::new(value, tone), Cell::new(origin.to_string(), Tone::Quiet)]
        });
        print(&table(&["SETTING", "VALUE", "FROM"], rows, ""))?;
        Config::read(&mut values)?;
        Ok(())
    }
}
