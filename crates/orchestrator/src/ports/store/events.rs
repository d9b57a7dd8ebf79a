//! News, in order, for streams that can be resumed.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::event::Event;

use super::StoreError;

/// News with their place in the order.
#[derive(Debug, Clone, PartialEq)]
pub struct EventRecord {
    /// Grows without a gap in the order of commits; the cursor of `Last-Event-ID`.
    pub number: i64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: Event,
}

/// News in order.
#[async_trait]
pub trait EventRows: Send + Sync {
    /// The number of the newest.
    async fn last_event(&self) -> Result<i64, StoreError>;

    /// Those after a number, `most` at most.
    async fn events_after(&self, number: i64, most: u32) -> Result<Vec<EventRecord>, StoreError>;

    /// Returns when there may be news after a number, at once if there are, or after so long.
    async fn wait_for_events(&self, after: i64, longest: Duration);

    /// Removes what is older.
    async fn thin_events(&self, before: Timestamp) -> Result<u64, StoreError>;
}
