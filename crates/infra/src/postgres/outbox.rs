//! Messages that wait to be sent.

use async_trait::async_trait;
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{Message, OUTBOX, OutboxRows, Outgoing, Recipient};
use sqlx::types::Json;
use sqlx::{PgConnection, Row as _};

use super::PostgresStore;
use super::error::refused;
use super::moment::Moment;

/// Adds a message and the work of sending it; whether it is new.
pub(super) async fn add(connection: &mut PgConnection, message: &Message) -> Result<bool, StoreError> {
    let added = sqlx::query(
        "WITH message AS (
             INSERT INTO outbox (key, recipient, kind, subject, text, facts) VALUES ($2, $3, $4, $5, $6, $7)
             ON CONFLICT (key) DO NOTHING RETURNING id
         )
         INSERT INTO work (kind, key, due_at) SELECT $1, id::text, now() FROM message",
    )
    .bind(OUTBOX)
    .bind(&message.key)
    .bind(Json(&message.to))
    .bind(&message.kind)
    .bind(&message.subject)
    .bind(&message.text)
    .bind(&message.facts)
    .execute(connection)
    .await
    .map_err(refused)?;
    Ok(added.rows_affected() > 0)
}

#[async_trait]
impl OutboxRows for PostgresStore {
    async fn outgoing(&self, id: i64) -> Result<Option<Outgoing>, StoreError> {
        let row = sqlx::query(
            "SELECT key, recipient, kind, subject, text, facts, written_at, attempts FROM outbox
             WHERE id = $1 AND sent_at IS NULL AND given_up_at IS NULL",
        )
        .bind(id)
        .fetch_optional(&self.pool)
        .await
        .map_err(refused)?;
        let Some(row) = row else { return Ok(None) };
        let read = || -> Result<Outgoing, sqlx::Error> {
            Ok(Outgoing {
                id,
                attempt: row.try_get::<i32, _>("attempts")?.unsigned_abs(),
                written_at: row.try_get::<Moment, _>("written_at")?.0,
                message: Message {
                    to: row.try_get::<Json<Recipient>, _>("recipient")?.0,
                    key: row.try_get("key")?,
                    kind: row.try_get("kind")?,
                    subject: row.try_get("subject")?,
                    text: row.try_get("text")?,
                    facts: row.try_get("facts")?,
                },
            })
        };
        read().map(Some).map_err(refused)
    }

    async fn sent(&self, id: i64) -> Result<(), StoreError> {
        sqlx::query(
            "WITH message AS (
                 UPDATE outbox SET sent_at = clock_timestamp(), attempts = attempts + 1, last_error = NULL
                 WHERE id = $2 AND sent_at IS NULL AND given_up_at IS NULL
             )
             DELETE FROM work WHERE kind = $1 AND key = $2::text",
        )
        .bind(OUTBOX)
        .bind(id)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(refused)
    }

    async fn unsent(&self, id: i64, error: &str, give_up: bool) -> Result<(), StoreError> {
        sqlx::query(
            "WITH message AS (
                 UPDATE outbox SET attempts = attempts + 1, last_error = $3,
                     given_up_at = CASE WHEN $4 THEN clock_timestamp() END
                 WHERE id = $2 AND sent_at IS NULL AND given_up_at IS NULL
             )
             DELETE FROM work WHERE kind = $1 AND key = $2::text AND $4",
        )
        .bind(OUTBOX)
        .bind(id)
        .bind(error)
        .bind(give_up)
        .execute(&self.pool)
        .await
        .map(drop)
        .map_err(refused)
    }
}
