//! One running operator.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use slipway_testkit::Part;
use slipway_testkit::metrics::Scrape;

use super::super::usage::{self, Memory};
use super::contestant::{Contestant, Place};

/// How long an operator may take to be ready before it counts as broken.
const PATIENCE: Duration = Duration::from_mins(1);

/// An operator that runs, with what it takes.
pub(super) struct Process {
    part: Part,
    contestant: Contestant,
    place: Place,
    started: Instant,
}

impl Process {
    pub(super) fn start(
        contestant: Contestant,
        program: &Path,
        place: Place,
        resync: Duration,
    ) -> anyhow::Result<Self> {
        let command = contestant.command(program, &place, resync);
        let started = Instant::now();
        Ok(Self { part: command.start()?, contestant, place, started })
    }

    /// Waits until it says that it is ready, and gives the time from its start.
    pub(super) async fn ready(&self) -> anyhow::Result<Duration> {
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(5)).build()?;
        let url = self.contestant.ready_url(&self.place);
        while self.started.elapsed() < PATIENCE {
            if client.get(&url).send().await.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(self.started.elapsed());
            }
            if !self.part.is_running() {
                bail!("{} ended: {}", self.contestant.name(), self.last_words());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        bail!("{} was not ready in {} s: {}", self.contestant.name(), PATIENCE.as_secs(), self.last_words())
    }

    /// The time since its start.
    pub(super) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// What it printed last, for an error.
    pub(super) fn last_words(&self) -> String {
        let log = self.part.log();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    pub(super) fn processor_time(&self) -> anyhow::Result<Duration> {
        usage::processor_time(self.part.pid())
    }

    pub(super) fn memory(&self) -> anyhow::Result<Memory> {
        usage::memory(self.part.pid())
    }

    /// Its own metrics, as they are now.
    pub(super) async fn metrics(&self) -> anyhow::Result<Scrape> {
        Scrape::get(&self.place.metrics_url()).await.context("asking for the operator's metrics")
    }

    pub(super) fn webhook_urls(&self) -> [String; 2] {
        self.place.webhook_urls()
    }

    /// Asks it to end, and gives back its place: the next one serves at the same addresses.
    pub(super) async fn stop(self) -> Place {
        self.part.stop().await;
        self.place
    }
}
