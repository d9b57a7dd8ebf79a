//! How often: what is said about it, and what happens beyond.

use axum::response::Response;
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use slipway_orchestrator::Code;
use slipway_orchestrator::ports::limits::Usage;

use crate::error::ApiError;

/// Lets a use through that was counted.
pub(super) fn within(usage: &Usage) -> Result<(), ApiError> {
    if usage.counted {
        return Ok(());
    }
    let seconds = usage.wait().as_secs();
    Err(ApiError::new(
        Code::RateLimitExceeded,
        format!(
            "more than {} of these requests in a minute; try again in {seconds} second{}",
            usage.limit,
            if seconds == 1 { "" } else { "s" }
        ),
    ))
}

/// Says in the headers how much is left.
pub(super) fn say(reply: &mut Response, usage: &Usage) {
    let refused = reply.status() == StatusCode::TOO_MANY_REQUESTS;
    let headers = reply.headers_mut();
    headers.insert("x-ratelimit-limit", HeaderValue::from(usage.limit));
    headers.insert("x-ratelimit-remaining", HeaderValue::from(usage.remaining()));
    headers.insert("x-ratelimit-reset", HeaderValue::from(usage.reset()));
    if refused {
        headers.insert(RETRY_AFTER, HeaderValue::from(usage.wait().as_secs()));
    }
}
