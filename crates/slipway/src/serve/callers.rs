//! Whose request it is: the use cases know.

use async_trait::async_trait;
use slipway_domain::access::{Actor, Permission};
use slipway_http::guard::Authenticator;
use slipway_orchestrator::{Error, Manager};

/// Asks the use cases.
pub(super) struct Callers(pub(super) Manager);

#[async_trait]
impl Authenticator for Callers {
    async fn authenticate(&self, bearer: &str) -> Result<Actor, Error> {
        self.0.authenticate(bearer).await
    }

    async fn admit(&self, actor: &Actor, permission: Permission, endpoint: &str) -> Result<(), Error> {
        self.0.admit(actor, permission, endpoint).await
    }
}
