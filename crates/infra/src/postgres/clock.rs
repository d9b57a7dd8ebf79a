//! The time of the database: the one clock that all servers share, whatever their machines say.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use slipway_orchestrator::ports::{Clock, StoreError};
use sqlx::PgPool;

use super::{Moment, refused};

/// How often it is set anew: machines drift by far less than a millisecond in that time.
const SET_EVERY: Duration = Duration::from_secs(30);

/// An answer that took longer says too little about when it was given.
const QUICK: Duration = Duration::from_millis(500);

/// The database's clock. What is due is compared with it there, so what is written with it here fits; two
/// servers whose own clocks differ agree on when an approval or a token ends.
#[derive(Debug, Clone)]
pub struct DatabaseClock(Arc<RwLock<Set>>);

/// What the database's clock said, and when that was by a clock of ours that never jumps.
#[derive(Debug, Clone, Copy)]
struct Set {
    said: Timestamp,
    at: Instant,
}

impl DatabaseClock {
    /// Asks the database, and again every half minute for as long as the clock is used. Must be called
    /// inside a runtime.
    pub async fn start(pool: &PgPool) -> Result<Self, StoreError> {
        let (first, _) = ask(pool).await.map_err(refused)?;
        let set = Arc::new(RwLock::new(first));
        let (kept, pool) = (Arc::downgrade(&set), pool.clone());
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SET_EVERY).await;
                let Some(set) = kept.upgrade() else { return };
                match ask(&pool).await {
                    Ok((new, took)) if took <= QUICK => {
                        *set.write().unwrap_or_else(PoisonError::into_inner) = new;
                    }
                    Ok(_) => {}
                    Err(error) => tracing::debug!(%error, "the database's clock could not be read"),
                }
            }
        });
        Ok(Self(set))
    }
}

impl Clock for DatabaseClock {
    fn now(&self) -> Timestamp {
        let Set { said, at } = *self.0.read().unwrap_or_else(PoisonError::into_inner);
        let since = SignedDuration::try_from(at.elapsed()).unwrap_or(SignedDuration::ZERO);
        said.checked_add(since).unwrap_or(said)
    }
}

/// The database's time, taken to be said half way through, and how long the answer took.
async fn ask(pool: &PgPool) -> Result<(Set, Duration), sqlx::Error> {
    let mut connection = pool.acquire().await?;
    let asked = Instant::now();
    let said: Moment = sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(&mut *connection).await?;
    let took = asked.elapsed();
    Ok((Set { said: said.0, at: asked + took / 2 }, took))
}
