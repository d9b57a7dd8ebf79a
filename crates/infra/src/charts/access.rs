//! Who asks, as headers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use slipway_orchestrator::ports::charts::Credentials;

/// The `Authorization` that goes with credentials; marked, so that it is not printed.
pub(super) fn authorization(credentials: &Credentials) -> Option<HeaderValue> {
    let text = match credentials {
        Credentials::Anonymous => return None,
        Credentials::Basic { username, password } => {
            format!("Basic {}", STANDARD.encode(format!("{username}:{password}")))
        }
        Credentials::Bearer { token } => format!("Bearer {token}"),
    };
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
