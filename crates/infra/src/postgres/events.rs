//! News, in order.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::event::Event;
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{EventRecord, EventRows};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row as _};

use super::PostgresStore;
use super::commit::numbers;
use super::error::refused;
use super::moment::Moment;

/// Adds events; the number of the last one.
pub(super) async fn add(connection: &mut PgConnection, events: &[Event]) -> Result<Option<i64>, StoreError> {
    if events.is_empty() {
        return Ok(None);
    }
    let numbers = numbers(connection, "events", events.len()).await?;
    for (number, event) in numbers.clone().zip(events) {
        let topic = serde_json::to_value(event.topic).map_err(|error| StoreError::Other(error.into()))?;
        sqlx::query("INSERT INTO events (number, topic, subject, kind, data) VALUES ($1, $2, $3, $4, $5)")
            .bind(number)
            .bind(topic.as_str())
            .bind(&event.subject)
            .bind(&event.kind)
            .bind(&event.data)
            .execute(&mut *connection)
            .await
            .map_err(refused)?;
    }
    Ok(Some(*numbers.end()))
}

fn read(row: &PgRow) -> Result<EventRecord, sqlx::Error> {
    let topic: String = row.try_get("topic")?;
    let topic = serde_json::from_value(topic.into()).map_err(|error| sqlx::Error::Decode(error.into()))?;
    Ok(EventRecord {
        number: row.try_get("number")?,
        at: row.try_get::<Moment, _>("at")?.0,
        event: Event {
            topic,
            subject: row.try_get("subject")?,
            kind: row.try_get("kind")?,
            data: row.try_get("data")?,
        },
    })
}

#[async_trait]
impl EventRows for PostgresStore {
    async fn last_event(&self) -> Result<i64, StoreError> {
        sqlx::query_scalar("SELECT last FROM counters WHERE name = 'events'")
            .fetch_one(&self.pool)
            .await
            .map_err(refused)
    }

    async fn events_after(&self, number: i64, most: u32) -> Result<Vec<EventRecord>, StoreError> {
        sqlx::query(
            "SELECT number, at, topic, subject, kind, data FROM events WHERE number > $1 ORDER BY number LIMIT $2",
        )
        .bind(number)
        .bind(i64::from(most))
        .try_map(|row: PgRow| read(&row))
        .fetch_all(&self.pool)
        .await
        .map_err(refused)
    }

    async fn wait_for_events(&self, after: i64, longest: Duration) {
        self.news().event_after(after, longest).await;
    }

    async fn thin_events(&self, before: Timestamp) -> Result<u64, StoreError> {
        let removed = sqlx::query("DELETE FROM events WHERE at < $1")
            .bind(Moment(before))
            .execute(&self.pool)
            .await
            .map_err(refused)?;
        Ok(removed.rows_affected())
    }
}
