//! See `slipway_contract::deployments`.

mod preflight;
mod replies;
mod settings;

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use jiff::SignedDuration;
use serde_json::Value;
use slipway_contract::deployments::{
    CANCEL, CancelReply, CancelRequest, DRY_RUN, DeploymentDetailReply, DeploymentList, DeploymentReply,
    DeploymentWhy, DeploymentsQuery, DryRunReply, EXTEND, ExtendRequest, LIST, NEWS, NewsQuery, NewsReply,
    PAUSE, PREFLIGHT, PROMOTE, PauseRequest, PreflightsReply, REMOVE, RESUME, RETRY, ROLLBACK,
    ROLLBACK_STATUS, RetryRequest, RollbackReply, RollbackRequest, RollbackStatusReply, SHOW, SKIP, START,
    STEPS, SkipRequest, StepsReply, UNINSTALL, UNMANAGE, UninstallReply, UninstallRequest, WHY,
};
use slipway_domain::access::Actor;
use slipway_domain::approval::Note;
use slipway_domain::name::Name;
use slipway_domain::problem::Problems;
use slipway_domain::rollout::{Command, Status};
use slipway_http::{ApiError, Body, Caller, Path, Query};
use slipway_orchestrator::ports::fleet::Removal;
use slipway_orchestrator::ports::store::{Rollout, RolloutFilter};

use crate::App;
use crate::page::{info, window};
use crate::routes::Routes;
use replies::{detail, news, reply, rollback_status, steps, why};

/// So many pieces of news are given at once.
const NEWS_AT_ONCE: usize = 1000;
/// The longest that a soak is made longer at once.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 30);

/// Binds the endpoints of this resource.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add(&START, start)
        .add(&DRY_RUN, dry_run)
        .add(&LIST, list)
        .add(&SHOW, show)
        .add(&WHY, show_why)
        .add(&NEWS, list_news)
        .add(&PREFLIGHT, show_preflight)
        .add(&STEPS, list_steps)
        .add(&ROLLBACK_STATUS, show_rollback)
        .add(&ROLLBACK, roll_back)
        .add(&REMOVE, remove)
        .add(&CANCEL, cancel)
        .add(&PAUSE, pause)
        .add(&RESUME, resume)
        .add(&RETRY, retry)
        .add(&SKIP, skip)
        .add(&PROMOTE, promote)
        .add(&EXTEND, extend)
        .add(&UNINSTALL, uninstall)
        .add(&UNMANAGE, unmanage)
}

/// The longest name of whoever started something.
const LONGEST_NAME: usize = 255;

/// What is answered to a wish that the engine follows.
type Accepted<T> = Result<(StatusCode, Json<T>), ApiError>;

fn accepted<T>(body: T) -> (StatusCode, Json<T>) {
    (StatusCode::ACCEPTED, Json(body))
}

async fn start(
    State(app): State<App>,
    Caller(actor): Caller,
    Body(request): Body<Value>,
) -> Accepted<DeploymentReply> {
    let rollout = app.manager.start_rollout(&actor, &request).await?;
    Ok(accepted(reply(&rollout)))
}

async fn dry_run(
    State(app): State<App>,
    Caller(actor): Caller,
    Body(request): Body<Value>,
) -> Result<Json<DryRunReply>, ApiError> {
    Ok(Json(preflight::dry_run(app.manager.dry_run(&actor, &request).await?)))
}

async fn list(
    State(app): State<App>,
    Caller(actor): Caller,
    Query(query): Query<DeploymentsQuery>,
) -> Result<Json<DeploymentList>, ApiError> {
    let mut problems = Problems::new();
    let window = window(query.limit, query.offset, &mut problems);
    let mut named = |path: &str, text: Option<String>| {
        problems.take(path, text.map(|text| text.parse::<Name>()).transpose()).flatten().map(String::from)
    };
    let operator = named("operatorName", query.operator_name);
    let cluster = named("cluster", query.cluster);
    let by = query.initiated_by.as_ref();
    if by.is_some_and(|by| by.chars().count() > LONGEST_NAME || by.chars().any(char::is_control)) {
        problems.add(
            "initiatedBy",
            format!("has to be at most {LONGEST_NAME} characters, none of them for control"),
        );
    }
    problems.or(())?;
    let filter = RolloutFilter {
        status: query.status.map(Into::into),
        operator,
        cluster,
        strategy: query.strategy.map(Into::into),
        environment: query.environment.map(Into::into),
        active: query.active,
        started_by: query.initiated_by,
    };
    let found = app.manager.rollouts(&actor, &filter, window).await?;
    let page = info(&found);
    Ok(Json(DeploymentList { deployments: found.items.iter().map(reply).collect(), page }))
}

async fn show(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
) -> Result<Json<DeploymentDetailReply>, ApiError> {
    Ok(Json(detail(&app.manager.rollout(&actor, &id).await?)))
}

async fn show_why(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
) -> Result<Json<DeploymentWhy>, ApiError> {
    let (rollout, found) = app.manager.rollout_why(&actor, &id).await?;
    Ok(Json(why(&rollout, &found)))
}

async fn list_news(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
    Query(query): Query<NewsQuery>,
) -> Result<Json<NewsReply>, ApiError> {
    let after = query.after.unwrap_or(0);
    if after < 0 {
        return Err(Problems::one("after", "has to be 0 or more").into());
    }
    let found = app.manager.rollout_news(&actor, &id, after).await?;
    let (rollout, _) = app.manager.rollback_progress(&actor, &id).await?;
    let has_more = found.len() >= NEWS_AT_ONCE;
    Ok(Json(NewsReply {
        deployment_id: rollout.id.0,
        status: rollout.state.status.into(),
        news: found.into_iter().map(news).collect(),
        has_more,
    }))
}

async fn show_preflight(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
) -> Result<Json<PreflightsReply>, ApiError> {
    let (rollout, found) = app.manager.rollout_preflights(&actor, &id).await?;
    Ok(Json(preflight::all(rollout.id, found)))
}

async fn list_steps(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
) -> Result<Json<StepsReply>, ApiError> {
    let found = app.manager.rollout_steps(&actor, &id).await?;
    let (rollout, _) = app.manager.rollback_progress(&actor, &id).await?;
    Ok(Json(steps(rollout.id, found)))
}

async fn show_rollback(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
) -> Result<Json<RollbackStatusReply>, ApiError> {
    let (rollout, progress) = app.manager.rollback_progress(&actor, &id).await?;
    Ok(Json(rollback_status(&rollout, progress.unwrap_or_default())))
}

async fn roll_back(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
    Body(request): Body<RollbackRequest>,
) -> Accepted<RollbackReply> {
    let mut problems = Problems::new();
    let reason = problems.take("reason", request.reason.parse::<Note>());
    let clusters = names(request.target_clusters.as_deref(), "targetClusters", &mut problems);
    let Some(reason) = reason else { return Err(problems.into()) };
    problems.or(())?;
    let reason = reason.as_str().to_owned();
    let command = Command::RollBack {
        reason: reason.clone(),
        clusters: clusters.clone(),
        down_migrate: request.down_migrate.unwrap_or_default(),
    };
    let rollout = app.manager.command_rollout(&actor, &id, command).await?;
    let state = &rollout.state;
    let touched = state.clusters.iter().filter(|(_, cluster)| cluster.touched.is_some());
    let targets = clusters.unwrap_or_else(|| touched.map(|(name, _)| name.clone()).collect());
    let back = state.status == Status::RolledBack;
    Ok(accepted(RollbackReply {
        deployment_id: rollout.id.0,
        status: if back { Status::RolledBack } else { Status::RollingBack }.into(),
        rollback_reason: reason,
        target_clusters: targets.iter().map(ToString::to_string).collect(),
        rolled_back_at: rollout.ended_at.filter(|_| back),
    }))
}

async fn remove(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
) -> Accepted<CancelReply> {
    Ok(accepted(cancelled(&app, &actor, &id, None).await?))
}

async fn cancel(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
    Body(request): Body<CancelRequest>,
) -> Accepted<CancelReply> {
    Ok(accepted(cancelled(&app, &actor, &id, request.reason).await?))
}

async fn cancelled(
    app: &App,
    actor: &Actor,
    id: &str,
    reason: Option<String>,
) -> Result<CancelReply, ApiError> {
    let reason = because(reason, || format!("{} cancelled it", actor.name))?;
    let rollout = app.manager.command_rollout(actor, id, Command::Cancel { reason }).await?;
    let moving = rollout.state.clusters.iter().filter(|(_, cluster)| cluster.stage.is_moving());
    let finishing = moving.map(|(name, _)| name.to_string()).collect();
    Ok(CancelReply { deployment_id: rollout.id.0, status: Status::Cancelled.into(), finishing })
}

async fn pause(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
    Body(request): Body<PauseRequest>,
) -> Accepted<DeploymentReply> {
    let reason = because(request.reason, || format!("{} paused it", actor.name))?;
    commanded(&app, &actor, &id, Command::Pause { reason }).await
}

async fn resume(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
) -> Accepted<DeploymentReply> {
    commanded(&app, &actor, &id, Command::Resume).await
}

async fn retry(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
    Body(request): Body<RetryRequest>,
) -> Accepted<DeploymentReply> {
    let mut problems = Problems::new();
    let clusters = names(request.clusters.as_deref(), "clusters", &mut problems);
    problems.or(())?;
    commanded(&app, &actor, &id, Command::Retry { clusters }).await
}

async fn skip(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
    Body(request): Body<SkipRequest>,
) -> Accepted<DeploymentReply> {
    let cluster: Name = request.cluster.parse().map_err(|bad| Problems::one("cluster", bad))?;
    commanded(&app, &actor, &id, Command::Skip { cluster }).await
}

async fn promote(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
) -> Accepted<DeploymentReply> {
    commanded(&app, &actor, &id, Command::Promote).await
}

async fn extend(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(id): Path<String>,
    Body(request): Body<ExtendRequest>,
) -> Accepted<DeploymentReply> {
    let by = request.by.parse::<SignedDuration>().ok();
    let Some(by) = by.filter(|by| *by > SignedDuration::ZERO && *by <= LONGEST) else {
        let message = "has to be a duration above zero and up to 30 days, such as PT10M";
        return Err(Problems::one("by", message).into());
    };
    commanded(&app, &actor, &id, Command::ExtendSoak { by }).await
}

async fn uninstall(
    State(app): State<App>,
    Caller(actor): Caller,
    Path((operator, cluster)): Path<(String, String)>,
    Body(request): Body<UninstallRequest>,
) -> Result<Json<UninstallReply>, ApiError> {
    let removal = Removal { with_crds: request.with_crds };
    let left = app.manager.uninstall_operator(&actor, &operator, &cluster, removal).await?;
    Ok(Json(UninstallReply { operator_name: operator, cluster_name: cluster, left }))
}

async fn unmanage(
    State(app): State<App>,
    Caller(actor): Caller,
    Path((operator, cluster)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    app.manager.unmanage_operator(&actor, &operator, &cluster).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Hands a command on. The reply is as it was before: the next decision follows it.
async fn commanded(app: &App, actor: &Actor, id: &str, command: Command) -> Accepted<DeploymentReply> {
    let rollout: Rollout = app.manager.command_rollout(actor, id, command).await?;
    Ok(accepted(reply(&rollout)))
}

/// A reason that somebody gave, or what is said where nobody did.
fn because(given: Option<String>, otherwise: impl FnOnce() -> String) -> Result<String, ApiError> {
    match given {
        None => Ok(otherwise()),
        Some(given) => match given.parse::<Note>() {
            Ok(note) => Ok(note.as_str().to_owned()),
            Err(bad) => Err(Problems::one("reason", bad).into()),
        },
    }
}

/// The clusters that were named, each problem with its place; nothing means all that there are.
fn names(given: Option<&[String]>, path: &str, problems: &mut Problems) -> Option<BTreeSet<Name>> {
    let given = given?;
    if given.is_empty() {
        problems.add(path, "is empty; name at least one cluster, or leave it out for all");
    }
    let read =
        |(index, name): (usize, &String)| problems.take(&format!("{path}[{index}]"), name.parse::<Name>());
    Some(given.iter().enumerate().filter_map(read).collect())
}
