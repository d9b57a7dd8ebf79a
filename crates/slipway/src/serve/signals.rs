//! When to stop.

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::info;

/// Whether the server stops. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Stop(watch::Sender<bool>);

impl Stop {
    /// Begins with the first SIGTERM or SIGINT; a second one ends the process at once.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let stop = Self(watch::Sender::new(false));
        let mut terminate = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
        let mut interrupt = signal(SignalKind::interrupt()).context("listening for SIGINT")?;
        let begun = stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            info!("stopping: requests and work under way are ended first");
            begun.begin();
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            info!("stopping at once");
            std::process::exit(130);
        });
        Ok(stop)
    }

    /// Begins it.
    pub(super) fn begin(&self) {
        self.0.send_replace(true);
    }

    /// Returns when it begins.
    pub(super) async fn begins(&self) {
        let mut told = self.0.subscribe();
        // The sender is in `self`, so there is always one.
        let _ = told.wait_for(|stopping| *stopping).await;
    }
}
