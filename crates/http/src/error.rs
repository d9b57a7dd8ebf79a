//! Errors on the wire.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use jiff::Timestamp;
use slipway_contract::error::{ErrorBody, ErrorDetail, ErrorReply};
use slipway_orchestrator::{Code, Error};

use crate::trace::TraceId;

/// An error on its way out.
#[derive(Debug)]
pub struct ApiError(pub Error);

impl ApiError {
    /// Of a code and a sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Error::new(code, message))
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<slipway_domain::problem::Problems> for ApiError {
    fn from(problems: slipway_domain::problem::Problems) -> Self {
        Self(problems.into())
    }
}

impl From<slipway_orchestrator::ports::StoreError> for ApiError {
    fn from(error: slipway_orchestrator::ports::StoreError) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = self.0;
        let status = StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        match error.code {
            Code::InternalError => {
                tracing::error!(error = &error as &dyn std::error::Error, "a request failed");
            }
            Code::Unavailable => {
                tracing::warn!(error = &error as &dyn std::error::Error, "a request could not be answered");
            }
            _ => {}
        }
        let details = error.details.iter().map(|problem| ErrorDetail {
            path: (!problem.path.is_empty()).then(|| problem.path.clone()),
            cluster: None,
            message: problem.message.clone(),
        });
        let body = ErrorBody {
            code: error.code.as_str().to_owned(),
            message: error.message.clone(),
            details: details.collect(),
            trace_id: TraceId::current().map(|id| id.to_string()).unwrap_or_default(),
            timestamp: Timestamp::now(),
        };
        let mut reply = (status, Json(ErrorReply { error: body })).into_response();
        match error.code {
            Code::Unauthorized => {
                let scheme = HeaderValue::from_static("Bearer realm=\"slipway\"");
                reply.headers_mut().insert(http::header::WWW_AUTHENTICATE, scheme);
            }
            Code::Unavailable => {
                reply.headers_mut().entry(RETRY_AFTER).or_insert(HeaderValue::from_static("2"));
            }
            _ => {}
        }
        reply
    }
}
