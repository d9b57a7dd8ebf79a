//! News for those who follow them.

use std::time::Duration;

use slipway_domain::access::{Actor, Permission};
use slipway_domain::event::Topic;

use crate::error::Error;
use crate::manager::Manager;
use crate::ports::store::EventRecord;

/// How many events are read at once.
const BATCH: u32 = 200;

/// News that somebody may see, and where they are up to.
#[derive(Debug, Clone, PartialEq)]
pub struct News {
    /// The events, in order.
    pub events: Vec<EventRecord>,
    /// The number to go on after.
    pub after: i64,
    /// How many were removed before they could be read.
    pub missed: i64,
}

impl Manager {
    /// Where news begin for somebody who follows from now on, or goes on after a number. A number of the
    /// future is not believed: it is from before the database was restored.
    pub async fn follow_events(&self, actor: &Actor, after: Option<i64>) -> Result<i64, Error> {
        self.permit(actor, Permission::Read, "events.follow", "events").await?;
        let last = self.store().last_event().await?;
        Ok(after.filter(|after| *after <= last).unwrap_or(last))
    }

    /// The next news that somebody may see, after a number; none where there are no more.
    pub async fn events_after(&self, actor: &Actor, after: i64) -> Result<News, Error> {
        let read = self.store().events_after(after, BATCH).await?;
        let missed = read.first().map_or(0, |first| first.number - after - 1).max(0);
        let last = read.last().map_or(after, |last| last.number);
        let events = read.into_iter().filter(|record| may_see(actor, record.event.topic)).collect();
        Ok(News { events, after: last, missed })
    }

    /// Returns when there may be news after a number, or after so long.
    pub async fn wait_for_events(&self, after: i64, longest: Duration) {
        self.store().wait_for_events(after, longest).await;
    }
}

/// Whether somebody may see news of a topic: what waits for a decision is for those who decide.
pub fn may_see(actor: &Actor, topic: Topic) -> bool {
    actor.may(match topic {
        Topic::Approval => Permission::ReadApprovals,
        _ => Permission::Read,
    })
}
