//! What an issuer says about itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use slipway_orchestrator::ports::identity::IssuerError;
use url::Url;

use super::{Issuer, http};

/// How long it is remembered.
const REMEMBERED: Duration = Duration::from_hours(1);

#[derive(Debug, Deserialize)]
pub(super) struct Document {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Url,
    pub(super) token_endpoint: Url,
    pub(super) jwks_uri: Url,
    pub(super) userinfo_endpoint: Option<Url>,
    pub(super) device_authorization_endpoint: Option<Url>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// What was found, and when.
#[derive(Debug, Clone)]
pub(super) struct Discovered {
    document: Arc<Document>,
    at: Instant,
}

impl std::ops::Deref for Discovered {
    type Target = Document;

    fn deref(&self) -> &Document {
        &self.document
    }
}

impl Document {
    /// Basic authentication is the default; some issuers take the secret in the body alone.
    pub(super) fn wants_secret_in_body(&self) -> bool {
        self.token_endpoint_auth_methods_supported.as_ref().is_some_and(|methods| {
            let has = |wanted: &str| methods.iter().any(|method| method == wanted);
            has("client_secret_post") && !has("client_secret_basic")
        })
    }

    fn check(&self, expected: &str) -> Result<(), String> {
        // Another spelling is another issuer, but for a slash at the end, which addresses gain and lose on their
        // way through configurations.
        if self.issuer.trim_end_matches('/') != expected.trim_end_matches('/') {
            return Err(format!("it calls itself {:?}", self.issuer));
        }
        let optional = [&self.userinfo_endpoint, &self.device_authorization_endpoint];
        [&self.authorization_endpoint, &self.token_endpoint, &self.jwks_uri]
            .into_iter()
            .chain(optional.into_iter().flatten())
            .try_for_each(http::allowed)
    }
}

impl Issuer {
    pub(super) async fn discover(&self) -> Result<Discovered, IssuerError> {
        let mut known = self.discovered.lock().await;
        if let Some(discovered) = known.as_ref().filter(|discovered| discovered.at.elapsed() < REMEMBERED) {
            return Ok(discovered.clone());
        }
        let base = self.settings.issuer.trim_end_matches('/');
        let fresh = match format!("{base}/.well-known/openid-configuration").parse() {
            Ok(address) => self.http.get_json::<Document>(&address, None).await,
            Err(error) => Err(format!("its address makes no sense: {error}")),
        };
        let checked = fresh.and_then(|document| document.check(&self.settings.issuer).map(|()| document));
        let document = Arc::new(checked.map_err(|reason| self.unusable(&reason))?);
        Ok(known.insert(Discovered { document, at: Instant::now() }).clone())
    }
}
