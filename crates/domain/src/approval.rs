//! Decisions that people make before a rollout goes on: what is asked, who may answer, what was answered.
//!
//! An approval belongs to one rollout and to the hash of the plan that was shown; another plan needs
//! another approval. [`required`](required()) says which approvals a rollout needs, [`decide`](decide())
//! takes an answer. Approvals are never forgotten: an end is a status, and decisions are only added.

mod decide;
mod note;
mod required;
mod rules;
#[cfg(test)]
mod tests;

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::access::{Actor, Environment};
use crate::id::{ApprovalId, RolloutId};
use crate::name::Name;
use crate::version::Version;

pub use decide::{Answer, Refusal, break_glass, decide, expire, lapse};
pub use note::{BadNote, Note};
pub use required::{Facts, Requirement, required};
pub use rules::{Approver, BadApprover, Level, Rule, Rules};

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ApprovalKind {
    /// May it go to production?
    ProductionDeployment,
    /// May an operator that runs in production get another version?
    OperatorVersionUpgrade,
    /// May a schema change in production that breaks what is there?
    BreakingCrdChange,
}

/// How far an approval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ApprovalStatus {
    /// It waits for people.
    Pending,
    /// Every level agreed.
    Approved,
    /// Somebody said no.
    Rejected,
    /// Nobody decided in time.
    Expired,
    /// What it was about changed, or is no more.
    Lapsed,
    /// An admin went past it in an emergency.
    Bypassed,
}

crate::access::words!(ApprovalKind: ProductionDeployment, OperatorVersionUpgrade, BreakingCrdChange);
crate::access::words!(ApprovalStatus: Pending, Approved, Rejected, Expired, Lapsed, Bypassed);

impl ApprovalStatus {
    /// Whether a rollout may go on.
    pub fn lets_go_on(self) -> bool {
        matches!(self, Self::Approved | Self::Bypassed)
    }
}

/// The hash of a plan as it was shown: what a decision is bound to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanHash(String);

impl PlanHash {
    /// As it was computed.
    pub fn new(hash: impl Into<String>) -> Self {
        Self(hash.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Enough of it for people to compare.
    pub fn short(&self) -> &str {
        let bare = self.0.strip_prefix("sha256:").unwrap_or(&self.0);
        bare.char_indices().nth(12).map_or(bare, |(end, _)| &bare[..end])
    }
}

impl fmt::Display for PlanHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a decision is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The rollout.
    pub rollout: RolloutId,
    /// The operator that is rolled out.
    pub operator: Name,
    /// To which version.
    pub target_version: Version,
    /// Into which environment.
    pub environment: Environment,
    /// The plan that was shown.
    pub plan: PlanHash,
}

/// Whoever started a rollout, as far as approvals care.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starter {
    /// The person, or the person behind the token; nobody where the manager itself started it.
    pub person: Option<Uuid>,
    /// The name.
    pub name: String,
}

impl Starter {
    /// Whoever acts.
    pub fn of(actor: &Actor) -> Self {
        Self { person: actor.subject(), name: actor.name.clone() }
    }
}

/// What one person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// Yes.
    Approved,
    /// No.
    Rejected,
    /// An emergency: never mind the others.
    Bypassed,
}

crate::access::words!(Verdict: Approved, Rejected, Bypassed);

/// One answer, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Who.
    pub person: Uuid,
    /// Their name then.
    pub name: String,
    /// In which level, from 0.
    pub level: usize,
    /// What.
    pub verdict: Verdict,
    /// Why; always there when it is not a plain yes.
    pub note: Option<Note>,
    /// When.
    pub at: Timestamp,
}

/// A requirement on its way to an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Which.
    pub id: ApprovalId,
    /// What is asked.
    pub kind: ApprovalKind,
    /// About what.
    pub subject: Subject,
    /// Why it is asked, as a sentence.
    pub because: String,
    /// Who started the rollout.
    pub starter: Starter,
    /// Who decides, in order.
    pub levels: Vec<Level>,
    /// Whether the starter must not approve.
    pub four_eyes: bool,
    /// Since when it waits.
    pub created_at: Timestamp,
    /// Until when it can be decided; not at that moment any more.
    pub expires_at: Timestamp,
    /// How far it is.
    pub status: ApprovalStatus,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it lapsed.
    pub lapsed_because: Option<String>,
    /// What people answered, in order.
    pub decisions: Vec<Decision>,
    /// Grows with each change of the row.
    pub version: i64,
}

impl Approval {
    /// The level that decides now, from 0; nothing once all agreed.
    pub fn open_level(&self) -> Option<usize> {
        self.levels.iter().enumerate().position(|(index, level)| self.agreed(index) < level.quorum())
    }

    /// How many agreed in a level.
    pub fn agreed(&self, level: usize) -> usize {
        let agrees = |decision: &&Decision| decision.level == level && decision.verdict == Verdict::Approved;
        self.decisions.iter().filter(agrees).count()
    }

    /// The last answer.
    pub fn last_decision(&self) -> Option<&Decision> {
        self.decisions.last()
    }

    /// Who decides next, in words: `an owner of Production`.
    pub fn waits_for(&self) -> Option<String> {
        self.open_level()
            .and_then(|index| self.levels.get(index))
            .map(|level| level.who(self.subject.environment))
    }

    /// Whether this answer would count now; the reason where it would not.
    pub fn open_to(&self, actor: &Actor, now: Timestamp) -> Result<(), Refusal> {
        decide(self, actor, Answer::Approve { note: None }, None, now).map(drop)
    }

    /// Whether it lets this very plan go on.
    pub fn covers(&self, plan: &PlanHash) -> bool {
        self.status.lets_go_on() && self.subject.plan == *plan
    }
}
