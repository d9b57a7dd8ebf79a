//! What is served beside the interface: whether the server lives and works, its figures, the viewer.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use http::header::{ACCEPT, CONTENT_TYPE};
use prometheus_client::registry::Registry;
use serde_json::json;
use slipway_http::guard::bearer;
use slipway_http::shell::Shell;
use slipway_http::{ApiError, Secret};
use slipway_orchestrator::Code;
use slipway_telemetry::exposition;

use crate::live::Stopping;
use crate::{App, viewer};

/// How long the figures of the whole may take to be read.
const FRESH: std::time::Duration = std::time::Duration::from_secs(2);

/// Who may read the figures.
#[derive(Debug, Clone, Default)]
pub enum MetricsAccess {
    /// This machine only.
    #[default]
    Loopback,
    /// Whoever sends this as a bearer token.
    Token(Secret),
}

/// How the server is served.
#[derive(Debug)]
pub struct Options {
    /// What every reply has.
    pub shell: Shell,
    /// Who may read the figures.
    pub metrics: MetricsAccess,
    /// The figures; those of requests and of the process are added.
    pub registry: Registry,
    /// Whether the server stops.
    pub stopping: Stopping,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            shell: Shell::default(),
            metrics: MetricsAccess::default(),
            registry: Registry::default(),
            stopping: Stopping::never(),
        }
    }
}

#[derive(Clone)]
struct Site {
    app: App,
    access: MetricsAccess,
    registry: Arc<Registry>,
}

pub(crate) fn router(app: App, access: MetricsAccess, registry: Registry) -> Router {
    Router::new()
        .route("/health", get(alive))
        .route("/ready", get(ready))
        .route("/metrics", get(figures))
        .with_state(Site { app, access, registry: Arc::new(registry) })
        .merge(viewer::router())
}

/// The process lives, whatever else does not.
async fn alive() -> Response {
    Json(json!({"status": "ok"})).into_response()
}

/// It can work: the database answers, and it is not about to stop.
async fn ready(State(site): State<Site>) -> Result<Response, ApiError> {
    if site.app.live.stopping.has_begun() {
        return Err(ApiError::new(Code::Unavailable, "the server is stopping"));
    }
    site.app.manager.ready().await?;
    Ok(Json(json!({"status": "ready"})).into_response())
}

async fn figures(State(site): State<Site>, request: Request) -> Result<Response, ApiError> {
    match &site.access {
        MetricsAccess::Loopback => {
            if !site.app.guard.source(&request).is_local(request.headers()) {
                return Err(ApiError::new(
                    Code::Forbidden,
                    "metrics are given to this machine only; the setting metrics.tokenFile opens them to others",
                ));
            }
        }
        MetricsAccess::Token(secret) => {
            if !bearer(request.headers())?.is_some_and(|given| secret.is(given.token())) {
                return Err(ApiError::new(
                    Code::Unauthorized,
                    "metrics need the token of the setting metrics.tokenFile",
                ));
            }
        }
    }
    // Figures that are a little old are better than none: the database may be what somebody looks into.
    match tokio::time::timeout(FRESH, site.app.manager.refresh_metrics()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the figures could not be read anew"),
        Err(_) => tracing::debug!("the figures could not be read anew in time"),
    }
    let accept = request.headers().get(ACCEPT).and_then(|value| value.to_str().ok());
    let (kind, text) = exposition::render(&site.registry, accept);
    Ok(([(CONTENT_TYPE, kind)], text).into_response())
}
