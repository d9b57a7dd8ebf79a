//! `slipway config check`: each setting, its value, where that came from, and what it is for.

use clap::Subcommand;

use super::{Config, Sources};
use crate::cli::{Cell, Tone, print, table};

/// Look at the server's settings without starting it.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting with its value, where that came from and what it is; fail if the server would.
    Check(Box<Sources>),
}

impl ConfigCommand {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let Self::Check(sources) = self;
        let mut values = sources.values()?;
        let rows = values.shown().map(|(setting, value, origin)| {
            let tone = if *origin == super::values::Origin::Default { Tone::Quiet } else { Tone::Plain };
            vec![
                setting.key.into(),
                Cell::new(value, tone),
                Cell::new(origin.to_string(), Tone::Quiet),
                Cell::new(setting.help, Tone::Quiet),
            ]
        });
        print(&table(&["SETTING", "VALUE", "FROM", "WHAT IT IS"], rows, ""))?;
        Config::read(&mut values)?;
        Ok(())
    }
}
