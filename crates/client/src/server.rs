//! The server itself.

use slipway_contract::server::{VERSION, VersionReply};

use crate::{Client, ClientError};

impl Client {
    /// Which version the server has.
    pub async fn version(&self) -> Result<VersionReply, ClientError> {
        self.call(&VERSION, &[]).send().await
    }
}
