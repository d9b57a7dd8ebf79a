//! See `slipway_contract::approvals`.

use axum::Json;
use axum::extract::State;
use slipway_contract::approvals::{
    APPROVE, Approval, ApprovalDecision, ApprovalLevel, ApprovalList, ApprovalsQuery, ApproveReply,
    ApproveRequest, BREAK_GLASS, BreakGlassReply, BreakGlassRequest, LIST, REJECT, RejectReply,
    RejectRequest, SHOW,
};
use slipway_domain::access::Actor;
use slipway_domain::approval as domain;
use slipway_domain::name::Name;
use slipway_domain::problem::Problems;
use slipway_http::{ApiError, Body, Caller, Path, Query};
use slipway_orchestrator::approvals::{Approve, BreakGlass, Reject, Wanted, approval_id};
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::store::ApprovalFilter;
use slipway_orchestrator::{Code, Error, Manager};

use crate::App;
use crate::page::info;
use crate::routes::Routes;

/// Binds the endpoints of this resource.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add(&LIST, list)
        .add(&SHOW, show)
        .add(&APPROVE, approve)
        .add(&REJECT, reject)
        .add(&BREAK_GLASS, break_glass)
}

async fn list(
    State(app): State<App>,
    Caller(actor): Caller,
    Query(query): Query<ApprovalsQuery>,
) -> Result<Json<ApprovalList>, ApiError> {
    let window = Window::new(query.limit, query.offset)?;
    let operator = query.operator_name.map(|name| name.parse::<Name>()).transpose();
    let operator = operator.map_err(|bad| Problems::one("operatorName", bad))?;
    let wanted = Wanted {
        filter: ApprovalFilter {
            status: query.status.unwrap_or_default().status(),
            kind: query.kind.map(Into::into),
            environment: query.environment.map(Into::into),
            operator: operator.map(Into::into),
        },
        mine: query.mine.unwrap_or_default(),
    };
    let page = app.manager.approvals(&actor, &wanted, window).await?;
    let part = info(&page);
    let approvals = page.items.iter().map(|approval| shown(&app.manager, &actor, approval)).collect();
    Ok(Json(ApprovalList { approvals, page: part }))
}

async fn show(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
) -> Result<Json<Approval>, ApiError> {
    let approval = app.manager.approval(&actor, approval_id(&id)?).await?;
    Ok(Json(shown(&app.manager, &actor, &approval)))
}

async fn approve(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
    Body(request): Body<ApproveRequest>,
) -> Result<Json<ApproveReply>, ApiError> {
    let input = Approve { notes: request.notes, plan: request.plan_hash };
    let approval = app.manager.approve(&actor, approval_id(&id)?, input).await?;
    let decision = decided(&approval)?;
    Ok(Json(ApproveReply {
        approval_id: approval.id.0,
        status: approval.status.into(),
        approved_by: decision.name.clone(),
        approved_at: decision.at,
    }))
}

async fn reject(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
    Body(request): Body<RejectRequest>,
) -> Result<Json<RejectReply>, ApiError> {
    let input = Reject { reason: request.reason, plan: request.plan_hash };
    let approval = app.manager.reject(&actor, approval_id(&id)?, input).await?;
    let decision = decided(&approval)?;
    Ok(Json(RejectReply {
        approval_id: approval.id.0,
        status: approval.status.into(),
        rejected_by: decision.name.clone(),
        rejected_at: decision.at,
        reason: decision.note.clone().map(Into::into).unwrap_or_default(),
    }))
}

async fn break_glass(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
    Body(request): Body<BreakGlassRequest>,
) -> Result<Json<BreakGlassReply>, ApiError> {
    let input = BreakGlass { reason: request.reason };
    let approval = app.manager.break_glass(&actor, approval_id(&id)?, input).await?;
    let decision = decided(&approval)?;
    Ok(Json(BreakGlassReply {
        approval_id: approval.id.0,
        status: approval.status.into(),
        bypassed_by: decision.name.clone(),
        bypassed_at: decision.at,
        reason: decision.note.clone().map(Into::into).unwrap_or_default(),
    }))
}

fn decided(approval: &domain::Approval) -> Result<&domain::Decision, Error> {
    approval
        .last_decision()
        .ok_or_else(|| Error::new(Code::InternalError, "a decision was taken and is not there"))
}

fn shown(manager: &Manager, actor: &Actor, approval: &domain::Approval) -> Approval {
    let waits = approval.status == domain::ApprovalStatus::Pending;
    Approval {
        approval_id: approval.id.0,
        kind: approval.kind.into(),
        deployment_id: approval.subject.rollout.0,
        operator_name: approval.subject.operator.to_string(),
        target_version: approval.subject.target_version.to_string(),
        environment: approval.subject.environment.into(),
        status: approval.status.into(),
        because: approval.because.clone(),
        initiated_by: approval.starter.name.clone(),
        plan_hash: approval.subject.plan.to_string(),
        four_eyes: approval.four_eyes,
        levels: approval.levels.iter().enumerate().map(|(index, one)| level(approval, index, one)).collect(),
        waits_for: approval.waits_for().filter(|_| waits),
        can_decide: manager.can_decide(actor, approval),
        decisions: approval.decisions.iter().map(decision).collect(),
        created_at: approval.created_at,
        expires_at: approval.expires_at,
        ended_at: approval.ended_at,
        lapsed_because: approval.lapsed_because.clone(),
    }
}

fn level(approval: &domain::Approval, index: usize, level: &domain::Level) -> ApprovalLevel {
    ApprovalLevel {
        by: level.by.iter().map(ToString::to_string).collect(),
        quorum: level.quorum,
        agreed: u32::try_from(approval.agreed(index)).unwrap_or(u32::MAX),
    }
}

fn decision(decision: &domain::Decision) -> ApprovalDecision {
    ApprovalDecision {
        by: decision.name.clone(),
        verdict: decision.verdict.into(),
        level: u32::try_from(decision.level + 1).unwrap_or(u32::MAX),
        notes: decision.note.clone().map(Into::into),
        at: decision.at,
    }
}
