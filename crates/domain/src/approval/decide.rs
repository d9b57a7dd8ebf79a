//! Taking an answer, or refusing it with the reason.

use jiff::Timestamp;

use super::{Approval, ApprovalStatus, Decision, Note, PlanHash, Verdict};
use crate::access::{Actor, ActorKind, Permission};

/// What somebody answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes.
    Approve {
        /// What they add.
        note: Option<Note>,
    },
    /// No.
    Reject {
        /// Why.
        reason: Note,
    },
}

/// Why an answer does not count: one variant, one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is over.
    #[error("this approval is {status} already{}; there is nothing left to decide", ended_by(.by.as_deref()))]
    Over {
        /// How it ended.
        status: ApprovalStatus,
        /// Who ended it.
        by: Option<String>,
    },
    /// Too late.
    #[error("this approval expired at {at}; start the deployment again to ask anew")]
    Expired {
        /// When.
        at: Timestamp,
    },
    /// What it was about changed.
    #[error("this approval lapsed: {because}; decide on the one that took its place")]
    Lapsed {
        /// Why.
        because: String,
    },
    /// The decider looked at something else.
    #[error(
        "you looked at plan {seen}, but this approval is about plan {plan}; look again before you decide"
    )]
    OtherPlan {
        /// What they saw.
        seen: String,
        /// What it is about.
        plan: String,
    },
    /// A token, or the manager itself.
    #[error("{name} is not a person; approvals are decided by people who logged in")]
    NotAPerson {
        /// Who tried.
        name: String,
    },
    /// Whoever started it.
    #[error("{name} started this deployment and cannot approve it; it takes {takes}")]
    Starter {
        /// Who tried.
        name: String,
        /// Who could.
        takes: String,
    },
    /// Somebody who is not listed.
    #[error("{name} may not decide this; it takes {takes}")]
    NotListed {
        /// Who tried.
        name: String,
        /// Who could.
        takes: String,
    },
    /// Somebody of a later level.
    #[error("it is not {name}'s turn yet; first it takes {takes}")]
    NotYet {
        /// Who tried.
        name: String,
        /// Who comes first.
        takes: String,
    },
    /// A second answer.
    #[error("{name} decided at {at} already; each person decides once, so it still takes {takes}")]
    Twice {
        /// Who tried.
        name: String,
        /// When they decided.
        at: Timestamp,
        /// Who could.
        takes: String,
    },
}

fn ended_by(name: Option<&str>) -> String {
    name.map(|name| format!(" by {name}")).unwrap_or_default()
}

impl Refusal {
    /// Whether it is about who answers, rather than about the state of the approval.
    pub fn is_about_the_person(&self) -> bool {
        matches!(self, Self::NotAPerson { .. } | Self::Starter { .. } | Self::NotListed { .. })
    }
}

/// Takes an answer. `seen` is the plan that the decider looked at, where they say so.
pub fn decide(
    approval: &Approval,
    actor: &Actor,
    answer: Answer,
    seen: Option<&PlanHash>,
    now: Timestamp,
) -> Result<Approval, Refusal> {
    let level = still_open(approval, now)?;
    if let Some(seen) = seen.filter(|seen| **seen != approval.subject.plan) {
        return Err(Refusal::OtherPlan {
            seen: seen.short().to_owned(),
            plan: approval.subject.plan.short().to_owned(),
        });
    }
    let ActorKind::User { id: person } = actor.kind else {
        return Err(Refusal::NotAPerson { name: actor.name.clone() });
    };
    let name = actor.name.clone();
    let takes = approval.waits_for().unwrap_or_default();
    let admitted = |level: usize| {
        approval.levels.get(level).is_some_and(|level| level.admits(actor, approval.subject.environment))
    };
    if !actor.may(Permission::Decide) {
        return Err(Refusal::NotListed { name, takes });
    }
    // The starter may still take it back with a no.
    let approves = matches!(answer, Answer::Approve { .. });
    if approves && approval.four_eyes && approval.starter.person == Some(person.0) {
        return Err(Refusal::Starter { name, takes });
    }
    if let Some(earlier) = approval.decisions.iter().find(|decision| decision.person == person.0) {
        return Err(Refusal::Twice { name, at: earlier.at, takes });
    }
    if !admitted(level) {
        let later = (level + 1..approval.levels.len()).any(admitted);
        return Err(if later { Refusal::NotYet { name, takes } } else { Refusal::NotListed { name, takes } });
    }
    let mut next = approval.clone();
    let (verdict, note) = match answer {
        Answer::Approve { note } => (Verdict::Approved, note),
        Answer::Reject { reason } => (Verdict::Rejected, Some(reason)),
    };
    next.decisions.push(Decision { person: person.0, name, level, verdict, note, at: now });
    if verdict == Verdict::Rejected {
        end(&mut next, ApprovalStatus::Rejected, now);
    } else if next.open_level().is_none() {
        end(&mut next, ApprovalStatus::Approved, now);
    }
    Ok(next)
}

/// Goes past an approval in an emergency: any admin may, the starter too, and says why.
pub fn break_glass(
    approval: &Approval,
    actor: &Actor,
    reason: Note,
    now: Timestamp,
) -> Result<Approval, Refusal> {
    let level = still_open(approval, now)?;
    let ActorKind::User { id: person } = actor.kind else {
        return Err(Refusal::NotAPerson { name: actor.name.clone() });
    };
    if !actor.may(Permission::BreakGlass) {
        return Err(Refusal::NotListed { name: actor.name.clone(), takes: "an admin".to_owned() });
    }
    let mut next = approval.clone();
    next.decisions.push(Decision {
        person: person.0,
        name: actor.name.clone(),
        level,
        verdict: Verdict::Bypassed,
        note: Some(reason),
        at: now,
    });
    end(&mut next, ApprovalStatus::Bypassed, now);
    Ok(next)
}

/// Ends an approval that nobody decided in time; nothing where it is not that far, or over.
pub fn expire(approval: &Approval, now: Timestamp) -> Option<Approval> {
    (approval.status == ApprovalStatus::Pending && now >= approval.expires_at).then(|| {
        let mut next = approval.clone();
        end(&mut next, ApprovalStatus::Expired, now);
        next
    })
}

/// Ends an approval because what it was about changed or is no more: one that waits, and one that was
/// given, too, for it counts for its own plan only. Nothing where it ended otherwise.
pub fn lapse(approval: &Approval, because: &str, now: Timestamp) -> Option<Approval> {
    (approval.status == ApprovalStatus::Pending || approval.status.lets_go_on()).then(|| {
        let mut next = approval.clone();
        next.lapsed_because = Some(because.to_owned());
        end(&mut next, ApprovalStatus::Lapsed, now);
        next
    })
}

fn end(approval: &mut Approval, status: ApprovalStatus, now: Timestamp) {
    approval.status = status;
    approval.ended_at = Some(now);
}

/// The level that decides, unless it is over.
fn still_open(approval: &Approval, now: Timestamp) -> Result<usize, Refusal> {
    let over = |status| {
        let by = approval.last_decision().map(|decision| decision.name.clone());
        Refusal::Over { status, by }
    };
    match approval.status {
        ApprovalStatus::Pending if now >= approval.expires_at => {
            Err(Refusal::Expired { at: approval.expires_at })
        }
        ApprovalStatus::Pending => approval.open_level().ok_or_else(|| over(ApprovalStatus::Approved)),
        ApprovalStatus::Expired => Err(Refusal::Expired { at: approval.expires_at }),
        ApprovalStatus::Lapsed => {
            let because = approval.lapsed_because.clone();
            Err(Refusal::Lapsed { because: because.unwrap_or_else(|| "its plan changed".to_owned()) })
        }
        status => Err(over(status)),
    }
}
