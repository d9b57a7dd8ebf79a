//! What people say about a plan.

use std::collections::BTreeSet;

use slipway_domain::access::{Actor, ActorKind, Environment, Role};
use slipway_domain::approval::{Approval, ApprovalStatus, Facts};
use slipway_domain::id::UserId;
use slipway_domain::rollout::Consent;

use crate::approvals::{Ask, Emergency};
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::store::Rollout;

impl Manager {
    /// Asks for what the plan of a rollout needs, once, and says what people answered so far.
    pub(super) async fn plan_consent(&self, rollout: &Rollout) -> Result<Consent, Error> {
        if let Some(consent) = self.mending_consent(rollout).await? {
            return Ok(consent);
        }
        let state = &rollout.state;
        let missing = || Error::new(Code::InternalError, "a plan without a hash cannot be asked about");
        let plan = state.plan.clone().ok_or_else(missing)?;
        let preflights = self.store().preflights(rollout.id).await?;
        let in_production = |name: &_| state.environment(name) == Environment::Production;
        let production = state.clusters.keys().filter(|name| in_production(name));
        let production = production.map(|name| {
            let from = preflights.get(name).and_then(|preflight| preflight.from.clone());
            (name.clone(), from)
        });
        let breaking = preflights
            .iter()
            .filter(|(name, _)| in_production(name))
            .flat_map(|(_, preflight)| &preflight.crds)
            .filter(|crd| !crd.breaking.is_empty())
            .map(|crd| crd.name.clone());
        let facts = Facts {
            rollout: rollout.id,
            operator: state.spec.operator.clone(),
            target_version: state.spec.version.clone(),
            plan,
            production: production.collect(),
            breaking_crds: breaking.collect::<BTreeSet<_>>().into_iter().collect(),
        };
        let emergency = rollout.emergency.as_ref().map(|reason| {
            let reason = reason
                .parse()
                .map_err(|_| Error::new(Code::InternalError, "the reason of an emergency cannot be read"))?;
            Ok::<_, Error>(Emergency { by: starter(rollout), reason })
        });
        let ask = Ask { facts, starter: rollout.starter.clone(), emergency: emergency.transpose()? };
        let approvals = self.request_approvals(&Actor::system("rollouts"), &ask).await?;
        Ok(said(&approvals))
    }
}

/// Whoever started a rollout and may go past approvals: that was looked at when it began.
fn starter(rollout: &Rollout) -> Actor {
    let system = Actor::system("rollouts");
    Actor {
        kind: rollout.starter.person.map_or(ActorKind::System, |id| ActorKind::User { id: UserId(id) }),
        name: rollout.starter.name.clone(),
        role: Some(Role::Admin),
        ..system
    }
}

/// What all of them together mean.
fn said(approvals: &[Approval]) -> Consent {
    if let Some(no) = approvals.iter().find(|approval| approval.status == ApprovalStatus::Rejected) {
        let decision = no.last_decision();
        let by = decision.map_or("somebody", |decision| decision.name.as_str());
        let note = decision.and_then(|decision| decision.note.as_ref());
        let note = note.map_or_else(String::new, |note| format!(": {}", note.as_str()));
        return Consent::Rejected { reason: format!("{} by {by}{note}", no.kind) };
    }
    let ended =
        |approval: &&Approval| matches!(approval.status, ApprovalStatus::Expired | ApprovalStatus::Lapsed);
    if approvals.iter().any(|approval| ended(&approval)) {
        return Consent::Expired;
    }
    let pending: Vec<&Approval> =
        approvals.iter().filter(|approval| approval.status == ApprovalStatus::Pending).collect();
    let Some(first) = pending.iter().min_by_key(|approval| approval.expires_at) else {
        return Consent::Granted;
    };
    let who: BTreeSet<String> = pending.iter().filter_map(|approval| approval.waits_for()).collect();
    let waits_for = who.into_iter().collect::<Vec<_>>().join(" and ");
    Consent::Pending { waits_for, expires_at: first.expires_at }
}
