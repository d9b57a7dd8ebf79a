//! Servers: they claim what is due, keep their claims, die, stop, and come back.
//!
//! The same as the runner of a server does with PostgreSQL, on virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use jiff::{SignedDuration, Timestamp};
use slipway_domain::rollout::Command;

use super::Simulation;
use super::site::{Event, Site};
use crate::changes::Changeset;
use crate::error::Error;
use crate::ports::StoreError;
use crate::ports::store::{Claim, RolloutWrite};
use crate::rollouts::{Engine, Ledger, ROLLOUT, ROLLOUT_GATE, ROLLOUT_LOOK, ROLLOUT_STEP, deciding};
use crate::workers::Next;

/// The kinds of work, and how many pieces one server does at once.
const KINDS: [(&str, usize); 4] = [(ROLLOUT, 8), (ROLLOUT_STEP, 16), (ROLLOUT_LOOK, 16), (ROLLOUT_GATE, 4)];

/// How long a claim holds unless it is kept.
const LEASE: Duration = Duration::from_secs(15);

/// Work is looked for at least so often, whatever was heard.
const LOOK: SignedDuration = SignedDuration::from_secs(10);

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    Up,
    Down,
    Frozen,
}

/// A server.
pub(super) struct Server {
    pub(super) condition: Condition,
    /// When it looks for work next, by kind.
    next: BTreeMap<&'static str, Timestamp>,
    /// How many pieces it is at, by kind.
    busy: BTreeMap<&'static str, usize>,
    /// How often work failed in a row.
    failures: BTreeMap<(&'static str, String), u32>,
    /// The tasks that would have gone on while it stood still.
    missed: BTreeSet<u64>,
    /// How far its clock is off.
    skew: SignedDuration,
}

impl Server {
    pub(super) fn new(skew: SignedDuration) -> Self {
        Self {
            condition: Condition::Up,
            next: BTreeMap::new(),
            busy: BTreeMap::new(),
            failures: BTreeMap::new(),
            missed: BTreeSet::new(),
            skew,
        }
    }
}

/// A future on a server, and what it is about.
pub(super) struct Task {
    server: usize,
    work: Option<(&'static str, String)>,
    future: Pin<Box<dyn Future<Output = bool>>>,
}

impl Simulation {
    /// Goes on with a task.
    pub(super) fn poll(&mut self, id: u64) {
        let Some(task) = self.tasks.get_mut(&id) else { return };
        let server = task.server;
        if self.servers[server].condition == Condition::Frozen {
            self.servers[server].missed.insert(id);
            return;
        }
        self.site.lock().current = id;
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let std::task::Poll::Ready(failed) = task.future.as_mut().poll(&mut context) else { return };
        let Some(task) = self.tasks.remove(&id) else { return };
        self.site.lock().holders.remove(&id);
        let Some((kind, key)) = task.work else { return };
        *self.servers[server].busy.entry(kind).or_default() -= 1;
        let failures = &mut self.servers[server].failures;
        if failed {
            *failures.entry((kind, key)).or_default() += 1;
        } else {
            failures.remove(&(kind, key));
        }
        // A place is free.
        let now = self.site.lock().now;
        self.look_at(server, kind, now);
    }

    fn spawn(&mut self, task: Task, claim: Option<Claim>) {
        self.spawned += 1;
        let id = self.spawned;
        if let Some((kind, _)) = &task.work {
            *self.servers[task.server].busy.entry(kind).or_default() += 1;
        }
        let mut inner = self.site.lock();
        if let Some(claim) = claim {
            inner.holders.insert(id, claim);
        }
        inner.after(SignedDuration::ZERO, Event::Poll(id));
        drop(inner);
        self.tasks.insert(id, task);
    }

    /// A server looks for work of a kind then, if not earlier.
    fn look_at(&mut self, server: usize, kind: &'static str, at: Timestamp) {
        let next = &mut self.servers[server].next;
        if next.get(kind).is_none_or(|next| *next > at) {
            next.insert(kind, at);
            self.site.lock().at(at, Event::Claim(server, kind));
        }
    }

    /// Tells servers of work, as far as notifications reach them.
    pub(super) fn notify(&mut self) {
        let kinds = std::mem::take(&mut self.site.lock().heard);
        for kind in kinds {
            for server in 0..self.servers.len() {
                let (heard, at) = {
                    let mut inner = self.site.lock();
                    let often = inner.faults.unheard;
                    let (lost, delay) = (inner.chance.per_mille(often), inner.chance.millis(1, 20));
                    (!lost, inner.now + delay)
                };
                if heard && self.servers[server].condition == Condition::Up {
                    self.look_at(server, kind, at);
                }
            }
        }
    }

    /// A server looks for work of a kind.
    pub(super) fn claim(&mut self, server: usize, kind: &'static str) {
        let now = self.site.lock().now;
        if self.servers[server].condition != Condition::Up
            || self.servers[server].next.get(kind) != Some(&now)
        {
            return;
        }
        self.servers[server].next.remove(kind);
        let at_once = KINDS.iter().find(|(of, _)| *of == kind).map_or(1, |(_, at_once)| *at_once);
        let at_once = at_once * self.strength;
        let busy = self.servers[server].busy.get(kind).copied().unwrap_or_default();
        let free = at_once.saturating_sub(busy);
        let mut claims = Vec::new();
        let pause = {
            let mut inner = self.site.lock();
            if inner.database_is_away() {
                inner.disturbed = inner.now;
                SignedDuration::from_secs(2)
            } else {
                let time = inner.database_time();
                claims = inner.rows.claim(kind, free, LEASE, time);
                let next = if claims.len() == free { None } else { inner.rows.next_due(kind) };
                let next =
                    next.map_or(LOOK, |next| next.duration_since(time).clamp(SignedDuration::ZERO, LOOK));
                next + inner.chance.millis(1, 20 + u64::try_from(next.as_millis() / 10).unwrap())
            }
        };
        for claim in claims {
            let key = claim.work.key.clone();
            let failures =
                self.servers[server].failures.get(&(kind, key.clone())).copied().unwrap_or_default();
            let future =
                Box::pin(piece(Arc::clone(&self.site), self.engine.clone(), claim.clone(), failures));
            self.spawn(Task { server, work: Some((kind, key)), future }, Some(claim));
        }
        self.look_at(server, kind, now + pause);
    }

    /// The server of a task stands still.
    pub(super) fn stall(&mut self, task: u64) {
        let Some(server) = self.tasks.get(&task).map(|task| task.server) else { return };
        if self.servers[server].condition == Condition::Up && self.unrest.within.is_some() {
            self.happens(Event::Freeze(server));
        }
    }

    /// A server begins to look for work.
    pub(super) fn boot(&mut self, server: usize) {
        let now = self.site.lock().now;
        self.servers[server].condition = Condition::Up;
        for (kind, _) in KINDS {
            self.look_at(server, kind, now);
        }
    }

    /// A server dies: what it was at is dropped wherever it is.
    pub(super) fn crash(&mut self, server: usize) {
        let ids: Vec<u64> =
            self.tasks.iter().filter(|(_, task)| task.server == server).map(|(id, _)| *id).collect();
        for id in ids {
            self.tasks.remove(&id);
            self.site.lock().holders.remove(&id);
        }
        let server = &mut self.servers[server];
        server.condition = Condition::Down;
        server.next.clear();
        server.busy.clear();
        server.failures.clear();
        server.missed.clear();
    }

    /// A server goes on after it died or stood still.
    pub(super) fn back(&mut self, server: usize) {
        let thaws = self.servers[server].condition == Condition::Frozen;
        self.servers[server].next.clear();
        self.boot(server);
        if thaws {
            for id in std::mem::take(&mut self.servers[server].missed) {
                self.site.lock().after(SignedDuration::ZERO, Event::Poll(id));
            }
        }
    }

    /// Somebody asks a server for something.
    pub(super) fn command(&mut self, command: Command) {
        let up = self.servers.iter().position(|server| server.condition == Condition::Up);
        let Some(server) = up else { return };
        let skew = self.servers[server].skew;
        let future = Box::pin(ask(Arc::clone(&self.site), command, skew));
        self.spawn(Task { server, work: None, future }, None);
    }
}

/// One piece of work, from its claim to its release; whether it failed.
async fn piece(site: Arc<Site>, engine: Engine, claim: Claim, failures: u32) -> bool {
    let outcome = {
        let work = pin!(work(&engine, &claim));
        let lost = pin!(lost(&site, &claim));
        // The work goes first: a server that stood still gets one step further before it finds out.
        match select(work, lost).await {
            Either::Left((outcome, _)) => Some(outcome),
            Either::Right(_) => None,
        }
    };
    match outcome {
        None => false,
        Some(Ok(Next::After(pause))) => {
            release(&site, &claim, pause).await;
            false
        }
        Some(Ok(Next::Ended)) => {
            let ended = Changeset::new().finish(claim.work.clone()).fenced(claim.fence());
            if site.commit(ended).await.is_ok() {
                release(&site, &claim, Duration::ZERO).await;
            }
            false
        }
        Some(Err(_)) => {
            let doubled = 1_u64.checked_shl(failures).unwrap_or(u64::MAX).min(300);
            release(&site, &claim, Duration::from_secs(doubled)).await;
            true
        }
    }
}

async fn work(engine: &Engine, claim: &Claim) -> Result<Next, Error> {
    match claim.work.kind {
        ROLLOUT => engine.tick(claim).await,
        ROLLOUT_STEP => engine.step(claim).await,
        ROLLOUT_LOOK => engine.look(claim).await,
        _ => engine.gate(claim).await,
    }
}

/// Keeps the claim; returns once it is lost, or may be.
async fn lost(site: &Site, claim: &Claim) {
    let lease = SignedDuration::try_from(LEASE).unwrap();
    let mut until = site.lock().now + lease;
    loop {
        site.sleep(lease / 3).await;
        let asked = site.lock().now;
        if asked >= until {
            // A server that is busy with itself takes a moment to see it.
            let blind = site.lock().blind;
            site.latency(0, blind).await;
            return;
        }
        let there = site.travel().await;
        let mut inner = site.lock();
        let time = inner.database_time();
        match there {
            Ok(()) if !inner.rows.keep(claim, LEASE, time) => return,
            Ok(()) => until = asked + lease,
            Err(_) if inner.now >= until => return,
            Err(_) => {}
        }
    }
}

async fn release(site: &Site, claim: &Claim, pause: Duration) {
    if site.travel().await.is_ok() {
        let mut inner = site.lock();
        let time = inner.database_time();
        inner.rows.release(claim, pause, time);
    }
}

/// What the use case of a command does.
async fn ask(site: Arc<Site>, command: Command, skew: SignedDuration) -> bool {
    for _ in 0..8 {
        let id = site.lock().rows.rollout.id;
        let Ok(Some(rollout)) = site.rollout(id).await else { return true };
        if command.check(&rollout.state).is_err() {
            return true;
        }
        let write = RolloutWrite::Command {
            rollout: id,
            version: rollout.version,
            by: "ada".to_owned(),
            command: Box::new(command.clone()),
        };
        let now = site.lock().now + skew;
        match site.commit(Changeset::new().write(write).due(deciding(id), now)).await {
            Err(StoreError::Stale { .. }) => {}
            _ => return false,
        }
    }
    true
}
