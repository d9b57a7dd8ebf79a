//! See `slipway_contract::crds`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use slipway_contract::crds::{
    APPROVE, ApproveCrd, CREATE, ClusterCrd, CrdChangeReply, CrdFinding, CrdHistory, CrdHistoryQuery,
    CrdList, CrdQuery, CrdReply, CrdRollback, CrdStatusQuery, CrdStatusReply, CrdSummary, CrdWaived,
    CrdWitness, CrdsQuery, CreateCrd, DEPRECATE, DeprecateCrd, HISTORY, LIST, SHOW, STATUS, VALIDATE,
    ValidateCrd, ValidateReply, ValidatedChange,
};
use slipway_domain::crd::{CrdApproval, CrdChange, CrdStatus, StoredCrd};
use slipway_domain::name::Name;
use slipway_domain::problem::Problems;
use slipway_domain::version::Version;
use slipway_http::{ApiError, Body, Caller, Path, Query};
use slipway_orchestrator::crds::{self, CrdChoice, CrdDetail, CrdOnCluster, CrdVerdict, NewSchema};
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::store::CrdFilter;

use crate::App;
use crate::routes::Routes;

/// Binds the endpoints of this resource.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes
        .add(&CREATE, create)
        .add(&LIST, list)
        .add(&SHOW, show)
        .add(&HISTORY, history)
        .add(&STATUS, status)
        .add(&VALIDATE, validate)
        .add(&APPROVE, approve)
        .add(&DEPRECATE, deprecate)
}

async fn create(
    State(app): State<App>,
    Caller(actor): Caller,
    Body(body): Body<CreateCrd>,
) -> Result<(StatusCode, Json<CrdReply>), ApiError> {
    let new = NewSchema {
        operator: body.operator_name,
        operator_version: body.operator_version,
        definition: body.schema_definition,
    };
    let detail = app.manager.create_crd(&actor, new).await?;
    Ok((StatusCode::CREATED, Json(reply(detail))))
}

async fn list(
    State(app): State<App>,
    Caller(actor): Caller,
    Query(query): Query<CrdsQuery>,
) -> Result<Json<CrdList>, ApiError> {
    let mut problems = Problems::new();
    let status = query.status.and_then(|status| problems.take("status", status.parse::<CrdStatus>()));
    let window = crate::page::window(query.limit, query.offset, &mut problems);
    let window = problems.or(window)?;
    // A name that cannot be one has no CRDs.
    let operator = query.operator_name.map(|name| name.replace('\0', "␀"));
    let filter = CrdFilter { operator, status };
    let page = app.manager.crds(&actor, &filter, window).await?;
    Ok(Json(CrdList { page: crate::page::info(&page), crds: page.items.into_iter().map(summary).collect() }))
}

async fn show(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
    Query(query): Query<CrdQuery>,
) -> Result<Json<CrdReply>, ApiError> {
    let choice = choice(name, query.operator_name, query.operator_version)?;
    Ok(Json(reply(app.manager.crd(&actor, &choice).await?)))
}

async fn history(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
    Query(query): Query<CrdHistoryQuery>,
) -> Result<Json<CrdHistory>, ApiError> {
    let window = Window::new(query.limit, query.offset)?;
    let choice = choice(name, query.operator_name, None)?;
    let page = app.manager.crd_history(&actor, &choice, window).await?;
    let info = crate::page::info(&page);
    Ok(Json(CrdHistory { schema_history: page.items.into_iter().map(change).collect(), page: info }))
}

async fn status(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
    Query(query): Query<CrdStatusQuery>,
) -> Result<Json<CrdStatusReply>, ApiError> {
    let choice = choice(name, query.operator_name, None)?;
    let report = app.manager.crd_status(&actor, &choice).await?;
    Ok(Json(CrdStatusReply {
        name: report.crd.name,
        operator_name: report.crd.operator.into(),
        operator_version: report.crd.operator_version.into(),
        clusters: report.clusters.into_iter().map(on_cluster).collect(),
    }))
}

async fn validate(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
    Body(body): Body<ValidateCrd>,
) -> Result<Json<ValidateReply>, ApiError> {
    let asked = crds::ValidateCrd {
        name,
        operator: body.operator_name,
        definition: body.new_schema_definition,
        operator_version: body.new_operator_version,
        kubernetes: body.kubernetes_version,
    };
    Ok(Json(verdict(&app.manager.validate_crd(&actor, asked).await?)))
}

async fn approve(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
    Body(body): Body<ApproveCrd>,
) -> Result<Json<CrdReply>, ApiError> {
    let choice = choice(name, body.operator_name, body.operator_version)?;
    let asked = crds::ApproveCrd { choice, notes: body.notes };
    Ok(Json(reply(app.manager.approve_crd(&actor, asked).await?)))
}

async fn deprecate(
    State(app): State<App>,
    Caller(actor): Caller,
    Path(name): Path<String>,
    Body(body): Body<DeprecateCrd>,
) -> Result<Json<CrdReply>, ApiError> {
    let choice = choice(name, body.operator_name, None)?;
    let asked = crds::DeprecateCrd { choice, reason: body.reason, migration_guide: body.migration_guide };
    Ok(Json(reply(app.manager.deprecate_crd(&actor, asked).await?)))
}

fn choice(
    name: String,
    operator: Option<String>,
    operator_version: Option<String>,
) -> Result<CrdChoice, Problems> {
    let mut problems = Problems::new();
    let operator = operator.and_then(|text| problems.take("operatorName", text.parse::<Name>()));
    let operator_version =
        operator_version.and_then(|text| problems.take("operatorVersion", text.parse::<Version>()));
    problems.or(CrdChoice { name, operator, operator_version })
}

fn reply(detail: CrdDetail) -> CrdReply {
    CrdReply {
        summary: summary(detail.crd),
        schema_definition: detail.definition,
        schema_history: detail.history.into_iter().map(change).collect(),
    }
}

fn summary(crd: StoredCrd) -> CrdSummary {
    let status = crd.status().to_string();
    let approval_status = crd.approval.as_str().to_owned();
    let (approved_by, approved_at) = match crd.approval {
        CrdApproval::Approved { by, at } => (Some(by), Some(at)),
        CrdApproval::NotRequired | CrdApproval::Pending => (None, None),
    };
    let (deprecated_at, deprecation_reason, migration_guide) = match crd.deprecation {
        Some(deprecation) => (Some(deprecation.at), Some(deprecation.reason), deprecation.migration_guide),
        None => (None, None, None),
    };
    CrdSummary {
        crd_id: crd.id.0,
        name: crd.name,
        group: crd.group,
        versions: crd.versions,
        scope: crd.scope,
        operator_name: crd.operator.into(),
        operator_version: crd.operator_version.into(),
        schema_version: crd.schema_version.to_string(),
        content_hash: crd.content.to_string(),
        status,
        approval_status,
        approved_by,
        approved_at,
        deprecated_at,
        deprecation_reason,
        migration_guide,
        removed_in: crd.removed_in.map(Into::into),
        created_at: crd.recorded_at,
    }
}

fn change(change: CrdChange) -> CrdChangeReply {
    CrdChangeReply {
        change_type: change.change_type.to_string(),
        field_path: change.field_path,
        previous_type: change.previous_type,
        new_type: change.new_type,
        is_breaking: change.is_breaking,
        description: change.description,
        finding: change.finding,
        severity: change.severity,
        operator_version: change.operator_version.into(),
        changed_at: change.changed_at,
    }
}

fn verdict(verdict: &CrdVerdict) -> ValidateReply {
    let lines = |changes: &[CrdChange]| changes.iter().map(validated).collect();
    let report = &verdict.report;
    let findings = report.findings.iter().map(|finding| CrdFinding {
        id: finding.id.to_owned(),
        severity: finding.severity.to_string(),
        version: finding.version.clone(),
        path: finding.path.clone(),
        old: finding.old.clone(),
        new: finding.new.clone(),
        message: finding.message.clone(),
        remedy: finding.remedy.clone(),
        hits: finding.hits.iter().map(|hit| hit.as_str().to_owned()).collect(),
        witness: finding.witness.as_ref().map(|witness| CrdWitness {
            object: witness.object.clone(),
            write: word(&witness.write),
            outcome: word(&witness.outcome),
            written_as: witness.written_as.clone(),
            reasons: witness.reasons.clone(),
        }),
        witness_missing_reason: finding.witness_missing_reason.clone(),
        waived_by: finding.waived_by.as_ref().map(|waived| CrdWaived {
            who: waived.who.clone(),
            reason: waived.reason.clone(),
            expires: waived.expires,
        }),
    });
    ValidateReply {
        is_compatible: verdict.is_compatible(),
        breaking_changes: lines(&verdict.breaking),
        non_breaking_changes: lines(&verdict.non_breaking),
        requires_approval: !verdict.is_compatible(),
        validated_at: verdict.validated_at,
        compared_with: verdict.against.operator_version.to_string(),
        findings: findings.collect(),
        rollback: CrdRollback {
            verdict: word(&report.rollback.verdict),
            reasons: report.rollback.reasons.clone(),
        },
    }
}

fn validated(change: &CrdChange) -> ValidatedChange {
    ValidatedChange {
        change_type: change.change_type.to_string(),
        field_path: change.field_path.clone(),
        description: change.description.clone(),
        severity: change.severity.clone(),
    }
}

/// The word that a report in JSON has for a value.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

fn on_cluster(cluster: CrdOnCluster) -> ClusterCrd {
    let (severity, differences) = match cluster.drift {
        Some(drift) => (Some(drift.severity.to_string()), drift.differences),
        None => (None, Vec::new()),
    };
    let (content_hash, since, stored_versions) = match cluster.found {
        Some(found) => (Some(found.content.to_string()), Some(found.since), found.stored_versions),
        None => (None, None, Vec::new()),
    };
    ClusterCrd {
        cluster_name: cluster.name,
        state: cluster.state.as_str().to_owned(),
        expected_version: cluster.expected.into(),
        installed: cluster.installed,
        runs: cluster.runs.into_iter().map(Into::into).collect(),
        severity,
        differences,
        stored_versions,
        content_hash,
        since,
        checked_at: cluster.looked_at,
        message: cluster.failure,
    }
}
