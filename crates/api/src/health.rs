//! See `slipway_contract::health`.

mod replies;

use axum::Json;
use axum::extract::State;
use slipway_contract::health::{
    BaselineReply, CLUSTER_OPERATOR_HEALTH, ClusterOperatorHealth, FLEET_HEALTH, FleetHealthReply,
    HEALTH_HISTORY, HealthHistory, HealthQuery, HistoryQuery, OPERATOR_HEALTH, OperatorHealthReply,
    TAKE_BASELINE,
};
use slipway_contract::page::PageQuery;
use slipway_http::{ApiError, Caller, Path, Query};
use slipway_orchestrator::page::Window;

use crate::App;
use crate::page::info;
use crate::routes::Routes;
use replies::{baseline, cluster, fleet_operator, operator, sample};

/// Binds the endpoints of this resource.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add(&OPERATOR_HEALTH, operator_health)
        .add(&CLUSTER_OPERATOR_HEALTH, cluster_operator_health)
        .add(&HEALTH_HISTORY, history)
        .add(&TAKE_BASELINE, take_baseline)
        .add(&FLEET_HEALTH, fleet_health)
}

async fn operator_health(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
    Query(query): Query<HealthQuery>,
) -> Result<Json<OperatorHealthReply>, ApiError> {
    let view = app.manager.operator_health(&actor, &name, query.fresh.unwrap_or_default()).await?;
    Ok(Json(operator(view)))
}

async fn cluster_operator_health(
    State(app): State<App>,
    Caller(actor): Caller,
    Path((cluster_name, operator_name)): Path<(String, String)>,
    Query(query): Query<HealthQuery>,
) -> Result<Json<ClusterOperatorHealth>, ApiError> {
    let fresh = query.fresh.unwrap_or_default();
    let view = app.manager.operator_health_on(&actor, &cluster_name, &operator_name, fresh).await?;
    Ok(Json(cluster(view)))
}

async fn history(
    State(app): State<App>,
    Caller(actor): Caller,
    Path((cluster_name, operator_name)): Path<(String, String)>,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<HealthHistory>, ApiError> {
    let window = Window::new(query.limit, query.offset)?;
    let changes = query.changes.unwrap_or_default();
    let found =
        app.manager.operator_health_history(&actor, &cluster_name, &operator_name, changes, window).await?;
    let page = info(&found);
    Ok(Json(HealthHistory { samples: found.items.iter().map(sample).collect(), page }))
}

async fn take_baseline(
    State(app): State<App>,
    Caller(actor): Caller,
    Path((cluster_name, operator_name)): Path<(String, String)>,
) -> Result<Json<BaselineReply>, ApiError> {
    let taken = app.manager.take_health_baseline(&actor, &cluster_name, &operator_name).await?;
    Ok(Json(baseline(&taken)))
}

async fn fleet_health(
    State(app): State<App>,
    Caller(actor): Caller,
    Query(query): Query<PageQuery>,
) -> Result<Json<FleetHealthReply>, ApiError> {
    let found = app.manager.fleet_health(&actor, Window::new(query.limit, query.offset)?).await?;
    let page = info(&found);
    Ok(Json(FleetHealthReply { operators: found.items.into_iter().map(fleet_operator).collect(), page }))
}
