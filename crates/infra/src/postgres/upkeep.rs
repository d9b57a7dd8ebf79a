//! What has to be removed from time to time: what is old and of no use to anybody.

use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use slipway_orchestrator::changes::Work;
use slipway_orchestrator::ports::store::{Claim, EventRows as _};
use slipway_orchestrator::ports::{Limits as _, Replies as _, Store as _, StoreError};
use slipway_orchestrator::workers::{Next, Worker};
use slipway_orchestrator::{Changeset, Error};
use tracing::debug;

use super::PostgresStore;
use super::error::refused;
use super::moment::Moment;

/// The kind of work.
const KIND: &str = "database-upkeep";

/// How often.
const EVERY: Duration = Duration::from_mins(15);

/// How long somebody who watches may be away and still go on where they were.
const EVENTS: SignedDuration = SignedDuration::from_hours(7 * 24);

/// How long a message that was sent, or given up, is remembered, so that it is not sent again.
const MESSAGES: SignedDuration = SignedDuration::from_hours(90 * 24);

/// Removes old events, counts of limits, replies and messages.
pub struct DatabaseUpkeep(PostgresStore);

impl DatabaseUpkeep {
    /// Of this database.
    pub fn new(store: PostgresStore) -> Self {
        Self(store)
    }

    /// Has it done from now on, by whichever server.
    pub async fn schedule(store: &PostgresStore) -> Result<(), StoreError> {
        let work = Work { kind: KIND, key: "all".to_owned() };
        store.commit(Changeset::new().due(work, Timestamp::now())).await
    }
}

#[async_trait]
impl Worker for DatabaseUpkeep {
    fn kind(&self) -> &'static str {
        KIND
    }

    async fn work(&self, _: &Claim) -> Result<Next, Error> {
        let now = Timestamp::now();
        let events = self.0.thin_events(now - EVENTS).await?;
        let limits = self.0.thin_limits().await?;
        let replies = self.0.thin_replies().await?;
        let messages = sqlx::query("DELETE FROM outbox WHERE COALESCE(sent_at, given_up_at) < $1")
            .bind(Moment(now - MESSAGES))
            .execute(self.0.pool())
            .await
            .map_err(refused)?
            .rows_affected();
        debug!(events, limits, replies, messages, "removed what is old");
        Ok(Next::After(EVERY))
    }
}
