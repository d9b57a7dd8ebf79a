//! Making a decision.

use jiff::Timestamp;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::approval::{
    Answer, Approval, ApprovalStatus, BadNote, Note, PlanHash, Refusal, break_glass, decide,
};
use slipway_domain::audit::{AuditEntry, AuditResult};
use slipway_domain::id::ApprovalId;
use slipway_domain::problem::Problems;

use super::resource;
use super::step::Step;
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::StoreError;

/// How often a decision is made anew because somebody else decided at the same moment.
const TRIES: u32 = 16;

/// A yes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approve {
    /// What they add.
    pub notes: Option<String>,
    /// The hash of the plan that they looked at.
    pub plan: Option<String>,
}

/// A no.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reject {
    /// Why.
    pub reason: String,
    /// The hash of the plan that they looked at.
    pub plan: Option<String>,
}

/// Going past an approval in an emergency.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BreakGlass {
    /// Why.
    pub reason: String,
}

impl Manager {
    /// Says yes. The approval as it is then: it may wait for more people.
    pub async fn approve(&self, actor: &Actor, id: ApprovalId, input: Approve) -> Result<Approval, Error> {
        let note = match input.notes.as_deref().map(str::parse::<Note>) {
            None | Some(Err(BadNote::Empty)) => None,
            Some(note) => Some(note.map_err(|bad| Problems::one("notes", bad))?),
        };
        let answer = Answer::Approve { note };
        let plan = input.plan.map(PlanHash::new);
        self.answer(actor, id, Permission::Decide, "approval.approve", |approval, now| {
            decide(approval, actor, answer.clone(), plan.as_ref(), now)
        })
        .await
    }

    /// Says no, which ends it.
    pub async fn reject(&self, actor: &Actor, id: ApprovalId, input: Reject) -> Result<Approval, Error> {
        let reason: Note = input.reason.parse().map_err(|bad| Problems::one("reason", bad))?;
        let answer = Answer::Reject { reason };
        let plan = input.plan.map(PlanHash::new);
        self.answer(actor, id, Permission::Decide, "approval.reject", |approval, now| {
            decide(approval, actor, answer.clone(), plan.as_ref(), now)
        })
        .await
    }

    /// Goes past it in an emergency. Everybody who answers for the environment is told.
    pub async fn break_glass(
        &self,
        actor: &Actor,
        id: ApprovalId,
        input: BreakGlass,
    ) -> Result<Approval, Error> {
        let reason: Note = input.reason.parse().map_err(|bad| Problems::one("reason", bad))?;
        self.answer(actor, id, Permission::BreakGlass, "approval.breakGlass", |approval, now| {
            break_glass(approval, actor, reason.clone(), now)
        })
        .await
    }

    /// Decides on the row as it is, and again where somebody else was quicker.
    async fn answer(
        &self,
        actor: &Actor,
        id: ApprovalId,
        permission: Permission,
        action: &'static str,
        rule: impl Fn(&Approval, Timestamp) -> Result<Approval, Refusal>,
    ) -> Result<Approval, Error> {
        self.permit(actor, permission, action, &resource(id)).await?;
        for _ in 0..TRIES {
            let before = self.known_approval(id).await?;
            let after = match rule(&before, self.now()) {
                Ok(after) => after,
                Err(refusal) => return Err(self.refuse(actor, action, id, &refusal).await?),
            };
            let sentence = sentence(&after);
            if after.status == ApprovalStatus::Bypassed {
                tracing::warn!(approval = %id, actor = actor.name, sentence, "an approval was bypassed");
            }
            let step = Step { actor, action, sentence, before: Some(&before), after: &after };
            let changes = self.take(Changeset::new(), step).await?;
            match self.commit_steps(changes).await {
                Err(StoreError::Stale { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(()) => return Ok(Approval { version: before.version + 1, ..after }),
            }
        }
        Err(Error::new(Code::Conflict, "others decide at the same moment; try again"))
    }

    /// Writes down who was refused, and says why.
    async fn refuse(
        &self,
        actor: &Actor,
        action: &str,
        id: ApprovalId,
        refusal: &Refusal,
    ) -> Result<Error, Error> {
        let sentence = refusal.to_string();
        if !refusal.is_about_the_person() {
            return Ok(Error::new(Code::Conflict, sentence));
        }
        let entry = AuditEntry::new(actor, action, resource(id), AuditResult::Denied, sentence.clone());
        self.store().commit(Changeset::new().audit(entry)).await?;
        Ok(Error::new(Code::Forbidden, sentence))
    }
}

/// What the last decision made of an approval.
fn sentence(after: &Approval) -> String {
    let subject = &after.subject;
    let what = format!(
        "deploy {} {} to {} ({})",
        subject.operator, subject.target_version, subject.environment, after.kind
    );
    let name = after.last_decision().map(|decision| decision.name.as_str()).unwrap_or_default();
    let note = after.last_decision().and_then(|decision| decision.note.as_ref());
    let why = note.map(|note| format!(": {note}")).unwrap_or_default();
    match after.status {
        ApprovalStatus::Bypassed => format!("EMERGENCY: {name} went past the approval to {what}{why}"),
        ApprovalStatus::Rejected => format!("{name} rejected: {what}{why}"),
        ApprovalStatus::Pending => {
            let next = after.waits_for().unwrap_or_default();
            format!("{name} approved: {what}; it still takes {next}{why}")
        }
        _ => format!("{name} approved: {what}{why}"),
    }
}
