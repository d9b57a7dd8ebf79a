//! The body that an endpoint takes: its kind and its size.

use axum::extract::Request;
use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::LengthLimitError;
use slipway_contract::Endpoint;
use slipway_domain::problem::Problems;
use slipway_orchestrator::Code;

use crate::error::ApiError;

/// Reads the body within the limit of its endpoint; where none is taken, none is read.
pub(super) async fn read(endpoint: &Endpoint, request: &mut Request) -> Result<Bytes, ApiError> {
    if endpoint.request.is_none() {
        return Ok(Bytes::new());
    }
    let limit = endpoint.body_limit;
    let told =
        request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if told.is_some_and(|told| told > limit as u64) {
        return Err(too_large(limit));
    }
    let body = std::mem::take(request.body_mut());
    let bytes = axum::body::to_bytes(body, limit).await.map_err(|error| unreadable(&error, limit))?;
    if !bytes.is_empty() && !is_json(request.headers()) {
        return Err(ApiError::new(
            Code::UnsupportedMediaType,
            "the body has to be JSON, said by: Content-Type: application/json",
        ));
    }
    Ok(bytes)
}

fn is_json(headers: &HeaderMap) -> bool {
    let plain = headers.get(CONTENT_ENCODING).is_none_or(|encoding| encoding == "identity");
    let media = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.map(|value| value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    plain && media.is_some_and(|media| media == "application/json")
}

fn too_large(limit: usize) -> ApiError {
    ApiError::new(Code::PayloadTooLarge, format!("the body is larger than the {limit} bytes taken here"))
}

fn unreadable(error: &axum::Error, limit: usize) -> ApiError {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(current) = cause {
        if current.is::<LengthLimitError>() {
            return too_large(limit);
        }
        cause = current.source();
    }
    Problems::one("", "the body ended too early").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_json_is_json() {
        let check = |pairs: &[(http::HeaderName, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(name.clone(), value.parse().unwrap());
            }
            is_json(&headers)
        };
        assert!(check(&[(CONTENT_TYPE, "Application/JSON; charset=utf-8")]));
        assert!(!check(&[]));
        assert!(!check(&[(CONTENT_TYPE, "text/plain")]));
        assert!(!check(&[(CONTENT_TYPE, "application/json"), (CONTENT_ENCODING, "gzip")]));
    }
}
