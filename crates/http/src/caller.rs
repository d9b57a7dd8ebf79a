//! Who calls.

use std::fmt;

use axum::extract::FromRequestParts;
use http::request::Parts;
use slipway_domain::access::Actor;
use slipway_orchestrator::Code;
use zeroize::Zeroizing;

use crate::error::ApiError;

/// Whoever calls, as the guard found them; a handler has it only behind the guard.
#[derive(Debug, Clone)]
pub struct Caller(pub Actor);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| ApiError::new(Code::InternalError, "this path has no guard"))
    }
}

/// The token that was sent, for what lasts longer than a request: a stream asks again whether it still holds.
#[derive(Clone)]
pub struct Bearer {
    token: Zeroizing<String>,
    in_cookie: bool,
}

impl Bearer {
    /// Sent in a header.
    pub(crate) fn sent(token: &str) -> Self {
        Self { token: Zeroizing::new(token.to_owned()), in_cookie: false }
    }

    /// Brought by a browser.
    pub(crate) fn brought(token: String) -> Self {
        Self { token: Zeroizing::new(token), in_cookie: true }
    }

    /// The token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether a browser keeps it in a cookie, where scripts must not see it.
    pub fn is_in_cookie(&self) -> bool {
        self.in_cookie
    }
}

impl fmt::Debug for Bearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bearer")
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Bearer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| ApiError::new(Code::InternalError, "this path has no guard"))
    }
}
