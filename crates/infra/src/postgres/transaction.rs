//! Beginning a transaction.

use slipway_orchestrator::ports::StoreError;
use sqlx::{PgPool, Postgres, Transaction};

use super::error::refused;

/// Begins a transaction, in a task of its own. Whoever waits for this may be dropped, as when a request or a claim
/// is lost: the connection would go back to the pool with a transaction that nobody knows of, and what others
/// write over it alone would never be committed.
pub(super) async fn begin(pool: &PgPool) -> Result<Transaction<'static, Postgres>, StoreError> {
    let pool = pool.clone();
    let begun = tokio::spawn(async move { pool.begin().await });
    begun.await.map_err(|error| StoreError::Other(error.into()))?.map_err(refused)
}
