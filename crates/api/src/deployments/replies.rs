//! Between the use cases and the wire.

mod cluster;

use jiff::Timestamp;
use slipway_contract::deployments::{
    DeploymentApproval, DeploymentApprovalStatus, DeploymentDetailReply, DeploymentGate, DeploymentNews,
    DeploymentPause, DeploymentPhase, DeploymentReply, DeploymentStep, DeploymentWait, DeploymentWave,
    DeploymentWhy, FailedRollback, PhaseName, RollbackStatusReply, StepResult, StepsReply, WaveState,
};
use slipway_domain::access::Environment;
use slipway_domain::approval::{Approval, ApprovalStatus};
use slipway_domain::id::RolloutId;
use slipway_domain::rollout::{
    Found, Outcome, Part, Phase, RollbackProgress, Stage, State, Status, Wait, Wave, Why,
};
use slipway_orchestrator::ports::store::{Rollout, RolloutNews, StepRow};
use slipway_orchestrator::rollouts::RolloutView;

use super::settings::{block, others};
use cluster::cluster;

/// A deployment in short.
pub(super) fn reply(rollout: &Rollout) -> DeploymentReply {
    shown(rollout, guessed(rollout))
}

fn shown(rollout: &Rollout, approval_status: DeploymentApprovalStatus) -> DeploymentReply {
    let (state, spec) = (&rollout.state, &rollout.state.spec);
    let done = state.clusters.values().filter(|one| one.stage == Stage::Done && !one.failed()).count();
    let lost = |stage| matches!(stage, Stage::Failed | Stage::GivenUp | Stage::RollbackFailed);
    let failed = state.clusters.values().filter(|one| lost(one.stage) || one.failed()).count();
    DeploymentReply {
        deployment_id: rollout.id.0,
        operator_name: spec.operator.to_string(),
        target_version: spec.version.to_string(),
        previous_version: rollout.previous_version.as_ref().map(ToString::to_string),
        strategy: spec.settings.strategy.kind().into(),
        status: state.status.into(),
        paused: state.paused.as_ref().map(|pause| DeploymentPause {
            since: pause.since,
            reason: pause.reason.clone(),
            automatic: pause.automatic,
        }),
        target_clusters: spec.targets.iter().map(|target| target.cluster.to_string()).collect(),
        initiated_by: rollout.starter.name.clone(),
        approval_status,
        started_at: rollout.created_at,
        first_changed_at: rollout.started_at,
        completed_at: rollout.ended_at.filter(|_| state.status.is_end()),
        estimated_completion_at: state.estimate(state.at),
        successful_clusters: done as u64,
        failed_clusters: failed as u64,
        success_rate: share(done, state.clusters.len()),
        progress: state.progress(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are not that many clusters")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// What people say, as far as the deployment alone tells: only production is asked about.
fn guessed(rollout: &Rollout) -> DeploymentApprovalStatus {
    let state = &rollout.state;
    let precious = state.spec.targets.iter().any(|target| target.environment == Environment::Production);
    match (state.status, precious) {
        (Status::Planning, _) => DeploymentApprovalStatus::Pending,
        (_, false) => DeploymentApprovalStatus::NotRequired,
        _ if rollout.emergency.is_some() => DeploymentApprovalStatus::Bypassed,
        _ if state.touched() => DeploymentApprovalStatus::Approved,
        _ => DeploymentApprovalStatus::Pending,
    }
}

/// What people say.
fn said(rollout: &Rollout, approvals: &[Approval]) -> DeploymentApprovalStatus {
    let any = |wanted| approvals.iter().any(|approval| approval.status == wanted);
    let order = [
        (ApprovalStatus::Pending, DeploymentApprovalStatus::Pending),
        (ApprovalStatus::Rejected, DeploymentApprovalStatus::Rejected),
        (ApprovalStatus::Expired, DeploymentApprovalStatus::Expired),
        (ApprovalStatus::Bypassed, DeploymentApprovalStatus::Bypassed),
        (ApprovalStatus::Approved, DeploymentApprovalStatus::Approved),
    ];
    let found = order.into_iter().find(|(status, _)| any(*status)).map(|(_, word)| word);
    // Before the first plan nobody knows who has to be asked.
    let unasked = rollout.state.asks == 0 && !rollout.state.status.is_end();
    found.unwrap_or(match (unasked, rollout.emergency.is_some()) {
        (true, _) => DeploymentApprovalStatus::Pending,
        (false, true) => DeploymentApprovalStatus::Bypassed,
        (false, false) => DeploymentApprovalStatus::NotRequired,
    })
}

/// A deployment with everything about it.
pub(super) fn detail(view: &RolloutView) -> DeploymentDetailReply {
    let (rollout, state) = (&view.rollout, &view.rollout.state);
    let settings = &state.spec.settings;
    let agreed = view.approvals.iter().filter(|one| one.status == ApprovalStatus::Approved);
    let agreed: Vec<_> = agreed.filter_map(Approval::last_decision).collect();
    let mut approvers: Vec<&str> = agreed.iter().map(|decision| decision.name.as_str()).collect();
    approvers.sort_unstable();
    approvers.dedup();
    let waves = state.waves.iter().enumerate();
    let order = state.waves.iter().flat_map(|wave| &wave.clusters);
    let mut names: Vec<_> = order.filter(|name| state.clusters.contains_key(*name)).collect();
    names.extend(state.clusters.keys());
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    let gates = settings.gates.iter().map(|gate| {
        let watch = state.gates.get(&gate.name);
        DeploymentGate {
            name: gate.name.clone(),
            passed: watch.is_some_and(|watch| watch.passed.is_some() && watch.failures == 0),
            consecutive_failures: watch.map_or(0, |watch| watch.failures),
            message: watch.and_then(|watch| watch.text.clone()),
        }
    });
    DeploymentDetailReply {
        deployment: shown(rollout, said(rollout, &view.approvals)),
        strategy_config: block(&settings.strategy),
        settings: others(settings),
        auto_rollback_enabled: settings.auto_rollback_enabled,
        phase: phase(state),
        waves: waves
            .map(|(index, one)| {
                let (progress, until) = wave_state(state, index);
                wave(index, one, progress, until)
            })
            .collect(),
        cluster_statuses: names.into_iter().filter_map(|name| cluster(state, name)).collect(),
        gates: gates.collect(),
        approvals: view.approvals.iter().map(approval).collect(),
        approved_by: (!approvers.is_empty()).then(|| approvers.join(", ")),
        approved_at: agreed.iter().map(|decision| decision.at).max(),
        emergency: rollout.emergency.clone(),
        plan_hash: state.plan.as_ref().map(ToString::to_string),
        why: why(rollout, &view.why),
        error_message: state.reason.clone().filter(|_| ended_badly(state.status)),
        rollback_reason: rollback_reason(state),
        rolled_back_at: rollout.ended_at.filter(|_| state.status == Status::RolledBack),
        replaced_by: state.replaced_by.map(|by| by.0),
    }
}

fn ended_badly(status: Status) -> bool {
    matches!(status, Status::Failed | Status::RolledBack | Status::Cancelled)
}

fn rollback_reason(state: &State) -> Option<String> {
    match &state.phase {
        Phase::Back(back) => Some(back.reason.clone()),
        _ => state.reason.clone().filter(|_| state.status == Status::RolledBack),
    }
}

fn phase(state: &State) -> DeploymentPhase {
    let (name, wave, until) = match &state.phase {
        Phase::Preflight => (PhaseName::Preflight, None, None),
        Phase::Consent => (PhaseName::Consent, None, None),
        Phase::Wave { index, part } => (PhaseName::Wave, Some(number(*index)), part_until(part)),
        Phase::CatchUp => (PhaseName::CatchUp, None, None),
        Phase::Back(_) => (PhaseName::Back, None, None),
        Phase::Cancelling { .. } => (PhaseName::Cancelling, None, None),
        Phase::Watching { until } => (PhaseName::Watching, None, Some(*until)),
        Phase::Aftercare { retire_at } => (PhaseName::Aftercare, None, *retire_at),
        Phase::Over => (PhaseName::Over, None, None),
    };
    DeploymentPhase { name, wave, since: state.since, until }
}

fn part_until(part: &Part) -> Option<Timestamp> {
    match part {
        Part::Soaking { until } | Part::Resting { until } => Some(*until),
        Part::Opening | Part::Walking => None,
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

fn wave_state(state: &State, index: usize) -> (WaveState, Option<Timestamp>) {
    let passed = index < state.passed;
    match &state.phase {
        Phase::Wave { index: now, part } if *now == index => {
            let word = match part {
                Part::Opening => WaveState::Opening,
                Part::Walking => WaveState::Changing,
                Part::Soaking { .. } => WaveState::Soaking,
                Part::Resting { .. } => WaveState::Resting,
            };
            (word, part_until(part))
        }
        Phase::Wave { index: now, .. } if index < *now => (WaveState::Passed, None),
        Phase::Wave { .. } | Phase::Preflight | Phase::Consent => (WaveState::Waiting, None),
        Phase::Watching { .. } | Phase::Aftercare { .. } | Phase::CatchUp => (WaveState::Passed, None),
        _ if passed || state.status == Status::Completed => (WaveState::Passed, None),
        _ => (WaveState::Ended, None),
    }
}

pub(super) fn wave(index: usize, wave: &Wave, state: WaveState, until: Option<Timestamp>) -> DeploymentWave {
    DeploymentWave {
        number: number(index),
        title: wave.title.clone(),
        kind: wave.kind.into(),
        state,
        clusters: wave.clusters.iter().map(ToString::to_string).collect(),
        at_once: u32::try_from(wave.at_once).unwrap_or(u32::MAX),
        soak: wave.soak.to_string(),
        until,
    }
}

fn approval(approval: &Approval) -> DeploymentApproval {
    DeploymentApproval {
        approval_id: approval.id.0,
        kind: approval.kind.into(),
        environment: approval.subject.environment.into(),
        status: approval.status.into(),
        waits_for: approval.waits_for().filter(|_| approval.status == ApprovalStatus::Pending),
        created_at: approval.created_at,
        expires_at: approval.expires_at,
    }
}

/// What a deployment waits for.
pub(super) fn why(rollout: &Rollout, why: &Why) -> DeploymentWhy {
    let wait = |cluster: Option<String>, wait: &Wait| DeploymentWait {
        cluster_name: cluster,
        what: wait.what.clone(),
        since: wait.since,
        until: wait.until,
        unblock: wait.unblock.clone(),
    };
    DeploymentWhy {
        deployment_id: rollout.id.0,
        status: rollout.state.status.into(),
        waits_for: why.rollout.as_ref().map(|one| wait(None, one)),
        ended: why.ended.clone(),
        clusters: why.clusters.iter().map(|(name, one)| wait(Some(name.to_string()), one)).collect(),
    }
}

pub(super) fn news(news: RolloutNews) -> DeploymentNews {
    DeploymentNews {
        number: news.number,
        at: news.at,
        kind: news.kind,
        cluster_name: news.cluster.map(|name| name.to_string()),
        text: news.text,
    }
}

pub(super) fn steps(rollout: RolloutId, rows: Vec<StepRow>) -> StepsReply {
    StepsReply { deployment_id: rollout.0, steps: rows.into_iter().map(step).collect() }
}

fn step(row: StepRow) -> DeploymentStep {
    let (result, message) = row.outcome.map(outcome).unzip();
    DeploymentStep {
        cluster_name: row.key.cluster.to_string(),
        kind: cluster::word(&row.key.kind),
        attempt: row.key.attempt,
        intended_at: row.intended_at,
        begun_at: row.begun_at,
        deadline: row.deadline,
        ended_at: row.ended_at,
        result,
        message: message.flatten(),
    }
}

fn outcome(outcome: Outcome) -> (StepResult, Option<String>) {
    match outcome {
        Outcome::Done(Found::Refused { reasons }) => (StepResult::Refused, Some(reasons.join("; "))),
        Outcome::Done(Found::Noted(text)) => (StepResult::Done, Some(text)),
        Outcome::Done(Found::Released(revision)) => (StepResult::Done, Some(revision.to_string())),
        Outcome::Done(Found::Nothing | Found::Fits { .. } | Found::Kept(_)) => (StepResult::Done, None),
        Outcome::Unreachable { reason } => (StepResult::Unreachable, Some(reason)),
        Outcome::Hiccup { reason } => (StepResult::Hiccup, Some(reason)),
        Outcome::Lost { reason } => (StepResult::Lost, Some(reason)),
        Outcome::Failed { reason } => (StepResult::Failed, Some(reason)),
    }
}

pub(super) fn rollback_status(rollout: &Rollout, progress: RollbackProgress) -> RollbackStatusReply {
    let names = |names: Vec<slipway_domain::name::Name>| names.iter().map(ToString::to_string).collect();
    let failed = progress.failed.into_iter();
    RollbackStatusReply {
        deployment_id: rollout.id.0,
        status: rollout.state.status.into(),
        rollback_reason: rollback_reason(&rollout.state),
        rolled_back: names(progress.done),
        rolling_back: names(progress.going),
        waiting: names(progress.waiting),
        failed: failed
            .map(|(name, message)| FailedRollback { cluster_name: name.to_string(), message })
            .collect(),
    }
}
