//! The audit.

use futures::{Stream, StreamExt as _};
use slipway_contract::audit::{AuditExportQuery, AuditList, AuditQuery, EXPORT, LIST};

use crate::call::unreachable;
use crate::{Client, ClientError};

impl Client {
    /// What was done, the newest first.
    pub async fn audit(&self, query: &AuditQuery) -> Result<AuditList, ClientError> {
        self.call(&LIST, &[]).query(query).send().await
    }

    /// Everything that was done, the oldest first, as bytes of a line of JSON each; for as long as it takes.
    pub async fn export_audit(
        &self,
        query: &AuditExportQuery,
    ) -> Result<impl Stream<Item = Result<bytes::Bytes, ClientError>> + use<>, ClientError> {
        let reply = self.call(&EXPORT, &[]).query(query).unlimited().raw().await?;
        let client = self.clone();
        Ok(reply.bytes_stream().map(move |bytes| bytes.map_err(|source| unreachable(&client, source))))
    }
}
