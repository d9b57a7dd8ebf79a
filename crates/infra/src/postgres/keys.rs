//! Whether this server has the keys that the database was sealed with.

use slipway_orchestrator::ports::keyring::KeyringError;
use slipway_orchestrator::ports::{Keyring, StoreError};

use super::PostgresStore;
use super::error::refused;

/// What the proof is bound to.
const CONTEXT: &str = "keyring";

/// Why this server must not work on the database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtherKeys {
    /// It has other keys.
    #[error(
        "the credentials in the database are sealed, and this server cannot open them; all servers of a \
         database need the same keys: copy the key file of one that works (slipway config check: keyFile). If \
         the keys are lost for good, empty the table keyring_proof, start again, and give each cluster and \
         repository its credential anew"
    )]
    Missing(#[source] KeyringError),
    /// The database does not answer.
    #[error("could not compare the keys with the database's")]
    Store(#[from] StoreError),
}

/// Makes sure that this server can open what the others sealed. The first one leaves the proof.
pub async fn compare_keys(store: &PostgresStore, keyring: &dyn Keyring) -> Result<(), OtherKeys> {
    let fresh = keyring.seal(CONTEXT, b"the right keys").map_err(OtherKeys::Missing)?;
    sqlx::query("INSERT INTO keyring_proof (sealed) VALUES ($1) ON CONFLICT DO NOTHING")
        .bind(&fresh)
        .execute(store.pool())
        .await
        .map_err(refused)?;
    let kept: Vec<u8> = sqlx::query_scalar("SELECT sealed FROM keyring_proof")
        .fetch_one(store.pool())
        .await
        .map_err(refused)?;
    keyring.open(CONTEXT, &kept).map_err(OtherKeys::Missing)?;
    if keyring.is_old(&kept) {
        // From now on the newest key counts: a server without it is told before it does harm.
        sqlx::query("UPDATE keyring_proof SET sealed = $1")
            .bind(&fresh)
            .execute(store.pool())
            .await
            .map_err(refused)?;
    }
    Ok(())
}
