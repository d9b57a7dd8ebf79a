//! See `slipway_contract::operators`.

mod replies;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use slipway_contract::operators::{
    ADOPT, AdoptRelease, DISCOVER, DeployedCluster, INSTALLED, InstallationsReply, LIST, OperatorDetailReply,
    OperatorReply, OperatorsQuery, OperatorsReply, PROFILE, ProfileReply, REFRESH, REGISTER, REMOVE,
    RegisterOperator, SHOW, UPDATE, UpdateOperator, VERSIONS, VersionsReply,
};
use slipway_domain::problem::Problems;
use slipway_http::{ApiError, Body, Caller, IfMatch, Path, Query, Tagged};
use slipway_orchestrator::ports::store::OperatorFilter;

use crate::App;
use crate::page::{info, window};
use crate::routes::Routes;
use replies::{change, deployed, detail, installations, new_operator, profile, reply, versions};

/// Binds the endpoints of this resource.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add(&REGISTER, register)
        .add(&LIST, list)
        .add(&SHOW, show)
        .add(&UPDATE, update)
        .add(&REMOVE, remove)
        .add(&VERSIONS, list_versions)
        .add(&REFRESH, refresh)
        .add(&PROFILE, show_profile)
        .add(&ADOPT, adopt)
        .add(&INSTALLED, installed)
        .add(&DISCOVER, discover)
}

async fn register(
    State(app): State<App>,
    Caller(actor): Caller,
    Body(asked): Body<RegisterOperator>,
) -> Result<(StatusCode, Json<OperatorReply>), ApiError> {
    let operator = app.manager.register_operator(&actor, new_operator(asked)?).await?;
    Ok((StatusCode::CREATED, Json(reply(&operator))))
}

async fn list(
    State(app): State<App>,
    Caller(actor): Caller,
    Query(query): Query<OperatorsQuery>,
) -> Result<Json<OperatorsReply>, ApiError> {
    let mut problems = Problems::new();
    let window = window(query.limit, query.offset, &mut problems);
    let mut filter = OperatorFilter {
        namespace: query.namespace,
        has_update: query.has_update,
        ..OperatorFilter::default()
    };
    for label in query.label.iter().flat_map(|labels| labels.split(',')) {
        match label.split_once('=') {
            Some((key, value)) => filter.labels.push((key.to_owned(), value.to_owned())),
            None => problems.add("label", "has to be key=value, several with commas between them"),
        }
    }
    problems.or(())?;
    let found = app.manager.operators(&actor, &filter, window).await?;
    let page = info(&found);
    Ok(Json(OperatorsReply { operators: found.items.iter().map(reply).collect(), page }))
}

async fn show(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
) -> Result<Tagged<Json<OperatorDetailReply>>, ApiError> {
    let found = app.manager.operator(&actor, &name).await?;
    Ok(Tagged(found.operator.revision, Json(detail(&found))))
}

async fn update(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
    IfMatch(revision): IfMatch,
    Body(asked): Body<UpdateOperator>,
) -> Result<Tagged<Json<OperatorDetailReply>>, ApiError> {
    app.manager.change_operator(&actor, &name, change(asked, revision)?).await?;
    let found = app.manager.operator(&actor, &name).await?;
    Ok(Tagged(found.operator.revision, Json(detail(&found))))
}

async fn remove(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
) -> Result<StatusCode, ApiError> {
    app.manager.remove_operator(&actor, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list_versions(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
) -> Result<Json<VersionsReply>, ApiError> {
    Ok(Json(versions(&app.manager.operator_versions(&actor, &name).await?)))
}

async fn refresh(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
) -> Result<Json<VersionsReply>, ApiError> {
    Ok(Json(versions(&app.manager.refresh_operator(&actor, &name).await?)))
}

async fn show_profile(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
) -> Result<Json<ProfileReply>, ApiError> {
    let (operator, found, origin) = app.manager.operator_profile(&actor, &name).await?;
    Ok(Json(profile(&operator, &found, origin)))
}

async fn adopt(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
    Body(asked): Body<AdoptRelease>,
) -> Result<Json<DeployedCluster>, ApiError> {
    let release = asked.release.as_deref();
    let adopted = app.manager.adopt(&actor, &name, &asked.cluster_name, release).await?;
    Ok(Json(deployed(&adopted)))
}

async fn installed(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
) -> Result<Json<InstallationsReply>, ApiError> {
    let found = app.manager.cluster_installations(&actor, &name).await?;
    Ok(Json(installations(name, &found)))
}

async fn discover(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
) -> Result<Json<InstallationsReply>, ApiError> {
    let found = app.manager.discover_cluster(&actor, &name).await?;
    Ok(Json(installations(name, &found)))
}
