//! Errors that something other than our code wrote, in our shape.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{ALLOW, CONTENT_TYPE};
use slipway_orchestrator::Code;

use crate::error::ApiError;

/// What of a foreign text is told on.
const MOST: usize = 4 * 1024;

/// The reply, or an error of the same meaning in our shape. Parsers of the framework answer in plain text.
pub(super) async fn in_ours(reply: Response) -> Response {
    let status = reply.status();
    let json = reply
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("application/json"));
    if json || !(status.is_client_error() || status.is_server_error()) {
        return reply;
    }
    let (parts, body) = reply.into_parts();
    let text = axum::body::to_bytes(body, MOST).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    let code = match status {
        StatusCode::UNAUTHORIZED => Code::Unauthorized,
        StatusCode::FORBIDDEN => Code::Forbidden,
        StatusCode::NOT_FOUND => Code::NotFound,
        StatusCode::METHOD_NOT_ALLOWED => Code::MethodNotAllowed,
        StatusCode::CONFLICT => Code::Conflict,
        StatusCode::PRECONDITION_FAILED => Code::PreconditionFailed,
        StatusCode::PAYLOAD_TOO_LARGE => Code::PayloadTooLarge,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Code::UnsupportedMediaType,
        StatusCode::TOO_MANY_REQUESTS => Code::RateLimitExceeded,
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => Code::Unavailable,
        status if status.is_client_error() => Code::ValidationError,
        _ => Code::InternalError,
    };
    // What a defect says is for the log only.
    let message = match code {
        Code::InternalError => {
            tracing::error!(reply = text, "a reply that is an error, and not ours");
            "something went wrong here; the trace id finds it in the logs".to_owned()
        }
        _ if text.is_empty() => status.canonical_reason().unwrap_or("the request is refused").to_lowercase(),
        _ => text,
    };
    let mut ours = ApiError::new(code, message).into_response();
    if let Some(allowed) = parts.headers.get(ALLOW) {
        ours.headers_mut().insert(ALLOW, allowed.clone());
    }
    *ours.extensions_mut() = parts.extensions;
    ours
}
