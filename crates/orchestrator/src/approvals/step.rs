//! What every change of an approval brings with it: row, audit, news, messages.

use serde_json::{Value, json};
use slipway_domain::access::Actor;
use slipway_domain::approval::{Approval, ApprovalStatus, Decision};
use slipway_domain::audit::AuditEntry;
use slipway_domain::event::{Event, Topic};
use slipway_domain::id::UserId;

use super::resource;
use crate::changes::{Changeset, Write};
use crate::error::Error;
use crate::manager::Manager;
use crate::notices::{self, Audience};
use crate::ports::StoreError;
use crate::ports::store::{ApprovalWrite, Message};
use crate::rollouts::deciding;

/// A change of one approval.
pub(super) struct Step<'a> {
    /// Who.
    pub(super) actor: &'a Actor,
    /// What, for the audit.
    pub(super) action: &'static str,
    /// A sentence for the audit.
    pub(super) sentence: String,
    /// As it was; nothing where it is new.
    pub(super) before: Option<&'a Approval>,
    /// As it is.
    pub(super) after: &'a Approval,
}

impl Manager {
    /// Adds everything that goes with a step to a change.
    pub(super) async fn take(&self, changes: Changeset, step: Step<'_>) -> Result<Changeset, Error> {
        let Step { actor, action, sentence, before, after } = step;
        let kept = Box::new(after.clone());
        let mut changes = changes
            .write(if before.is_some() { ApprovalWrite::Change(kept) } else { ApprovalWrite::Ask(kept) })
            .audit(
                AuditEntry::done(actor, action, resource(after.id), sentence)
                    .changing(before.map(shown), Some(shown(after))),
            )
            .tell(news(before, after))
            // Whatever waits for this goes on at once.
            .due(deciding(after.subject.rollout), self.now());
        for message in self.told(before, after).await? {
            changes = changes.send(message);
        }
        Ok(changes)
    }

    /// Writes steps, and counts them once they are written.
    pub(super) async fn commit_steps(&self, changes: Changeset) -> Result<(), StoreError> {
        let step = |write: &Write| match write {
            Write::Approval(ApprovalWrite::Ask(approval)) => Some((true, approval.clone())),
            Write::Approval(ApprovalWrite::Change(approval)) => Some((false, approval.clone())),
            _ => None,
        };
        let steps: Vec<_> = changes.rows.iter().filter_map(step).collect();
        self.store().commit(changes).await?;
        for (new, approval) in steps {
            self.metrics.approval(new, &approval);
        }
        Ok(())
    }

    /// The messages that a step causes.
    async fn told(&self, before: Option<&Approval>, after: &Approval) -> Result<Vec<Message>, Error> {
        let url = self.settings.public_url.trim_end_matches('/');
        let Some(ended) = notices::decided(after, url) else {
            // A level that still waits was asked when it opened.
            let opened = before.is_none_or(|before| before.open_level() != after.open_level());
            if !opened {
                return Ok(Vec::new());
            }
            let audience = Audience::Deciders(Box::new(after.clone()));
            return self.messages(&notices::required(after, url), &audience).await;
        };
        let starter = after.starter.person.map(UserId);
        let audience = match (after.status, starter) {
            (ApprovalStatus::Bypassed, starter) => Audience::Responsible(after.subject.environment, starter),
            (_, Some(starter)) => Audience::Person(starter),
            (_, None) => Audience::Nobody,
        };
        self.messages(&ended, &audience).await
    }
}

/// What those who watch are told. Whoever may read sees it, so notes stay out.
fn news(before: Option<&Approval>, after: &Approval) -> Event {
    let kind = match (before, after.status) {
        (None, ApprovalStatus::Pending) => "requested",
        (Some(_), ApprovalStatus::Pending) => "advanced",
        (_, ApprovalStatus::Approved) => "approved",
        (_, ApprovalStatus::Rejected) => "rejected",
        (_, ApprovalStatus::Expired) => "expired",
        (_, ApprovalStatus::Lapsed) => "lapsed",
        (_, ApprovalStatus::Bypassed) => "bypassed",
    };
    Event {
        topic: Topic::Approval,
        subject: after.id.to_string(),
        kind: kind.to_owned(),
        data: json!({
            "approvalId": after.id,
            "type": after.kind,
            "deploymentId": after.subject.rollout,
            "operatorName": after.subject.operator,
            "targetVersion": after.subject.target_version,
            "environment": after.subject.environment,
            "status": after.status,
        }),
    }
}

/// An approval in the audit.
fn shown(approval: &Approval) -> Value {
    let decision = |decision: &Decision| {
        json!({
            "by": decision.name,
            "verdict": decision.verdict,
            "level": decision.level + 1,
            "notes": decision.note,
            "at": decision.at.to_string(),
        })
    };
    json!({
        "type": approval.kind,
        "status": approval.status,
        "deploymentId": approval.subject.rollout,
        "operatorName": approval.subject.operator,
        "targetVersion": approval.subject.target_version,
        "environment": approval.subject.environment,
        "planHash": approval.subject.plan,
        "initiatedBy": approval.starter.name,
        "levels": approval.levels,
        "expiresAt": approval.expires_at.to_string(),
        "decisions": approval.decisions.iter().map(decision).collect::<Vec<_>>(),
    })
}
