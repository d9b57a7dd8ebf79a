//! Counting custom resources: page by page, so that ten thousand take no more room than those that ail.

use std::time::Duration;

use jiff::Timestamp;

use super::certificate::between;
use super::sentence::{short, span};

/// So many ailing objects are told with their message; the others by name.
const WITH_MESSAGE: usize = 20;

/// A custom resource, as far as its health goes.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectSeen {
    /// Its uid.
    pub uid: String,
    /// Where, unless it belongs to the whole cluster.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created: Timestamp,
    /// When it was asked to go.
    pub deleted: Option<Timestamp>,
    /// Its newest generation.
    pub generation: Option<i64>,
    /// The generation that its controller has seen.
    pub observed: Option<i64>,
    /// When somebody wrote to it other than to its status.
    pub changed: Option<Timestamp>,
    /// When its status was written.
    pub answered: Option<Timestamp>,
    /// Whether it has a status at all.
    pub has_status: bool,
    /// The condition that says whether it is well.
    pub condition: Option<ConditionSeen>,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionSeen {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The reason, in a word.
    pub reason: Option<String>,
    /// The reason, in a sentence.
    pub message: Option<String>,
    /// Since when it has this status.
    pub since: Option<Timestamp>,
    /// The generation it is about.
    pub observed: Option<i64>,
}

/// What ails an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ailment {
    /// Its controller has not seen its newest generation.
    Lagging,
    /// It is not Ready.
    NotReady,
    /// It has no status, although others of its kind have.
    Silent,
}

/// An object that ails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sick {
    /// Its uid.
    pub uid: String,
    /// `namespace/name`.
    pub name: String,
    /// What ails it.
    pub ailment: Ailment,
    /// In words.
    pub words: String,
}

/// The objects of one kind, counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    crd: String,
    kind: String,
    at: Timestamp,
    stale_after: Duration,
    /// How many there are.
    pub objects: u64,
    /// How many of them say how they are.
    pub speaking: u64,
    /// How many are on their way: not seen yet in their newest generation, or not Ready, and not for long.
    pub in_work: u64,
    /// How many were asked to go long ago.
    pub leaving: u64,
    /// When an object was last written to by its controller.
    pub last_change: Option<Timestamp>,
    sick: Vec<Sick>,
}

impl Tally {
    /// Of a kind, none counted yet.
    pub fn new(crd: &str, kind: &str, at: Timestamp, stale_after: Duration) -> Self {
        Self {
            crd: crd.to_owned(),
            kind: kind.to_owned(),
            at,
            stale_after,
            objects: 0,
            speaking: 0,
            in_work: 0,
            leaving: 0,
            last_change: None,
            sick: Vec::new(),
        }
    }

    /// The CRD.
    pub fn crd(&self) -> &str {
        &self.crd
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Counts one.
    pub fn add(&mut self, object: &ObjectSeen) {
        self.objects += 1;
        self.last_change = self.last_change.max(object.answered);
        let observed =
            object.observed.or_else(|| object.condition.as_ref().and_then(|condition| condition.observed));
        if observed.is_some() || object.condition.is_some() {
            self.speaking += 1;
        }
        if let Some(deleted) = object.deleted {
            if between(deleted, self.at) > self.stale_after {
                self.leaving += 1;
            }
            return;
        }
        if let (Some(generation), Some(observed)) = (object.generation, observed)
            && observed < generation
        {
            let since = object.changed.unwrap_or(object.created);
            self.ail(object, Ailment::Lagging, since, |age| {
                format!("its generation {generation} is not seen yet after {age}")
            });
        } else if let Some(condition) =
            object.condition.as_ref().filter(|condition| condition.status != "True")
        {
            let since = condition.since.unwrap_or(object.created);
            let why =
                condition.message.as_deref().or(condition.reason.as_deref()).unwrap_or("no reason given");
            self.ail(object, Ailment::NotReady, since, |age| {
                format!("not Ready for {age}: {}", short(why, 200))
            });
        } else if !object.has_status {
            self.ail(object, Ailment::Silent, object.created, |age| format!("no status after {age}"));
        }
    }

    fn ail(
        &mut self,
        object: &ObjectSeen,
        ailment: Ailment,
        since: Timestamp,
        words: impl Fn(String) -> String,
    ) {
        let age = between(since, self.at);
        if age <= self.stale_after {
            self.in_work += 1;
            return;
        }
        let name = match &object.namespace {
            Some(namespace) => format!("{namespace}/{}", object.name),
            None => object.name.clone(),
        };
        let words = if self.sick.len() < WITH_MESSAGE {
            format!("{name}: {}", words(span(age)))
        } else {
            String::new()
        };
        self.sick.push(Sick { uid: object.uid.clone(), name, ailment, words });
    }

    /// Those that ail for too long. Objects without a status count only where others have one: some kinds
    /// never do.
    pub fn sick(&self) -> impl Iterator<Item = &Sick> {
        let speaks = self.speaking > 0;
        self.sick.iter().filter(move |sick| speaks || sick.ailment != Ailment::Silent)
    }

    pub(super) fn stale_uids(&self) -> impl Iterator<Item = &str> {
        self.sick().map(|sick| sick.uid.as_str())
    }
}
