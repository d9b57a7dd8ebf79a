//! `slipway db`: backups of a PostgreSQL of our own.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use slipway_infra::postgres::embedded::Embedded;

use crate::config::{Config, Sources};
use crate::serve::database::{embedded, folder};

/// Back up and restore the server's own database.
#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Write a backup that `pg_restore` reads; the server may run meanwhile.
    Backup(Box<Backup>),
    /// Put a backup in the place of everything that is there; the server must not run.
    Restore(Box<Backup>),
}

#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The file of the backup. The keys that open what is sealed in it are not in it: keep keyFile, too.
    file: PathBuf,
    #[command(flatten)]
    sources: Sources,
}

impl DbCommand {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("starting the runtime")?;
        runtime.block_on(async {
            match self {
                Self::Backup(arguments) => {
                    backup(&arguments.own("pg_dump --format=custom")?, &arguments.file).await
                }
                Self::Restore(arguments) => restore(&arguments.own("pg_restore")?, &arguments.file).await,
            }
        })
    }
}

impl Backup {
    /// The settings, if the database is our own.
    fn own(&self, instead: &str) -> anyhow::Result<Config> {
        let config = self.sources.load()?;
        if config.database_url.is_some() {
            bail!("the database is not Slipway's own (database.url is set); use: {instead}");
        }
        Ok(config)
    }
}

async fn backup(config: &Config, file: &std::path::Path) -> anyhow::Result<()> {
    if Embedded::backup_of_running(&folder(config), file).await?.is_none() {
        if !folder(config).join("data").exists() {
            bail!("there is no database in {}; is --data-dir right?", folder(config).display());
        }
        let embedded = embedded(config).await?;
        let outcome = embedded.backup(file).await;
        embedded.stop().await;
        outcome?;
    }
    println!("wrote {}", file.display());
    let keys = match config.keyring {
        Some(_) => "those of the setting keyring".to_owned(),
        None => config.key_file.display().to_string(),
    };
    println!("keep the keys beside it, or what is sealed in it stays closed: {keys}");
    Ok(())
}

async fn restore(config: &Config, file: &std::path::Path) -> anyhow::Result<()> {
    let embedded = embedded(config).await?;
    let outcome = embedded.restore(file).await;
    embedded.stop().await;
    outcome?;
    println!("restored {}; start the server: slipway serve", file.display());
    Ok(())
}
