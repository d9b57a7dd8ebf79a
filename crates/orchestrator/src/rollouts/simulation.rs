//! The engine in a simulated fleet: one seed decides everything, and time is virtual.
//!
//! The real engine and the real decider run on several simulated servers over rows in memory ([`rows`]), a way
//! to the database that loses answers ([`ledger`]), and clusters that go away, hurt and lie ([`cluster`],
//! [`fleet`]). Servers die at any point where they wait, stand still past their leases and wake up again
//! ([`servers`]); notifications are lost; people want things at any time. What must always hold is checked with
//! everything that happens ([`invariants`]). A failing run names its seed.

mod chance;
mod cluster;
mod fleet;
mod invariants;
mod ledger;
mod promises;
mod rows;
mod scenarios;
mod servers;
mod site;
mod twin;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use slipway_domain::approval::Starter;
use slipway_domain::id::{ClusterId, OperatorId, RolloutId};
use slipway_domain::rollout::{Command, Phase, Settings, Spec, State, Status, Strategy, Target, plan};
use uuid::Uuid;

use super::{Engine, deciding};
use crate::changes::WorkChange;
use crate::ports::fleet::Placement;
use crate::ports::probes::ReleaseAt;
use crate::ports::store::Rollout;
use cluster::Cluster;
use rows::Rows;
use servers::{Condition, Server, Task};
use site::{Event, Faults, Inner, Site, start};

/// How often servers are disturbed: at most so long after they came back, in seconds; never where nothing.
#[derive(Debug, Clone, Copy)]
struct Unrest {
    within: Option<u64>,
    /// How long they are away at most, in seconds.
    away: u64,
}

/// A rollout in a simulated fleet.
struct Simulation {
    seed: u64,
    site: Arc<Site>,
    engine: Engine,
    servers: Vec<Server>,
    tasks: BTreeMap<u64, Task>,
    spawned: u64,
    unrest: Unrest,
    /// How many times as much as usual a server does at once.
    strength: usize,
    /// What people still want to do.
    wanted: usize,
}

impl Simulation {
    fn new(seed: u64, servers: usize, settings: Settings, targets: Vec<Target>, faults: Faults) -> Self {
        let waves = plan(&settings, &targets).unwrap();
        let beside = matches!(settings.strategy, Strategy::BlueGreen(_));
        let cluster = Cluster { beside, ..Cluster::default() };
        let fleet = targets.iter().map(|target| (target.cluster.clone(), cluster.clone())).collect();
        let id = RolloutId(Uuid::from_u128(u128::from(seed) + 1));
        let placement = |index: usize| Placement {
            cluster: ClusterId(Uuid::from_u128(index as u128)),
            release: ReleaseAt { namespace: "certs".to_owned(), name: "cert-manager".to_owned() },
            installed: true,
            adopts: false,
            beside: None,
        };
        let placements =
            targets.iter().enumerate().map(|(index, target)| (target.cluster.clone(), placement(index)));
        let placements = placements.collect();
        let spec = Spec {
            rollout: id,
            operator: "cert-manager".parse().unwrap(),
            version: cluster::NEW.parse().unwrap(),
            settings,
            targets,
            smoke: false,
            migrate: false,
        };
        let rollout = Rollout {
            id,
            operator: OperatorId(Uuid::from_u128(1)),
            state: State::new(spec, waves, start()),
            placements,
            previous_version: None,
            starter: Starter { person: None, name: "ada".to_owned() },
            emergency: None,
            may_delete: Vec::new(),
            trace: None,
            created_at: start(),
            started_at: None,
            ended_at: None,
            version: 1,
        };
        let mut rows = Rows::begin(rollout);
        rows.change(WorkChange::Due(deciding(id), start()));
        let mut inner = Inner::new(seed, faults, rows, fleet);
        let skew = |inner: &mut Inner| {
            let most = faults.skew * 1000;
            inner.chance.millis(0, 2 * most) - SignedDuration::from_millis(i64::try_from(most).unwrap())
        };
        let servers: Vec<Server> = (0..servers).map(|_| Server::new(skew(&mut inner))).collect();
        let site = Arc::new(Site::new(inner));
        let engine = Engine::new(Arc::<Site>::clone(&site), Arc::<Site>::clone(&site));
        let mut simulation = Self {
            seed,
            site,
            engine,
            servers,
            tasks: BTreeMap::new(),
            spawned: 0,
            unrest: Unrest { within: None, away: 0 },
            strength: 1,
            wanted: 0,
        };
        for server in 0..simulation.servers.len() {
            simulation.boot(server);
        }
        simulation
    }

    /// Changes the spec and the like before anything happens.
    fn with<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        change(&mut self.site.lock())
    }

    /// Servers die and stand still from now on.
    fn disturb(&mut self, unrest: Unrest) {
        self.unrest = unrest;
        for server in 0..self.servers.len() {
            self.trouble(server);
        }
    }

    /// The next time that something happens to a server.
    fn trouble(&mut self, server: usize) {
        let Some(within) = self.unrest.within else { return };
        let mut inner = self.site.lock();
        let after = inner.chance.millis(1_000, within * 1_000);
        let event = if inner.chance.per_mille(500) { Event::Crash(server) } else { Event::Freeze(server) };
        inner.after(after, event);
    }

    /// Somebody wants something after a while.
    fn want(&mut self, after: SignedDuration, command: Command) {
        self.wanted += 1;
        self.site.lock().after(after, Event::Command(command));
    }

    /// Goes on until it is over and quiet, or so much time has passed.
    fn run(&mut self, most: SignedDuration) -> Status {
        let end = start() + most;
        loop {
            let event = {
                let mut inner = self.site.lock();
                let Some(entry) = inner.queue.first_entry() else { break };
                let at = entry.key().0;
                if at > end {
                    inner.now = end;
                    break;
                }
                let event = entry.remove();
                inner.now = at;
                event
            };
            self.happens(event);
            self.notify();
            if self.wanted == 0 && self.tasks.is_empty() && self.is_over() {
                break;
            }
        }
        self.finish()
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Poll(task) => self.poll(task),
            Event::Claim(server, kind) => self.claim(server, kind),
            Event::HelmEnds(cluster, run) => self.site.lock().helm_ends(&cluster, run),
            Event::Command(command) => {
                self.wanted -= 1;
                self.command(command);
            }
            Event::Crash(server) => {
                self.crash(server);
                self.leaves(server);
            }
            Event::Freeze(server) => {
                self.servers[server].condition = Condition::Frozen;
                self.leaves(server);
            }
            Event::Stall(task) => self.stall(task),
            Event::Back(server) => {
                self.back(server);
                self.trouble(server);
                let mut inner = self.site.lock();
                inner.disturbed = inner.now;
            }
            Event::Failover(offset) => {
                let mut inner = self.site.lock();
                inner.offset = offset;
                inner.disturbed = inner.now;
            }
        }
    }

    fn leaves(&mut self, server: usize) {
        let mut inner = self.site.lock();
        inner.disturbed = inner.now;
        let span = inner.chance.millis(500, self.unrest.away * 1_000);
        inner.after(span, Event::Back(server));
    }

    /// What holds once nothing happens any more.
    fn finish(&mut self) -> Status {
        let inner = self.site.lock();
        let state = &inner.rows.rollout.state;
        if state.phase == Phase::Over {
            inner.check_end();
            let followed = inner.rows.commands.len() as u64;
            assert_eq!(state.commands, followed, "somebody was not listened to");
        }
        state.status
    }

    /// Whether it is over, and nobody has anything left to do.
    fn is_over(&self) -> bool {
        let inner = self.site.lock();
        inner.rows.rollout.state.phase == Phase::Over && inner.rows.work.is_empty()
    }

    fn now(&self) -> Timestamp {
        self.site.lock().now
    }
}

/// How a seed is tried alone.
fn again(seed: u64) -> String {
    let test = std::thread::current().name().unwrap_or("rollouts::simulation").to_owned();
    format!("SLIPWAY_SEED={seed} cargo test --package slipway-orchestrator --lib -- {test}")
}

impl Drop for Simulation {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to see it again: {}", again(self.seed));
        }
    }
}
