//! Everything that is simulated, and the executor of virtual time.
//!
//! Time stands still while something happens, and jumps to the next event. Tasks are futures that wait for
//! nothing but virtual time; whoever waits is polled again by an event of its own, in a fixed order.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll};

use jiff::{SignedDuration, Timestamp};
use slipway_domain::name::Name;
use slipway_domain::rollout::{Command, Consent};
use slipway_domain::settings::Window;

use super::chance::Chance;
use super::cluster::Cluster;
use super::invariants::Watch;
use super::rows::Rows;
use crate::ports::store::Claim;

/// When every simulation begins: a Monday at noon, UTC.
pub(super) fn start() -> Timestamp {
    "2026-11-16T12:00:00Z".parse().unwrap()
}

/// What goes wrong, each in thousandths of the times that it could.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    /// A notification reaches nobody.
    pub(super) unheard: u64,
    /// The database does not answer, before or after it did what it was asked.
    pub(super) database: u64,
    /// A step fails in a way that passes.
    pub(super) hiccups: u64,
    /// helm itself is killed.
    pub(super) killed: u64,
    /// A healthy cluster looks unhealthy once.
    pub(super) flaps: u64,
    /// helm takes ten times as long.
    pub(super) slow: u64,
    /// A server stands still on its way to the database.
    pub(super) stalls: u64,
    /// How far clocks of servers differ, in seconds.
    pub(super) skew: u64,
}

/// Something that happens at a time.
#[derive(Debug)]
pub(super) enum Event {
    /// A task goes on.
    Poll(u64),
    /// A server looks for work of a kind.
    Claim(usize, &'static str),
    /// A server dies.
    Crash(usize),
    /// A server stops, as if by SIGSTOP.
    Freeze(usize),
    /// The server of a task stops, in the middle of it.
    Stall(u64),
    /// A server goes on, after either.
    Back(usize),
    /// helm ends on a cluster, in this run of a step.
    HelmEnds(Name, u64),
    /// Somebody wants something.
    Command(Command),
    /// The database's clock is another one from now on, by so much: a standby took over.
    Failover(SignedDuration),
}

/// What an engine may get wrong; the simulation has to see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Defect {
    /// What is written is not fenced with the claim.
    Unfenced,
    /// A step is done without its beginning having been committed.
    Unbegun,
    /// A step is done whose intent was not written.
    Unintended,
    /// Whoever goes on with a step does not know that it was begun before.
    NotResumed,
    /// Work that was made due anew while somebody was at it is forgotten.
    NotMoved,
    /// Nobody decides about what a step came to, before it is time anyway.
    Untold,
    /// A step's time counts from when it was decided.
    Hasty,
}

/// Everything that is simulated.
pub(super) struct Inner {
    pub(super) now: Timestamp,
    pub(super) chance: Chance,
    pub(super) queue: BTreeMap<(Timestamp, u64), Event>,
    sequence: u64,
    /// The task that is being polled.
    pub(super) current: u64,
    /// The claims that tasks work under.
    pub(super) holders: BTreeMap<u64, Claim>,
    /// The kinds of work that somebody was told about.
    pub(super) heard: BTreeSet<&'static str>,
    pub(super) rows: Rows,
    /// How far the database's clock is off.
    pub(super) offset: SignedDuration,
    /// When the database does not answer.
    pub(super) outages: Vec<(Timestamp, Timestamp)>,
    pub(super) fleet: BTreeMap<Name, Cluster>,
    pub(super) faults: Faults,
    /// When something may be rolled out, and when not.
    pub(super) windows: Vec<(String, Window)>,
    /// What people say about a plan, and after how long.
    pub(super) consent: (SignedDuration, Consent),
    pub(super) asked: BTreeMap<u32, Timestamp>,
    pub(super) watch: Watch,
    pub(super) runs: u64,
    pub(super) defect: Option<Defect>,
    /// How long a way to the database takes at most, in milliseconds.
    pub(super) pace: u64,
    /// How long a server that stood still may take to see that its claims are lost, in milliseconds.
    pub(super) blind: u64,
    /// The last time that a server or the database was disturbed.
    pub(super) disturbed: Timestamp,
}

impl Inner {
    pub(super) fn new(seed: u64, faults: Faults, rows: Rows, fleet: BTreeMap<Name, Cluster>) -> Self {
        Self {
            now: start(),
            chance: Chance::new(seed),
            queue: BTreeMap::new(),
            sequence: 0,
            current: 0,
            holders: BTreeMap::new(),
            heard: BTreeSet::new(),
            rows,
            offset: SignedDuration::ZERO,
            outages: Vec::new(),
            fleet,
            faults,
            windows: Vec::new(),
            consent: (SignedDuration::ZERO, Consent::Granted),
            asked: BTreeMap::new(),
            watch: Watch::default(),
            runs: 0,
            defect: None,
            pace: 10,
            blind: 3_000,
            disturbed: start(),
        }
    }

    pub(super) fn at(&mut self, at: Timestamp, event: Event) {
        self.sequence += 1;
        self.queue.insert((at.max(self.now), self.sequence), event);
    }

    pub(super) fn after(&mut self, span: SignedDuration, event: Event) {
        self.at(self.now + span, event);
    }

    /// What the database says the time is.
    pub(super) fn database_time(&self) -> Timestamp {
        self.now + self.offset
    }

    pub(super) fn database_is_away(&self) -> bool {
        self.outages.iter().any(|(from, to)| (*from..*to).contains(&self.now))
    }
}

/// The same, shared by all that is simulated. Nobody ever waits for the lock.
pub(super) struct Site(Mutex<Inner>);

impl Site {
    pub(super) fn new(inner: Inner) -> Self {
        Self(Mutex::new(inner))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    /// The same, for those who tidy up while something failed already.
    pub(super) fn lock_anyway(&self) -> Option<MutexGuard<'_, Inner>> {
        self.0.lock().ok()
    }

    /// Waits.
    pub(super) fn sleep(&self, span: SignedDuration) -> Sleep<'_> {
        let until = self.lock().now + span;
        Sleep { site: self, until, told: false }
    }

    /// Waits for so many milliseconds, by chance.
    pub(super) fn latency(&self, least: u64, most: u64) -> Sleep<'_> {
        let span = self.lock().chance.millis(least, most);
        self.sleep(span)
    }
}

/// Waits for virtual time.
pub(super) struct Sleep<'a> {
    site: &'a Site,
    until: Timestamp,
    told: bool,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let mut inner = this.site.lock();
        if inner.now >= this.until {
            return Poll::Ready(());
        }
        if !this.told {
            this.told = true;
            let task = inner.current;
            inner.at(this.until, Event::Poll(task));
        }
        Poll::Pending
    }
}
