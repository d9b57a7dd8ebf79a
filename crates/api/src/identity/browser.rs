//! A browser's way to an issuer and back.
//!
//! What has to come back travels in a cookie that only this path sees, sealed; the session ends up in a cookie
//! that scripts cannot read. Over TLS both have the `__Host-` prefix, which binds them to this very host.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, COOKIE, LOCATION, SET_COOKIE};
use http::{HeaderMap, HeaderValue, StatusCode};
use slipway_contract::identity::{CallbackQuery, StartQuery};
use slipway_http::{ApiError, Caller, Path, Query};
use slipway_orchestrator::identity::BrowserReturn;
use slipway_orchestrator::{Code, Error};

use crate::App;

const LOGIN: &str = "slipway-login";
const SESSION: &str = "slipway-session";

pub(super) async fn start(
    State(app): State<App>,
    Path(issuer): Path<String>,
    Query(query): Query<StartQuery>,
) -> Result<Response, ApiError> {
    let begun = app.manager.oidc_start(&issuer, query.return_to.as_deref()).await?;
    let secure = app.manager.is_public_over_tls();
    let cookie = cookie(LOGIN, &begun.cookie, begun.patience.as_secs(), secure);
    redirect(&begun.location, &[cookie])
}

pub(super) async fn callback(
    State(app): State<App>,
    Caller(caller): Caller,
    Path(issuer): Path<String>,
    headers: HeaderMap,
    Query(query): Query<CallbackQuery>,
) -> Result<Response, ApiError> {
    let secure = app.manager.is_public_over_tls();
    let brought = named(&headers, &name(LOGIN, secure));
    let back = BrowserReturn {
        cookie: brought.as_deref(),
        state: query.state.as_deref(),
        code: query.code.as_deref(),
        error: query.error.as_deref(),
        issuer: query.iss.as_deref(),
    };
    let (logged_in, return_to) = app.manager.oidc_finish(&caller, &issuer, back).await?;
    let left = logged_in.expires_at.duration_since(jiff::Timestamp::now());
    let life = u64::try_from(left.as_secs()).unwrap_or_default();
    let cookies = [cookie(LOGIN, "", 0, secure), cookie(SESSION, &logged_in.token, life, secure)];
    redirect(&return_to, &cookies)
}

fn name(name: &str, secure: bool) -> String {
    format!("{}{name}", if secure { "__Host-" } else { "" })
}

fn cookie(of: &str, value: &str, seconds: u64, secure: bool) -> String {
    let tls = if secure { "; Secure" } else { "" };
    // Lax, not Strict: the browser comes back from the issuer's site.
    format!("{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{tls}", name(of, secure))
}

fn named(headers: &HeaderMap, wanted: &str) -> Option<String> {
    let pairs = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned())
}

fn redirect(location: &str, cookies: &[String]) -> Result<Response, ApiError> {
    let strange = |_| Error::new(Code::InternalError, "the browser cannot be sent on");
    let mut reply = StatusCode::SEE_OTHER.into_response();
    let headers = reply.headers_mut();
    headers.insert(LOCATION, HeaderValue::from_str(location).map_err(strange)?);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for cookie in cookies {
        headers.append(SET_COOKIE, HeaderValue::from_str(cookie).map_err(strange)?);
    }
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_cannot_be_read_by_scripts_nor_set_by_neighbours() {
        let made = cookie(SESSION, "abc", 60, true);
        assert_eq!(made, "__Host-slipway-session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure");
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, "a=1; slipway-login=evil; __Host-slipway-login=good".parse().unwrap());
        assert_eq!(named(&headers, &name(LOGIN, true)).as_deref(), Some("good"));
        assert_eq!(named(&headers, "missing"), None);
    }
}
