//! News by LISTEN/NOTIFY: a hint to look at the rows, never the truth itself.
//!
//! One connection listens for the whole server. When it is lost, everybody is told to look again once
//! there is a new one: what was said meanwhile nobody heard.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::PgListener;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tracing::{debug, warn};

/// The channel that every commit speaks on.
pub(super) const CHANNEL: &str = "slipway";

/// A connection that is silently dead is found after so long.
const QUIET: Duration = Duration::from_secs(20);

/// How long to wait before connecting again, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// What commits tell.
#[derive(Debug, Clone)]
pub struct News {
    events: watch::Sender<i64>,
    work: Arc<Mutex<HashMap<String, Arc<Notify>>>>,
}

impl News {
    fn new() -> Self {
        Self { events: watch::Sender::new(0), work: Arc::default() }
    }

    /// Returns when there is an event after this number, or after so long.
    pub async fn event_after(&self, number: i64, longest: Duration) {
        let mut newest = self.events.subscribe();
        let _ = tokio::time::timeout(longest, newest.wait_for(|newest| *newest > number)).await;
    }

    /// Told when work of a kind may be due sooner than was thought. A hint that nobody waits for is kept.
    pub fn work(&self, kind: &str) -> Arc<Notify> {
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(work.entry(kind.to_owned()).or_default())
    }

    fn event(&self, number: i64) {
        self.events.send_if_modified(|newest| {
            let newer = number > *newest;
            *newest = number.max(*newest);
            newer
        });
    }

    fn all_work(&self) {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        work.values().for_each(|kind| kind.notify_one());
    }

    fn hear(&self, payload: &str) {
        for word in payload.split(' ') {
            if let Ok(number) = word.parse() {
                self.event(number);
            } else {
                self.work(word).notify_one();
            }
        }
    }
}

/// Listens until it is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    news: News,
    task: AbortHandle,
}

impl Listener {
    pub(super) fn start(pool: &PgPool) -> Self {
        let news = News::new();
        let task = tokio::spawn(listen(pool.clone(), news.clone())).abort_handle();
        Self { news, task }
    }

    pub(super) fn news(&self) -> &News {
        &self.news
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen(pool: PgPool, news: News) {
    let (first, longest) = PAUSES;
    let mut pause = first;
    loop {
        let Err(error) = listen_once(&pool, &news, || pause = first).await;
        if pool.is_closed() {
            return;
        }
        warn!(error = %error, "lost the connection that listens for news; connecting again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    }
}

async fn listen_once(
    pool: &PgPool,
    news: &News,
    mut connected: impl FnMut(),
) -> Result<std::convert::Infallible, sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    connected();
    debug!("listening for news");
    // After LISTEN, not before: whatever is committed from here on is heard.
    news.event(newest(&mut listener).await?);
    news.all_work();
    loop {
        match tokio::time::timeout(QUIET, listener.try_recv()).await {
            Ok(Ok(Some(notification))) => news.hear(notification.payload()),
            Ok(Ok(None)) => return Err(sqlx::Error::PoolClosed),
            Ok(Err(error)) => return Err(error),
            Err(_) => {
                let newest = tokio::time::timeout(QUIET, newest(&mut listener));
                news.event(newest.await.map_err(|_| sqlx::Error::PoolTimedOut)??);
            }
        }
    }
}

async fn newest(listener: &mut PgListener) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT last FROM counters WHERE name = 'events'").fetch_one(listener).await
}
