//! The viewer of the interface's document, at `/swagger`. Everything it loads comes from this server.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use slipway_contract::BASE;
use slipway_contract::server::DOCUMENT;
use slipway_http::ApiError;
use slipway_orchestrator::Code;
use utoipa_swagger_ui::Config;

/// Its own scripts and nobody else's. It sets styles from scripts, which is all that is loosened.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static CONFIG: LazyLock<Arc<Config<'static>>> = LazyLock::new(|| {
    let config = Config::from(format!("{BASE}{}", DOCUMENT.path))
        .try_it_out_enabled(true)
        .filter(true)
        .display_operation_id(true)
        // The viewer would send the document to a validator on the internet.
        .validator_url("none");
    Arc::new(config)
});

pub(crate) fn router() -> Router {
    Router::new()
        .route("/swagger", get(|| async { Redirect::permanent("/swagger/") }))
        .route("/swagger/", get(|| file(Path(String::new()))))
        .route("/swagger/{*file}", get(file))
}

async fn file(Path(path): Path<String>) -> Result<Response, ApiError> {
    let missing = || ApiError::new(Code::NotFound, format!("there is nothing at /swagger/{path}"));
    let file =
        utoipa_swagger_ui::serve(&path, Arc::clone(&CONFIG)).map_err(|_| missing())?.ok_or_else(missing)?;
    let kind = HeaderValue::from_str(&file.content_type).map_err(|_| missing())?;
    let mut reply = file.bytes.into_owned().into_response();
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    reply.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("max-age=3600"));
    Ok(reply)
}
