//! `slipway serve`: the server, with everything wired in.
//!
//! It decides nothing: settings become adapters, adapters become use cases, use cases are served. It stops
//! in order on SIGTERM and SIGINT, and nothing of it outlives it, however it ends.

mod callers;
pub(crate) mod database;
mod guardian;
mod http;
mod parts;
mod signals;
mod tls;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use slipway_infra::workers::Runner;
use slipway_telemetry::{Format, Logging, Output};
use tracing::info;

use crate::config::{Config, LogFormat, Sources};
use database::Database;
pub(crate) use guardian::{as_guardian, guardian};
use signals::Stop;

/// Run the server.
#[derive(Debug, Args)]
pub(crate) struct ServeCommand {
    #[command(flatten)]
    sources: Sources,
}

impl ServeCommand {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let config = self.sources.load()?;
        let logging = Logging {
            filter: config.log_filter.clone(),
            format: match config.log_format {
                LogFormat::Json => Format::Json,
                LogFormat::Pretty => Format::Pretty,
            },
            output: Output::Stderr,
            otlp_endpoint: config.otlp_endpoint.as_ref().map(ToString::to_string),
            ..Logging::new("slipway", env!("CARGO_PKG_VERSION"))
        };
        let telemetry = slipway_telemetry::init(&logging)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .context("starting the runtime")?;
        let outcome = runtime.block_on(serve(config));
        // What is still blocking, such as a name lookup, is not waited for.
        runtime.shutdown_background();
        telemetry.shutdown();
        outcome.map(|()| ExitCode::SUCCESS)
    }
}

async fn serve(config: Config) -> anyhow::Result<()> {
    let stop = Stop::listen()?;
    let guardian = guardian(&config.data_dir)?;
    let opened = tokio::select! {
        opened = Database::open(&config, &guardian) => opened?,
        () = stop.begins() => return Ok(()),
    };
    let outcome = work(&config, &guardian, &opened, &stop).await;
    // Last: everything else needs it to end in order.
    opened.close().await;
    info!("stopped");
    outcome
}

async fn work(config: &Config, guardian: &Path, database: &Database, stop: &Stop) -> anyhow::Result<()> {
    let manager = parts::manager(config, guardian, database.store()).await?;
    parts::first_start(&manager.manager, config).await?;
    let runner = parts::workers(&manager, database.store())
        .await?
        .into_iter()
        .fold(Runner::new(database.store().clone()).grace(config.shutdown_grace), Runner::with);
    let ends = stop.clone();
    let working = tokio::spawn(runner.run(async move { ends.begins().await }));
    let served = match parts::router(config, manager.manager, database.store(), stop) {
        Ok(router) => http::serve(config, router, stop).await,
        Err(error) => Err(error),
    };
    // A server that cannot serve does not work in the background either.
    stop.begin();
    let _ = working.await;
    served
}
