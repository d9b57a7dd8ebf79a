//! A browser's way to an issuer and back.
//!
//! What has to come back travels in a cookie, sealed; the session ends up in a cookie that scripts cannot read.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use slipway_contract::identity::{CallbackQuery, StartQuery};
use slipway_http::cookie::{LOGIN, SESSION};
use slipway_http::{ApiError, Bearer, Caller, Cookies, Path, Query};
use slipway_orchestrator::identity::{BrowserReturn, LoggedIn};
use slipway_orchestrator::{Code, Error};

use crate::App;

pub(super) async fn start(
    State(app): State<App>,
    Path(issuer): Path<String>,
    Query(query): Query<StartQuery>,
) -> Result<Response, ApiError> {
    let begun = app.manager.oidc_start(&issuer, query.return_to.as_deref()).await?;
    let cookie = cookies(&app).give(LOGIN, &begun.cookie, begun.patience.as_secs());
    redirect(&begun.location, &[cookie])
}

pub(super) async fn callback(
    State(app): State<App>,
    Caller(caller): Caller,
    Path(issuer): Path<String>,
    headers: HeaderMap,
    Query(query): Query<CallbackQuery>,
) -> Result<Response, ApiError> {
    let brought = cookies(&app).read(&headers, LOGIN);
    let back = BrowserReturn {
        cookie: brought.as_deref(),
        state: query.state.as_deref(),
        code: query.code.as_deref(),
        error: query.error.as_deref(),
        issuer: query.iss.as_deref(),
    };
    let (logged_in, return_to) = app.manager.oidc_finish(&caller, &issuer, back).await?;
    redirect(&return_to, &[cookies(&app).give(LOGIN, "", 0), session(&app, &logged_in)])
}

/// A new token for somebody who sent the old one: where a browser keeps it in a cookie, the new one goes there,
/// and no script sees it.
pub(super) fn renewed(app: &App, bearer: &Bearer, mut logged_in: LoggedIn) -> Result<Response, ApiError> {
    if !bearer.is_in_cookie() {
        return Ok(Json(super::shown(logged_in)).into_response());
    }
    let cookie = session(app, &logged_in);
    logged_in.token.clear();
    let mut reply = Json(super::shown(logged_in)).into_response();
    reply.headers_mut().append(SET_COOKIE, header(&cookie)?);
    Ok(reply)
}

/// Takes the cookie of a session that has ended away.
pub(super) fn ended(app: &App, bearer: &Bearer) -> Result<Response, ApiError> {
    let mut reply = StatusCode::NO_CONTENT.into_response();
    if bearer.is_in_cookie() {
        reply.headers_mut().append(SET_COOKIE, header(&cookies(app).give(SESSION, "", 0))?);
    }
    Ok(reply)
}

fn cookies(app: &App) -> Cookies {
    Cookies { tls: app.manager.is_public_over_tls() }
}

fn session(app: &App, logged_in: &LoggedIn) -> String {
    let left = logged_in.expires_at.duration_since(jiff::Timestamp::now());
    let life = u64::try_from(left.as_secs()).unwrap_or_default();
    cookies(app).give(SESSION, &logged_in.token, life)
}

fn redirect(location: &str, cookies: &[String]) -> Result<Response, ApiError> {
    let mut reply = StatusCode::SEE_OTHER.into_response();
    let headers = reply.headers_mut();
    headers.insert(LOCATION, header(location)?);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for cookie in cookies {
        headers.append(SET_COOKIE, header(cookie)?);
    }
    Ok(reply)
}

fn header(value: &str) -> Result<HeaderValue, ApiError> {
    let value = HeaderValue::from_str(value);
    Ok(value.map_err(|_| Error::new(Code::InternalError, "the browser cannot be sent on"))?)
}
