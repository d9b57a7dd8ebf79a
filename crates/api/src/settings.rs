//! See `slipway_contract::settings`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use slipway_contract::settings::{
    APPLY, ApplyOutcome, ApplyReply, ApplyRequest, ApplyResult, Document, EXPORT, ExportReply,
    FieldDifference, KindQuery, LIST, Metadata, REMOVE, SHOW, SettingList, SettingReply,
};
use slipway_domain::document::{API_VERSION, Kind};
use slipway_domain::problem::Problems;
use slipway_http::{ApiError, Body, Caller, Path, Query};
use slipway_orchestrator::declarative::{Applied, Mode, Outcome};
use slipway_orchestrator::ports::store::StoredSetting;
use slipway_orchestrator::{Code, Error};

use crate::App;
use crate::routes::Routes;

/// Binds the endpoints of this resource.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add(&APPLY, apply).add(&EXPORT, export).add(&LIST, list).add(&SHOW, show).add(&REMOVE, remove)
}

async fn apply(
    State(app): State<App>,
    Caller(actor): Caller,
    Body(body): Body<ApplyRequest>,
) -> Result<Json<ApplyReply>, ApiError> {
    let mode = if body.dry_run { Mode::DryRun } else { Mode::Apply };
    let applied = app.manager.apply(&actor, &body.documents, mode).await?;
    let changed = applied.iter().filter(|one| one.outcome != Outcome::Unchanged).count();
    Ok(Json(ApplyReply {
        dry_run: body.dry_run,
        changed: changed as u64,
        results: applied.into_iter().map(result).collect(),
    }))
}

async fn export(
    State(app): State<App>,
    Caller(actor): Caller,
    Query(query): Query<KindQuery>,
) -> Result<Json<ExportReply>, ApiError> {
    let documents = app.manager.export(&actor, kind(query)?).await?;
    let documents = documents.into_iter().map(|document| Document {
        api_version: API_VERSION.to_owned(),
        kind: document.kind.to_string(),
        metadata: Metadata { name: document.name },
        spec: document.spec,
    });
    Ok(Json(ExportReply { documents: documents.collect() }))
}

async fn list(
    State(app): State<App>,
    Caller(actor): Caller,
    Query(query): Query<KindQuery>,
) -> Result<Json<SettingList>, ApiError> {
    let settings = app.manager.settings_of(&actor, kind(query)?).await?;
    Ok(Json(SettingList { settings: settings.into_iter().map(setting).collect() }))
}

async fn show(
    State(app): State<App>,
    Caller(actor): Caller,
    Path((kind, name)): Path<(String, String)>,
) -> Result<Json<SettingReply>, ApiError> {
    Ok(Json(setting(app.manager.setting(&actor, named(&kind, &name)?, &name).await?)))
}

async fn remove(
    State(app): State<App>,
    Caller(actor): Caller,
    Path((kind, name)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    app.manager.remove_setting(&actor, named(&kind, &name)?, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn kind(query: KindQuery) -> Result<Option<Kind>, Problems> {
    let Some(kind) = query.kind else { return Ok(None) };
    kind.parse().map(Some).map_err(|error: String| Problems::one("kind", error))
}

/// A kind in a path; what is none names nothing that exists.
fn named(kind: &str, name: &str) -> Result<Kind, Error> {
    kind.parse().map_err(|_| Error::new(Code::NotFound, format!("there is no {kind} {name}")))
}

fn result(applied: Applied) -> ApplyResult {
    let differences = applied.differences.into_iter().map(|one| FieldDifference {
        path: one.path,
        before: one.before,
        after: one.after,
    });
    ApplyResult {
        kind: applied.kind.to_string(),
        name: applied.name,
        outcome: match applied.outcome {
            Outcome::Created => ApplyOutcome::Created,
            Outcome::Changed => ApplyOutcome::Changed,
            Outcome::Unchanged => ApplyOutcome::Unchanged,
        },
        differences: differences.collect(),
    }
}

fn setting(stored: StoredSetting) -> SettingReply {
    SettingReply {
        kind: stored.setting.kind().to_string(),
        spec: stored.setting.spec(),
        name: stored.name,
        updated_at: stored.updated_at,
    }
}
