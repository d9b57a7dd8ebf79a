//! Many rollouts at once.

use std::time::{Duration, Instant};

use slipway_testkit::postgres::Postgres;

use super::super::usage::{self, Memory};
use super::simulated::Pace;
use super::site::Site;

/// So many rollouts, of so many clusters each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Crowd {
    pub(super) rollouts: usize,
    pub(super) targets: usize,
    pub(super) servers: usize,
    pub(super) pace: Pace,
}

/// What they took.
#[derive(Debug)]
pub(super) struct Crowded {
    pub(super) crowd: Crowd,
    pub(super) wall: Duration,
    pub(super) steps: usize,
    pub(super) servers: Vec<Used>,
    /// The processor time of PostgreSQL for this database.
    pub(super) database: Duration,
}

/// What a server took.
#[derive(Debug)]
pub(super) struct Used {
    pub(super) processor: Duration,
    pub(super) memory: Memory,
}

impl Crowd {
    /// Begins all of them, starts the servers, and waits until the last one was completed.
    pub(super) async fn run(self, postgres: &Postgres) -> anyhow::Result<Crowded> {
        let site = Site::start(postgres, self.rollouts * self.targets).await?;
        let mut ids = Vec::with_capacity(self.rollouts);
        for number in 0..self.rollouts {
            let from = number * self.targets;
            ids.push(site.begin(from..from + self.targets, self.targets).await?);
        }
        let before = database_time(&site);
        let began = Instant::now();
        let mut servers = Vec::with_capacity(self.servers);
        for number in 0..self.servers {
            servers.push(site.serve(number, self.pace)?);
        }
        site.until_completed(self.rollouts, &servers).await?;
        let wall = began.elapsed();
        let database = database_time(&site).saturating_sub(before);
        let mut used = Vec::with_capacity(servers.len());
        for server in servers {
            let (processor, memory) = (usage::processor_time(server.pid())?, usage::memory(server.pid())?);
            used.push(Used { processor, memory });
            server.stop().await;
        }
        let mut steps = 0;
        for id in ids {
            steps += site.steps(id).await?.len();
        }
        site.close().await;
        Ok(Crowded { crowd: self, wall, steps, servers: used, database })
    }
}

/// Of all connections to the database that are open.
fn database_time(site: &Site) -> Duration {
    // Our own programs name the database, too, in their address.
    let backends = usage::processes_with(&format!(" {} ", site.database()));
    backends.into_iter().filter_map(|pid| usage::processor_time(pid).ok()).sum()
}
