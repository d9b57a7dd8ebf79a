//! Tags: a change that carries the tag of what was read fails when somebody else changed it first.

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{ETAG, IF_MATCH};
use http::request::Parts;
use slipway_orchestrator::Code;

use crate::error::ApiError;

/// A reply with the version of what it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tagged<R>(pub i64, pub R);

impl<R: IntoResponse> IntoResponse for Tagged<R> {
    fn into_response(self) -> Response {
        let mut reply = self.1.into_response();
        if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", self.0)) {
            reply.headers_mut().insert(ETAG, tag);
        }
        reply
    }
}

/// The version that a change asks for; nothing means any. The use case makes the change conditional on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IfMatch(pub Option<i64>);

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get(IF_MATCH) else { return Ok(Self(None)) };
        let value = value.to_str().unwrap_or_default().trim();
        if value == "*" {
            return Ok(Self(None));
        }
        let version = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match version.and_then(|version| version.parse().ok()) {
            Some(version) => Ok(Self(Some(version))),
            // Whatever has this tag, it is nothing that is here now.
            None => Err(ApiError::new(
                Code::PreconditionFailed,
                "If-Match is no tag that was given out here; read again and send the ETag of that reply",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    async fn read(value: Option<&str>) -> Result<IfMatch, ApiError> {
        let mut request = Request::builder();
        if let Some(value) = value {
            request = request.header(IF_MATCH, value);
        }
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        IfMatch::from_request_parts(&mut parts, &()).await
    }

    #[tokio::test]
    async fn only_tags_that_were_given_out_match() {
        assert_eq!(read(None).await.unwrap(), IfMatch(None));
        assert_eq!(read(Some("*")).await.unwrap(), IfMatch(None));
        assert_eq!(read(Some("\"7\"")).await.unwrap(), IfMatch(Some(7)));
        for foreign in ["7", "W/\"7\"", "\"abc\"", "", "\"7\", \"8\""] {
            assert_eq!(read(Some(foreign)).await.unwrap_err().0.code, Code::PreconditionFailed, "{foreign}");
        }
    }

    #[test]
    fn a_reply_carries_the_tag_of_its_version() {
        assert_eq!(Tagged(7, "x").into_response().headers()[ETAG], "\"7\"");
    }
}
