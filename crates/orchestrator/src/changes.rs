//! The one way to write: everything that a use case changes, in one transaction.

use jiff::Timestamp;
use slipway_domain::audit::AuditEntry;
use slipway_domain::event::Event;

use crate::ports::store::{
    ApprovalWrite, ClusterWrite, CrdWrite, HealthWrite, Message, OperatorWrite, RolloutWrite, SettingsWrite,
    UserWrite,
};

/// What a use case changes: all of it, or nothing.
#[derive(Debug, Default)]
pub struct Changeset {
    /// What must still be held for this to count.
    pub fence: Option<Fence>,
    /// The rows, in this order. A write whose condition does not hold fails the whole.
    pub rows: Vec<Write>,
    /// What is written down of it.
    pub audit: Vec<AuditEntry>,
    /// What is sent because of it, once.
    pub outbox: Vec<Message>,
    /// What those who watch are told.
    pub events: Vec<Event>,
    /// Work that becomes due: made, or moved, or ended.
    pub work: Vec<WorkChange>,
}

/// Work that one server at a time does: a kind such as `cluster-health`, and a key such as the cluster's id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Work {
    /// Which kind.
    pub kind: &'static str,
    /// Which one.
    pub key: String,
}

/// What becomes of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkChange {
    /// It is due then; made if it is not there.
    Due(Work, Timestamp),
    /// There is no such work any more.
    End(Work),
    /// It is done, unless it was made due anew while somebody was at it.
    Finish(Work),
}

/// A claim that must still hold: work, and the epoch under which it was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// Which work.
    pub work: Work,
    /// The epoch of the claim.
    pub epoch: i64,
}

/// A change of rows. Each aggregate has its own words.
#[derive(Debug)]
pub enum Write {
    /// Of people and tokens.
    User(UserWrite),
    /// Of clusters.
    Cluster(ClusterWrite),
    /// Of operators and charts.
    Operator(OperatorWrite),
    /// Of CRDs.
    Crd(CrdWrite),
    /// Of approvals.
    Approval(ApprovalWrite),
    /// Of the health of operators.
    Health(HealthWrite),
    /// Of policies and other settings.
    Settings(SettingsWrite),
    /// Of rollouts.
    Rollout(RolloutWrite),
}

impl Changeset {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a change of rows.
    #[must_use]
    pub fn write(mut self, write: impl Into<Write>) -> Self {
        self.rows.push(write.into());
        self
    }

    /// Adds an entry to the audit.
    #[must_use]
    pub fn audit(mut self, entry: AuditEntry) -> Self {
        self.audit.push(entry);
        self
    }

    /// Tells those who watch.
    #[must_use]
    pub fn tell(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    /// Sends a message, once, after the rest is written.
    #[must_use]
    pub fn send(mut self, message: Message) -> Self {
        self.outbox.push(message);
        self
    }

    /// Has work done from then on.
    #[must_use]
    pub fn due(mut self, work: Work, at: Timestamp) -> Self {
        self.work.push(WorkChange::Due(work, at));
        self
    }

    /// Ends work.
    #[must_use]
    pub fn end(mut self, work: Work) -> Self {
        self.work.push(WorkChange::End(work));
        self
    }

    /// Ends work, unless it was made due anew while somebody was at it.
    #[must_use]
    pub fn finish(mut self, work: Work) -> Self {
        self.work.push(WorkChange::Finish(work));
        self
    }

    /// Counts only while the claim holds.
    #[must_use]
    pub fn fenced(mut self, fence: Fence) -> Self {
        self.fence = Some(fence);
        self
    }
}

macro_rules! writes {
    ($($variant:ident($write:ident)),+ $(,)?) => {$(
        impl From<$write> for Write {
            fn from(write: $write) -> Self {
                Self::$variant(write)
            }
        }
    )+};
}

writes!(
    User(UserWrite),
    Cluster(ClusterWrite),
    Operator(OperatorWrite),
    Crd(CrdWrite),
    Approval(ApprovalWrite),
    Health(HealthWrite),
    Settings(SettingsWrite),
    Rollout(RolloutWrite),
);
