//! What every reply has, whatever answers: a trace, a deadline, the headers of a careful server, and one
//! shape for errors, also those of paths that nobody knows and of handlers that panic.

mod headers;
mod shape;

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method};
use slipway_orchestrator::Code;
use tokio::sync::Semaphore;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};
use tracing::Instrument;
use tracing::field::Empty;

use crate::error::ApiError;
use crate::guard::Operation;
use crate::metrics::{Counted, HttpMetrics};
use crate::trace::{TRACE_ID, TraceId};

/// What can be set about it.
#[derive(Debug, Clone)]
pub struct Shell {
    /// Whether it is served over TLS: then browsers are told to insist on it.
    pub tls: bool,
    /// How long a reply may take to begin.
    pub timeout: Duration,
    /// How many requests are answered at once; the next is told to come back.
    pub at_once: usize,
    /// The origins whose pages may call; none means that no other page may.
    pub origins: Vec<HeaderValue>,
}

impl Default for Shell {
    fn default() -> Self {
        Self { tls: false, timeout: Duration::from_secs(30), at_once: 512, origins: Vec::new() }
    }
}

#[derive(Clone)]
struct Running {
    shell: Arc<Shell>,
    slots: Arc<Semaphore>,
    metrics: HttpMetrics,
}

impl Shell {
    /// Puts it around everything that is served.
    pub fn around(self, router: Router, metrics: HttpMetrics) -> Router {
        let cors = (!self.origins.is_empty()).then(|| cors(&self.origins));
        let running =
            Running { slots: Arc::new(Semaphore::new(self.at_once)), shell: Arc::new(self), metrics };
        let router = router
            .fallback(nowhere)
            .method_not_allowed_fallback(not_that_way)
            .layer(CatchPanicLayer::custom(panicked))
            .layer(from_fn_with_state(running, answer));
        match cors {
            Some(cors) => router.layer(cors),
            None => router,
        }
    }
}

async fn answer(State(running): State<Running>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    // The query is left out: it may hold what must not be logged.
    let span = tracing::info_span!(
        "http.request",
        otel.kind = "server",
        method = %method,
        path = %path,
        traceId = Empty,
        userId = Empty,
        operation = Empty,
        status = Empty,
    );
    let id = TraceId::of(request.headers(), &span);
    span.record("traceId", id.as_str());
    let answering = async {
        let _counted = Counted::new(&running.metrics.in_flight);
        let reply = shape::in_ours(running.within_limits(request, next).await).await;
        let (status, took) = (reply.status(), started.elapsed());
        let operation = reply.extensions().get::<Operation>().map_or("other", |operation| operation.0);
        running.metrics.answered(operation, status.as_u16(), took);
        let span = tracing::Span::current();
        span.record("status", status.as_u16());
        span.record("operation", operation);
        let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        if status.is_success() && method == Method::GET {
            tracing::debug!(durationMs = milliseconds, "answered");
        } else {
            tracing::info!(durationMs = milliseconds, "answered");
        }
        reply
    };
    let mut reply = id.clone().scope(answering.instrument(span)).await;
    headers::complete(&mut reply, &path, running.shell.tls);
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        reply.headers_mut().insert(TRACE_ID, value);
    }
    reply
}

impl Running {
    /// How long a reply may take to begin; a few wait for clusters, and say for how long.
    fn patience(&self, request: &Request) -> Duration {
        let (method, path) = (request.method().as_str(), request.uri().path());
        let longer = slipway_contract::endpoints().filter(|row| row.seconds.is_some());
        let row = longer.filter(|row| row.is_at(method, path)).find_map(|row| row.seconds);
        row.map_or(self.shell.timeout, |seconds| self.shell.timeout.max(Duration::from_secs(seconds.into())))
    }

    async fn within_limits(&self, request: Request, next: Next) -> Response {
        let Ok(_slot) = self.slots.try_acquire() else {
            let error = ApiError::new(Code::Unavailable, "the server is busy; try again in a moment");
            let mut reply = error.into_response();
            reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            return reply;
        };
        let timeout = self.patience(&request);
        if let Ok(reply) = tokio::time::timeout(timeout, next.run(request)).await {
            reply
        } else {
            let message = format!("the answer took longer than {} seconds", timeout.as_secs());
            ApiError::new(Code::Unavailable, message).into_response()
        }
    }
}

async fn nowhere(request: Request) -> ApiError {
    ApiError::new(
        Code::NotFound,
        format!("there is nothing at {}; the interface is described at /swagger", request.uri().path()),
    )
}

async fn not_that_way(request: Request) -> ApiError {
    let message = format!("{} does not work at {}", request.method(), request.uri().path());
    ApiError::new(Code::MethodNotAllowed, message)
}

#[allow(clippy::needless_pass_by_value, reason = "the layer gives the panic away")]
fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let said = panic.downcast_ref::<String>().map(String::as_str);
    let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("nothing");
    tracing::error!(panic = said, "a handler panicked");
    ApiError::new(Code::InternalError, "something went wrong here; the trace id finds it in the logs")
        .into_response()
}

fn cors(origins: &[HeaderValue]) -> CorsLayer {
    let ours = |name: &'static str| HeaderName::from_static(name);
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins.iter().cloned()))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([
            AUTHORIZATION,
            CONTENT_TYPE,
            IF_MATCH,
            IF_NONE_MATCH,
            ours("idempotency-key"),
            ours("last-event-id"),
            ours("traceparent"),
        ])
        .expose_headers([
            ETAG,
            RETRY_AFTER,
            ours("idempotency-replayed"),
            ours("x-trace-id"),
            ours("x-ratelimit-limit"),
            ours("x-ratelimit-remaining"),
            ours("x-ratelimit-reset"),
        ])
        .max_age(Duration::from_mins(10))
}
