//! What each path answers.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures::{Stream, StreamExt, stream};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, broadcast, watch};
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;

use super::guard::Refused;
use super::{Leadership, Shown};
use crate::events::{EventQuery, WatchEvent};

/// How long an answer may take to begin.
const ANSWER: Duration = Duration::from_secs(10);
/// Nobody needs to send anything.
const BODY: usize = 16 * 1024;

pub(super) fn router(shown: Shown) -> Router {
    let mut router = Router::new()
        .route("/", get(info))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/leader", get(leader))
        .route("/crd", get(crd))
        .route("/crds", get(crds));
    let mut guarded = Router::new().route("/debug/queue", get(queues));
    if shown.protect_metrics {
        guarded = guarded.route("/metrics", get(metrics));
    } else {
        router = router.route("/metrics", get(metrics));
    }
    if shown.events.is_some() {
        guarded = guarded.route("/events", get(events)).route("/watch", get(watch_changes));
    }
    router
        .merge(guarded.route_layer(middleware::from_fn_with_state(shown.clone(), admit)))
        .fallback(unknown)
        .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, ANSWER))
        .layer(RequestBodyLimitLayer::new(BODY))
        .with_state(shown)
}

fn refusal(status: StatusCode, message: impl std::fmt::Display) -> Response {
    (status, Json(json!({ "error": message.to_string() }))).into_response()
}

async fn admit(State(shown): State<Shown>, request: Request, next: Next) -> Response {
    let Some(guard) = &shown.guard else { return next.run(request).await };
    let authorization = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Err(refused) = guard.admit(authorization, request.uri().path()).await else {
        return next.run(request).await;
    };
    let status = match refused {
        Refused::NoToken | Refused::BadToken => StatusCode::UNAUTHORIZED,
        Refused::Forbidden { .. } => StatusCode::FORBIDDEN,
        Refused::Unknown(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let mut response = refusal(status, &refused);
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
    }
    response
}

async fn unknown(uri: Uri) -> Response {
    refusal(StatusCode::NOT_FOUND, format!("there is nothing at {}", uri.path()))
}

async fn info(State(shown): State<Shown>) -> Json<Value> {
    let mut endpoints = vec!["/healthz", "/readyz", "/leader", "/metrics", "/debug/queue", "/crd", "/crds"];
    if shown.events.is_some() {
        endpoints.extend(["/events", "/watch"]);
    }
    Json(json!({ "name": shown.name, "version": shown.version, "endpoints": endpoints }))
}

async fn healthz(State(shown): State<Shown>) -> Response {
    let overdue = shown.health.overdue();
    if overdue.is_empty() {
        Json(json!({ "status": "healthy" })).into_response()
    } else {
        let body = json!({ "status": "unhealthy", "reasons": overdue });
        (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
    }
}

impl Shown {
    fn leases(&self) -> Vec<Leadership> {
        self.leader.as_ref().map(|leader| leader()).unwrap_or_default()
    }
}

async fn readyz(State(shown): State<Shown>) -> Response {
    let reasons = shown.health.not_ready();
    let leases = shown.leases();
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({
        "status": if reasons.is_empty() { "ready" } else { "not ready" },
        "reasons": reasons,
        // Without an election this process works, as if it led.
        "isLeader": leases.iter().all(|lease| lease.is_leader),
        "leader": leases.first().and_then(|lease| lease.lease.holder_identity.clone()),
    });
    (status, Json(body)).into_response()
}

async fn leader(State(shown): State<Shown>) -> Json<Value> {
    let leases = shown.leases();
    Json(match leases.as_slice() {
        [] => json!({ "isLeader": true, "identity": null, "lease": null }),
        [only] => json!(only),
        several => json!(several),
    })
}

async fn metrics(State(shown): State<Shown>, headers: HeaderMap) -> Response {
    let Some(metrics) = &shown.metrics else {
        return refusal(StatusCode::NOT_FOUND, "this process keeps no metrics");
    };
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let (content_type, text) = metrics.render(accept);
    ([(CONTENT_TYPE, content_type)], text).into_response()
}

async fn queues(State(shown): State<Shown>) -> Json<Value> {
    Json(shown.queues.as_ref().map_or_else(|| json!({}), |queues| queues()))
}

async fn crd(State(shown): State<Shown>) -> Response {
    let crds = shown.crds.as_ref().map(|crds| crds()).unwrap_or_default();
    match crds.into_iter().next() {
        Some(first) => Json(first).into_response(),
        None => refusal(StatusCode::NOT_FOUND, "this process has no CRD"),
    }
}

async fn crds(State(shown): State<Shown>) -> Json<Value> {
    Json(json!({ "items": shown.crds.as_ref().map(|crds| crds()).unwrap_or_default() }))
}

async fn events(State(shown): State<Shown>, uri: Uri) -> Response {
    let Some(log) = &shown.events else { return unknown(uri).await };
    match EventQuery::parse(uri.query().unwrap_or_default()) {
        Ok(query) => Json(json!({ "events": log.query(&query), "stats": log.stats() })).into_response(),
        Err(error) => refusal(StatusCode::BAD_REQUEST, error),
    }
}

async fn watch_changes(State(shown): State<Shown>, uri: Uri) -> Response {
    let Some(log) = &shown.events else { return unknown(uri).await };
    let Ok(turn) = Arc::clone(&shown.watchers).try_acquire_owned() else {
        return refusal(StatusCode::SERVICE_UNAVAILABLE, "too many watch already; try again later");
    };
    let changes = sse(log.subscribe(), shown.ending.clone(), turn);
    Sse::new(changes).keep_alive(KeepAlive::default()).into_response()
}

/// Changes until the server ends; whoever is too slow is told how many were left out.
fn sse(
    changes: broadcast::Receiver<Arc<WatchEvent>>,
    mut ending: watch::Receiver<bool>,
    turn: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let events = stream::unfold((changes, turn), |(mut changes, turn)| async move {
        let event = match changes.recv().await {
            Ok(change) => Event::default().json_data(&*change).unwrap_or_default(),
            Err(RecvError::Lagged(missed)) => {
                Event::default().comment(format!("{missed} changes were left out"))
            }
            Err(RecvError::Closed) => return None,
        };
        Some((Ok(event), (changes, turn)))
    });
    events.take_until(async move {
        let _ = ending.wait_for(|end| *end).await;
    })
}
