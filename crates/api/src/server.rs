//! See `slipway_contract::server`.

mod events;

use std::sync::LazyLock;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use slipway_contract::server::{DOCUMENT, EVENTS, VERSION, VersionReply};

use crate::routes::Routes;

/// Binds the endpoints of this resource.
pub(crate) fn routes(routes: Routes) -> Routes {
    routes.add(&EVENTS, events::follow).add(&VERSION, version).add(&DOCUMENT, document)
}

async fn version() -> Json<VersionReply> {
    Json(VersionReply { version: env!("CARGO_PKG_VERSION").to_owned() })
}

async fn document() -> Response {
    static TEXT: LazyLock<String> = LazyLock::new(slipway_contract::openapi_json);
    ([(CONTENT_TYPE, "application/json")], TEXT.as_str()).into_response()
}
