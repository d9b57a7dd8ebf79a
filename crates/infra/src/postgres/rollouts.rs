//! Rollouts.

use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::RolloutWrite;
use sqlx::PgConnection;

pub(super) async fn apply(_connection: &mut PgConnection, write: RolloutWrite) -> Result<(), StoreError> {
    Err(StoreError::Other(format!("rollouts are not kept yet: {write:?}").into()))
}
