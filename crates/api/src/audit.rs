//! See `slipway_contract::audit`.

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures::TryStreamExt as _;
use http::header::CONTENT_TYPE;
use jiff::Timestamp;
use slipway_contract::audit::{AuditEntry, AuditExportQuery, AuditList, AuditQuery, EXPORT, LIST};
use slipway_domain::audit::AuditResult;
use slipway_domain::problem::Problems;
use slipway_http::{ApiError, Caller, Query};
use slipway_orchestrator::Error;
use slipway_orchestrator::ports::store::{AuditFilter, AuditRecord};

use crate::App;
use crate::routes::Routes;

/// Binds the endpoints of this resource.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add(&LIST, list).add(&EXPORT, export)
}

async fn list(
    State(app): State<App>,
    Caller(actor): Caller,
    Query(query): Query<AuditQuery>,
) -> Result<Json<AuditList>, ApiError> {
    let mut problems = Problems::new();
    let window = crate::page::window(query.limit, query.offset, &mut problems);
    let filter = AuditFilter {
        actor: query.actor,
        action: query.action,
        resource: query.resource,
        result: result(query.result.as_deref(), &mut problems),
        trace_id: query.trace_id,
        since: query.since,
        until: query.until,
    };
    check(&filter, &mut problems);
    problems.or(())?;
    let page = app.manager.audit(&actor, &filter, window).await?;
    Ok(Json(AuditList {
        page: crate::page::info(&page),
        entries: page.items.into_iter().map(entry).collect(),
    }))
}

async fn export(
    State(app): State<App>,
    Caller(actor): Caller,
    Query(query): Query<AuditExportQuery>,
) -> Result<Response, ApiError> {
    let mut problems = Problems::new();
    let after = query.after.unwrap_or(0);
    if after < 0 {
        problems.add("after", "has to be 0 or more");
    }
    let filter = AuditFilter {
        actor: query.actor,
        action: query.action,
        resource: query.resource,
        result: result(query.result.as_deref(), &mut problems),
        trace_id: query.trace_id,
        since: query.since,
        until: query.until,
    };
    check(&filter, &mut problems);
    problems.or(())?;
    let batches = app.manager.export_audit(&actor, filter, after).await?;
    // An error in the middle cuts the reply off, so that nobody takes a part for the whole.
    let lines = batches.and_then(|records| async move { lines(records) });
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

fn lines(records: Vec<AuditRecord>) -> Result<Bytes, Error> {
    let mut text = Vec::new();
    for record in records {
        serde_json::to_writer(&mut text, &entry(record)).map_err(|error| {
            Error::new(slipway_orchestrator::Code::InternalError, "an entry cannot be written")
                .caused_by(error)
        })?;
        text.push(b'\n');
    }
    Ok(text.into())
}

fn result(word: Option<&str>, problems: &mut Problems) -> Option<AuditResult> {
    match word? {
        "success" => Some(AuditResult::Success),
        "failure" => Some(AuditResult::Failure),
        "denied" => Some(AuditResult::Denied),
        other => {
            problems.add("result", format!("is {other:?}, which is none of success, failure, denied"));
            None
        }
    }
}

/// Times and texts that the database can hold.
fn check(filter: &AuditFilter, problems: &mut Problems) {
    for (path, time) in [("since", filter.since), ("until", filter.until)] {
        if time.is_some_and(|time| time < Timestamp::UNIX_EPOCH) {
            problems.add(path, "is before 1970");
        }
    }
    let texts = [
        ("actor", &filter.actor),
        ("action", &filter.action),
        ("resource", &filter.resource),
        ("traceId", &filter.trace_id),
    ];
    for (path, text) in texts {
        if text.as_ref().is_some_and(|text| text.contains('\0')) {
            problems.add(path, "holds a character that no entry has");
        }
    }
}

fn entry(record: AuditRecord) -> AuditEntry {
    let result = match record.result {
        AuditResult::Success => "success",
        AuditResult::Failure => "failure",
        AuditResult::Denied => "denied",
    };
    AuditEntry {
        number: record.number,
        timestamp: record.at,
        actor_kind: record.actor_kind,
        actor: record.actor,
        source: record.source,
        trace_id: record.trace_id,
        action: record.action,
        resource: record.resource,
        result: result.to_owned(),
        message: record.message,
        before: record.before,
        after: record.after,
    }
}
