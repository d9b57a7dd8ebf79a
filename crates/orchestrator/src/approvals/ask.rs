//! Asking for the approvals that a rollout needs.

use slipway_domain::access::{Actor, ActorKind, Environment, Permission};
use slipway_domain::approval::{
    Approval, ApprovalStatus, Facts, Note, Requirement, Rules, Starter, break_glass, lapse, required,
};
use slipway_domain::document::Kind;
use slipway_domain::id::{ApprovalId, RolloutId};
use slipway_domain::settings::Setting;
use uuid::Uuid;

use super::expiry::expiry_of;
use super::step::Step;
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::StoreError;
use crate::ports::store::APPROVAL_SUBJECT;

/// What a rollout asks for.
#[derive(Debug, Clone)]
pub struct Ask {
    /// What is known of it.
    pub facts: Facts,
    /// Who started it; [`Manager::starter`] says who that is for somebody who acts.
    pub starter: Starter,
    /// Whether an admin goes past what is asked.
    pub emergency: Option<Emergency>,
}

/// An admin who does not wait.
#[derive(Debug, Clone)]
pub struct Emergency {
    /// Who.
    pub by: Actor,
    /// Why.
    pub reason: Note,
}

impl Manager {
    /// Whoever started something: for a machine's token the person who answers for it, so that nobody
    /// approves what their own token started.
    pub async fn starter(&self, actor: &Actor) -> Result<Starter, Error> {
        let mut starter = Starter::of(actor);
        if let ActorKind::Token { id } = actor.kind {
            let found = self.store().token(id).await?;
            starter.person = found.map(|(token, _)| token.owner.0).or(starter.person);
        }
        Ok(starter)
    }

    /// Asks for what a rollout needs and has not asked for yet; all that it needs, as it is. The same plan
    /// asked twice is asked once. Approvals for another plan of the same rollout lapse.
    pub async fn request_approvals(&self, actor: &Actor, ask: &Ask) -> Result<Vec<Approval>, Error> {
        let resource = format!("deployment/{}", ask.facts.rollout);
        self.permit(actor, Permission::Deploy, "approval.request", &resource).await?;
        if let Some(emergency) = &ask.emergency {
            self.permit(&emergency.by, Permission::BreakGlass, "approval.breakGlass", &resource).await?;
        }
        let rules = self.approval_rules(&ask.facts).await?;
        for _ in 0..8 {
            let (changes, approvals) = self.asked(actor, ask, &rules).await?;
            if changes.rows.is_empty() {
                return Ok(approvals);
            }
            match self.commit_steps(changes).await {
                Ok(()) => return Ok(approvals),
                // Another server asked, or somebody decided, at the same moment: look again.
                Err(StoreError::Stale { .. }) => {}
                Err(StoreError::Taken { constraint }) if constraint == APPROVAL_SUBJECT => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::new(Code::Conflict, "the approvals of this deployment change all the time; try again"))
    }

    /// Ends every approval of a rollout that does not happen any more.
    pub async fn lapse_approvals(
        &self,
        actor: &Actor,
        rollout: RolloutId,
        because: &str,
    ) -> Result<(), Error> {
        self.permit(actor, Permission::Deploy, "approval.lapse", &format!("deployment/{rollout}")).await?;
        for _ in 0..8 {
            let waiting = self.store().approvals_of(rollout).await?;
            let waiting = waiting.into_iter().filter(|approval| approval.status == ApprovalStatus::Pending);
            let changes = self.lapsing(Changeset::new(), actor, waiting, because).await?;
            if changes.rows.is_empty() {
                return Ok(());
            }
            match self.commit_steps(changes).await {
                Err(StoreError::Stale { .. }) => {}
                other => return Ok(other?),
            }
        }
        Err(Error::new(Code::Conflict, "the approvals of this deployment change all the time; try again"))
    }

    /// The rules that apply to a rollout: the default, and in its place what the settings say, by name.
    async fn approval_rules(&self, facts: &Facts) -> Result<Rules, Error> {
        let mut rules = Rules::default();
        for stored in self.store().settings(Some(Kind::ApprovalRule)).await? {
            if let Setting::ApprovalRule(rule) = stored.setting
                && rule.scope.covers(Environment::Production, &facts.operator)
            {
                rules.set(rule.kind, rule.rule());
            }
        }
        Ok(rules)
    }

    async fn lapsing(
        &self,
        mut changes: Changeset,
        actor: &Actor,
        approvals: impl Iterator<Item = Approval>,
        because: &str,
    ) -> Result<Changeset, Error> {
        for before in approvals {
            let Some(after) = lapse(&before, because, self.now()) else { continue };
            let sentence = format!("the {} approval lapsed: {because}", before.kind);
            let step =
                Step { actor, action: "approval.lapse", sentence, before: Some(&before), after: &after };
            changes = self.take(changes, step).await?;
        }
        Ok(changes)
    }

    /// What has to be written so that everything is asked, and how it is then.
    async fn asked(
        &self,
        actor: &Actor,
        ask: &Ask,
        rules: &Rules,
    ) -> Result<(Changeset, Vec<Approval>), Error> {
        let (current, old): (Vec<Approval>, Vec<Approval>) = self
            .store()
            .approvals_of(ask.facts.rollout)
            .await?
            .into_iter()
            .filter(|approval| approval.status != ApprovalStatus::Lapsed)
            .partition(|approval| approval.subject.plan == ask.facts.plan);
        let mut changes = self.lapsing(Changeset::new(), actor, old.into_iter(), "the plan changed").await?;
        let mut approvals = Vec::new();
        for requirement in required(&ask.facts, rules) {
            let same = |approval: &&Approval| {
                approval.kind == requirement.kind
                    && approval.subject.environment == requirement.subject.environment
            };
            if let Some(asked) = current.iter().find(same) {
                approvals.push(asked.clone());
                continue;
            }
            let approval = self.asking(ask, requirement)?;
            let bypassed = approval.status == ApprovalStatus::Bypassed;
            let subject = &approval.subject;
            let what = format!(
                "{} to deploy {} {} to {}, because {}",
                approval.kind,
                subject.operator,
                subject.target_version,
                subject.environment,
                approval.because
            );
            let (who, action, sentence) = match (&ask.emergency, bypassed) {
                (Some(emergency), true) => (
                    &emergency.by,
                    "approval.breakGlass",
                    format!(
                        "EMERGENCY: {} went past the approval {what}: {}",
                        emergency.by.name, emergency.reason
                    ),
                ),
                _ => (actor, "approval.request", format!("asked for the approval {what}")),
            };
            if bypassed {
                tracing::warn!(approval = %approval.id, sentence, "an approval was bypassed");
            } else {
                changes = changes.due(expiry_of(approval.id), approval.expires_at);
            }
            let step = Step { actor: who, action, sentence, before: None, after: &approval };
            changes = self.take(changes, step).await?;
            approvals.push(approval);
        }
        Ok((changes, approvals))
    }

    fn asking(&self, ask: &Ask, requirement: Requirement) -> Result<Approval, Error> {
        let now = self.now();
        // By chance rather than by time: people name approvals by the first few digits.
        let approval = requirement.ask(ApprovalId(Uuid::new_v4()), ask.starter.clone(), now);
        let Some(emergency) = &ask.emergency else { return Ok(approval) };
        break_glass(&approval, &emergency.by, emergency.reason.clone(), now)
            .map_err(|refusal| Error::new(Code::Forbidden, refusal.to_string()))
    }
}
