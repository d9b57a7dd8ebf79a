//! What comes before every handler, by the row of its endpoint: who calls, how often, whether they may, what
//! they send, and whether they have sent it before.
//!
//! `Routes::add` puts it around each handler, so that none can be without. The order matters: whoever is not
//! known costs little, and what may not be done is neither parsed nor written down without a limit.

mod body;
mod limit;
mod replay;

use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use slipway_contract::{Access, Endpoint, Method};
use slipway_domain::access::{Actor, Permission};
use slipway_orchestrator::ports::{Limits, Replies};
use slipway_orchestrator::{Code, Error, Manager};

use crate::address::{Network, Source};
use crate::caller::{Bearer, Caller};
use crate::cookie::{Cookies, SESSION, same_origin};
use crate::error::ApiError;
use crate::trace::TraceId;

/// Knows callers by their tokens, and what they may do.
#[async_trait]
pub trait Authenticator: Send + Sync {
    /// Whose token it is, if it holds.
    async fn authenticate(&self, bearer: &str) -> Result<Actor, Error>;

    /// Lets somebody call an endpoint, or writes the refusal down and says who may.
    async fn admit(&self, actor: &Actor, permission: Permission, endpoint: &str) -> Result<(), Error>;
}

#[async_trait]
impl Authenticator for Manager {
    async fn authenticate(&self, bearer: &str) -> Result<Actor, Error> {
        Self::authenticate(self, bearer).await
    }

    async fn admit(&self, actor: &Actor, permission: Permission, endpoint: &str) -> Result<(), Error> {
        Self::admit(self, actor, permission, endpoint).await
    }
}

/// Which endpoint gave a reply, for those who count replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation(pub &'static str);

/// The guard of a server's endpoints.
#[derive(Clone)]
pub struct Guard {
    callers: Arc<dyn Authenticator>,
    limits: Arc<dyn Limits>,
    replies: Arc<dyn Replies>,
    trusted: Arc<[Network]>,
    cookies: Option<Cookies>,
}

impl Guard {
    /// On what it needs; only proxies in `trusted` are believed about whom they ask for.
    pub fn new(
        callers: Arc<dyn Authenticator>,
        limits: Arc<dyn Limits>,
        replies: Arc<dyn Replies>,
        trusted: Vec<Network>,
    ) -> Self {
        Self { callers, limits, replies, trusted: trusted.into(), cookies: None }
    }

    /// Knows the sessions of browsers too.
    #[must_use]
    pub fn with_cookies(mut self, cookies: Cookies) -> Self {
        self.cookies = Some(cookies);
        self
    }

    /// Where a request comes from.
    pub fn source(&self, request: &Request) -> Source {
        Source::of(request.extensions(), request.headers(), &self.trusted)
    }

    /// Whose token it is, if it still holds: for streams, which outlast their first check.
    pub async fn authenticate(&self, bearer: &Bearer) -> Result<Actor, Error> {
        self.callers.authenticate(bearer.token()).await
    }

    /// Lets a request through to its handler, or answers it.
    pub async fn pass<F: Future<Output = Response> + Send>(
        &self,
        endpoint: &'static Endpoint,
        request: Request,
        handler: impl FnOnce(Request) -> F + Send,
    ) -> Response {
        let mut limit = None;
        let answer = self.answer(endpoint, request, handler, &mut limit).await;
        let mut reply = answer.unwrap_or_else(IntoResponse::into_response);
        if let Some(usage) = limit {
            limit::say(&mut reply, &usage);
        }
        reply.extensions_mut().insert(Operation(endpoint.name));
        reply
    }

    async fn answer<F: Future<Output = Response> + Send>(
        &self,
        endpoint: &'static Endpoint,
        mut request: Request,
        handler: impl FnOnce(Request) -> F + Send,
        limit: &mut Option<slipway_orchestrator::ports::limits::Usage>,
    ) -> Result<Response, ApiError> {
        let source = self.source(&request);
        let (mut actor, bearer) = self.who(endpoint, request.method(), request.headers()).await?;
        actor.source = source.caller.map(|address| address.to_string());
        actor.trace_id = TraceId::current().map(|id| id.to_string());
        let subject = actor.subject().map_or_else(|| source.counted_as(), |id| id.to_string());
        tracing::Span::current().record("userId", actor.name.as_str());

        if let Some(most) = endpoint.per_minute {
            let usage = self.limits.count(endpoint.name, &subject, most).await?;
            *limit = Some(usage);
            limit::within(&usage)?;
        }
        if let Access::Needs(permission) = endpoint.access {
            let place = format!("{} {}", endpoint.method.as_str(), request.uri().path());
            self.callers.admit(&actor, permission, &place).await?;
        }
        let seen = request.headers().get(IF_NONE_MATCH).cloned();
        let body = body::read(endpoint, &mut request).await?;
        request.extensions_mut().insert(Caller(actor));
        if let Some(bearer) = bearer {
            request.extensions_mut().insert(bearer);
        }
        let keyed = replay::keyed(endpoint, &subject, &request, &body)?;
        let request = request.map(|_| axum::body::Body::from(body));
        let reply = match keyed {
            Some(keyed) => replay::once(&*self.replies, keyed, handler(request)).await?,
            None => handler(request).await,
        };
        if endpoint.tagged
            && endpoint.method == Method::Get
            && seen.is_some()
            && seen.as_ref() == reply.headers().get(ETAG)
        {
            return Ok(unchanged(&reply));
        }
        Ok(reply)
    }

    /// Who calls. Where no token is needed, none is looked at.
    async fn who(
        &self,
        endpoint: &Endpoint,
        method: &http::Method,
        headers: &HeaderMap,
    ) -> Result<(Actor, Option<Bearer>), ApiError> {
        if endpoint.access == Access::Open {
            return Ok((Actor::anonymous(), None));
        }
        let bearer = self.sent(method, headers)?.ok_or_else(|| {
            ApiError::new(Code::Unauthorized, "this needs a token; log in first: slipway login")
        })?;
        let actor = self.callers.authenticate(bearer.token()).await?;
        Ok((actor, Some(bearer)))
    }

    /// The token of a request: that of the header, else that of a browser's session.
    fn sent(&self, method: &http::Method, headers: &HeaderMap) -> Result<Option<Bearer>, ApiError> {
        if let Some(sent) = bearer(headers)? {
            return Ok(Some(sent));
        }
        let Some(token) = self.cookies.and_then(|cookies| cookies.read(headers, SESSION)) else {
            return Ok(None);
        };
        same_origin(method, headers)?;
        Ok(Some(Bearer::brought(token)))
    }
}

/// The token of a request; nothing where none is sent.
pub fn bearer(headers: &HeaderMap) -> Result<Option<Bearer>, ApiError> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = sent.next() else { return Ok(None) };
    let wrong = || {
        ApiError::new(
            Code::Unauthorized,
            "the Authorization header has to be: Bearer, a space, and one token",
        )
    };
    if sent.next().is_some() {
        return Err(wrong());
    }
    let (scheme, token) = value.to_str().ok().and_then(|value| value.split_once(' ')).ok_or_else(wrong)?;
    let token = token.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() || token.contains(' ') {
        return Err(wrong());
    }
    Ok(Some(Bearer::sent(token)))
}

fn unchanged(reply: &Response) -> Response {
    let mut short = StatusCode::NOT_MODIFIED.into_response();
    if let Some(tag) = reply.headers().get(ETAG) {
        short.headers_mut().insert(ETAG, tag.clone());
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_sent_in_one_way_only() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, value.parse().unwrap());
            }
            bearer(&headers).map(|bearer| bearer.map(|bearer| bearer.token().to_owned()))
        };
        assert_eq!(read(&[]).unwrap(), None);
        assert_eq!(read(&["bearer abc"]).unwrap().as_deref(), Some("abc"));
        for wrong in [&["abc"][..], &["Basic abc"], &["Bearer "], &["Bearer a b"], &["Bearer a", "Bearer b"]]
        {
            assert_eq!(read(wrong).unwrap_err().0.code, Code::Unauthorized, "{wrong:?}");
        }
    }
}
