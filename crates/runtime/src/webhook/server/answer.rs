//! One HTTP request and its answer.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::Instant;

use super::Limits;
use crate::webhook::admission::{Admission, Rejection};
use crate::webhook::conversion;
use crate::webhook::observer::WebhookObserver;
use crate::webhook::set::{Path, WebhookSet};

/// Answers requests with the webhooks of a set.
pub(super) struct Answerer {
    pub(super) set: WebhookSet,
    pub(super) observer: Option<Arc<dyn WebhookObserver>>,
    pub(super) limits: Limits,
}

impl Answerer {
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let answer = match (request.method(), request.uri().path()) {
            (&Method::POST, "/validate") => self.admit(Path::Validate, request).await,
            (&Method::POST, "/mutate") => self.admit(Path::Mutate, request).await,
            (&Method::POST, "/convert") => self.convert(request).await,
            (_, "/validate" | "/mutate" | "/convert") => {
                Err(Rejection::new(StatusCode::METHOD_NOT_ALLOWED, "webhooks are called by POST"))
            }
            (_, path) => {
                let message =
                    format!("there is no webhook at {path}; there are /validate, /mutate and /convert");
                Err(Rejection::new(StatusCode::NOT_FOUND, message))
            }
        };
        match answer.and_then(|review| written(&review)) {
            Ok(body) => respond(StatusCode::OK, "application/json", body),
            Err(Rejection { status, message }) => {
                respond(status, "text/plain; charset=utf-8", format!("{message}\n").into())
            }
        }
    }

    async fn admit(&self, path: Path, request: Request<Incoming>) -> Result<Value, Rejection> {
        let deadline = Instant::now() + self.limits.handler;
        let body = self.body(request, self.limits.admission_body).await?;
        let admission = Admission { set: &self.set, observer: self.observer.as_deref(), deadline };
        admission.answer(path, &body).await
    }

    async fn convert(self: &Arc<Self>, request: Request<Incoming>) -> Result<Value, Rejection> {
        let body = self.body(request, self.limits.conversion_body).await?;
        let this = Arc::clone(self);
        // A list may be long, and other requests need this thread.
        tokio::task::spawn_blocking(move || {
            conversion::answer(&this.set.conversions, this.observer.as_deref(), &body)
        })
        .await
        .map_err(|error| {
            tracing::error!("a conversion failed inside: {error}");
            Rejection::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the conversion failed inside; its operator's log says why",
            )
        })?
    }

    async fn body(&self, request: Request<Incoming>, limit: usize) -> Result<Bytes, Rejection> {
        let kind =
            request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            return Err(Rejection::bad(format!("expected content of type application/json, got {kind:?}")));
        }
        let reading = Limited::new(request.into_body(), limit).collect();
        match tokio::time::timeout(self.limits.body, reading).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let message = format!("the review is larger than {limit} bytes");
                Err(Rejection::new(StatusCode::PAYLOAD_TOO_LARGE, message))
            }
            Ok(Err(error)) => Err(Rejection::bad(format!("the review was not sent whole: {error}"))),
            Err(_) => Err(Rejection::new(
                StatusCode::REQUEST_TIMEOUT,
                format!("the review was not sent within {:?}", self.limits.body),
            )),
        }
    }
}

fn written(review: &Value) -> Result<Bytes, Rejection> {
    serde_json::to_vec(review).map(Bytes::from).map_err(|error| {
        Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the answer cannot be written: {error}"))
    })
}

fn respond(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}
