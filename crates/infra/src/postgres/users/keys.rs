//! The keys that sign tokens.

use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{Expired, SigningKey};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, PgPool, Row as _};

use crate::postgres::error::refused;
use crate::postgres::moment::Moment;

pub(super) async fn all(pool: &PgPool) -> Result<Vec<SigningKey>, StoreError> {
    sqlx::query("SELECT id, number, public_key, sealed, active_from FROM signing_keys ORDER BY number")
        .try_map(|row: PgRow| {
            Ok(SigningKey {
                id: row.try_get("id")?,
                number: row.try_get("number")?,
                public: row.try_get("public_key")?,
                sealed: row.try_get("sealed")?,
                active_from: row.try_get::<Moment, _>("active_from")?.0,
            })
        })
        .fetch_all(pool)
        .await
        .map_err(refused)
}

pub(super) async fn add(connection: &mut PgConnection, key: &SigningKey) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO signing_keys (id, number, public_key, sealed, active_from) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(&key.id)
    .bind(key.number)
    .bind(&key.public)
    .bind(&key.sealed)
    .bind(Moment(key.active_from))
    .execute(connection)
    .await
    .map(drop)
    .map_err(refused)
}

pub(super) async fn reseal(connection: &mut PgConnection, id: &str, sealed: &[u8]) -> Result<(), StoreError> {
    sqlx::query("UPDATE signing_keys SET sealed = $2 WHERE id = $1")
        .bind(id)
        .bind(sealed)
        .execute(connection)
        .await
        .map(drop)
        .map_err(refused)
}

/// Removes keys that a newer one took over from long enough ago, unless a machine's token that still counts
/// was signed with it.
pub(super) async fn thin(pool: &PgPool, expired: Expired) -> Result<u64, StoreError> {
    sqlx::query(
        "DELETE FROM signing_keys old
         WHERE EXISTS (SELECT FROM signing_keys new WHERE new.number > old.number AND new.active_from < $1)
           AND NOT EXISTS (SELECT FROM api_tokens t
               WHERE t.key_id = old.id AND t.revoked_at IS NULL AND t.expires_at > $2)",
    )
    .bind(Moment(expired.unused_since))
    .bind(Moment(expired.now))
    .execute(pool)
    .await
    .map(|done| done.rows_affected())
    .map_err(refused)
}
