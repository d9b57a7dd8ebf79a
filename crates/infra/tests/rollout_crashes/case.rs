//! One rollout with one fault: what happens to the servers that drive it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Mutex;

use jiff::SignedDuration;
use slipway_domain::id::RolloutId;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// Where a server is in a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum When {
    /// It has the claim of a step, and wrote nothing yet.
    Claimed,
    /// The step is begun, and nothing is done.
    Begun,
    /// The step is done, and nothing of it is recorded.
    Acted,
    /// The outcome is recorded.
    Recorded,
    /// It is decided, and not committed.
    Decided,
    /// The decision is committed.
    Committed,
}

/// A place at which a server can be lost: a step, or a decision by its number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) what: String,
    pub(crate) when: When,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// Everything is done twice.
    Twice,
    /// The server is killed there, with all that it does for the rollout.
    Kill(Place),
    /// The server stops there, and wakes when another one has done the same.
    Stop(Place),
    /// Whatever server has the rollout is killed after each step, before its outcome is recorded.
    KillEach,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no fault"),
            Self::Twice => f.write_str("everything twice"),
            Self::Kill(place) => write!(f, "killed at {} {:?}", place.what, place.when),
            Self::KillEach => f.write_str("killed after every step"),
            Self::Stop(place) => write!(f, "stopped at {} {:?}", place.what, place.when),
        }
    }
}

/// A piece of work that some server has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Held {
    pub(crate) kind: &'static str,
    pub(crate) key: String,
    pub(crate) epoch: i64,
}

tokio::task_local! {
    /// The piece of work that a task is about.
    pub(crate) static HELD: Held;
}

#[derive(Default)]
struct Inner {
    offset: SignedDuration,
    places: Vec<Place>,
    happened: bool,
    running: BTreeMap<Held, AbortHandle>,
    stopped: Option<Held>,
    /// What was held by servers that were lost since somebody asked.
    lost: Vec<Held>,
    /// Whether the one that was stopped was told that another took over.
    fenced: bool,
    wrong: Vec<String>,
}

/// One rollout with one fault.
pub(crate) struct Case {
    pub(crate) id: RolloutId,
    pub(crate) fault: Fault,
    wake: Notify,
    inner: Mutex<Inner>,
}

impl Case {
    pub(crate) fn new(id: RolloutId, fault: Fault) -> Self {
        let happened = matches!(fault, Fault::None | Fault::Twice);
        let inner = Inner { happened, ..Inner::default() };
        Self { id, fault, wake: Notify::new(), inner: Mutex::new(inner) }
    }

    /// How far its time is ahead of the database's.
    pub(crate) fn offset(&self) -> SignedDuration {
        self.inner.lock().unwrap().offset
    }

    pub(crate) fn jump(&self, by: SignedDuration) {
        self.inner.lock().unwrap().offset += by;
    }

    /// Something that must not be.
    pub(crate) fn wrong(&self, what: String) {
        self.inner.lock().unwrap().wrong.push(what);
    }

    pub(crate) fn run(&self, held: Held, task: AbortHandle) {
        self.inner.lock().unwrap().running.insert(held, task);
    }

    /// Whether a piece is kept by its heartbeat: not if its server stands still.
    pub(crate) fn keeps(&self, held: &Held) -> bool {
        self.inner.lock().unwrap().stopped.as_ref() != Some(held)
    }

    /// A piece of work is over; whoever stopped at the same wakes.
    pub(crate) fn ended(&self, held: &Held) {
        let mut inner = self.inner.lock().unwrap();
        inner.running.remove(held);
        let same = |other: &Held| (other.kind, &other.key) == (held.kind, &held.key) && other != held;
        if inner.stopped.as_ref().is_some_and(same) {
            self.wake.notify_one();
        }
    }

    /// A piece was told that another server took over. On a machine that is busy enough that may come to any.
    pub(crate) fn fenced(&self, held: &Held) {
        let mut inner = self.inner.lock().unwrap();
        inner.fenced |= inner.stopped.as_ref() == Some(held);
    }

    /// What was held by servers that were lost since somebody asked.
    pub(crate) fn lost(&self) -> Vec<Held> {
        std::mem::take(&mut self.inner.lock().unwrap().lost)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.inner.lock().unwrap().running.is_empty()
    }

    /// Whether something is that must not be; it may then never end.
    pub(crate) fn is_wrong(&self) -> bool {
        !self.inner.lock().unwrap().wrong.is_empty()
    }

    /// Ends all that runs.
    pub(crate) fn stop(&self) {
        for task in std::mem::take(&mut self.inner.lock().unwrap().running).into_values() {
            task.abort();
        }
    }

    pub(crate) fn happened(&self) -> bool {
        self.inner.lock().unwrap().happened
    }

    pub(crate) fn places(&self) -> Vec<Place> {
        let places: BTreeSet<Place> = self.inner.lock().unwrap().places.iter().cloned().collect();
        places.into_iter().collect()
    }

    pub(crate) fn what_is_wrong(&self) -> Vec<String> {
        let inner = self.inner.lock().unwrap();
        let mut wrong = inner.wrong.clone();
        if inner.stopped.is_some() && !inner.fenced {
            wrong.push("the server that was stopped went on as if nothing had happened".to_owned());
        }
        wrong
    }

    /// A server comes by a place.
    pub(crate) async fn at(&self, what: impl Into<String>, when: When) {
        let place = Place { what: what.into(), when };
        let (kills, stops) = {
            let mut inner = self.inner.lock().unwrap();
            inner.places.push(place.clone());
            let kills = match &self.fault {
                Fault::KillEach => {
                    let seen = inner.places.iter().filter(|seen| **seen == place).count();
                    place.when == When::Acted && seen == 1
                }
                fault => *fault == Fault::Kill(place.clone()) && !inner.happened,
            };
            let stops = self.fault == Fault::Stop(place) && !inner.happened;
            if kills || stops {
                inner.happened = true;
            }
            if kills {
                // All that this server does for the rollout ends here; nothing is given back.
                for (held, task) in std::mem::take(&mut inner.running) {
                    task.abort();
                    inner.lost.push(held);
                }
            }
            if stops {
                inner.stopped = HELD.try_with(Clone::clone).ok();
                let stopped = inner.stopped.clone();
                inner.lost.extend(stopped);
            }
            (kills, stops)
        };
        if kills {
            std::future::pending::<()>().await;
        }
        if stops {
            self.wake.notified().await;
        }
    }
}
