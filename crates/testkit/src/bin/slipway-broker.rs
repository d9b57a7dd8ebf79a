//! The broker that `cargo xtask test` starts; test processes lease from it.

use std::path::PathBuf;

use anyhow::Context;
use slipway_testkit::broker;

/// How many control planes wait ready for the next test.
const AHEAD: usize = 2;

fn main() -> anyhow::Result<()> {
    let socket: PathBuf = std::env::args_os().nth(1).context("usage: slipway-broker <socket>")?.into();
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let mut end = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        let listener = broker::bind(&socket)?;
        tokio::select! {
            result = broker::serve(listener, AHEAD) => result,
            _ = end.recv() => Ok(()),
        }
    })
}
