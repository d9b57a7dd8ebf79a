//! The clock that all servers share.

use jiff::{SignedDuration, Timestamp};
use slipway_infra::postgres::{DatabaseClock, Options, connect};
use slipway_orchestrator::ports::Clock as _;

use crate::support::database;

#[tokio::test]
async fn what_time_it_is_the_database_says() {
    let stored = database().await;
    // As if this machine's clock were two hours behind the database's.
    for statement in [
        "CREATE SCHEMA ahead",
        "CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
         AS $$ SELECT pg_catalog.clock_timestamp() + interval '2 hours' $$",
        "DO $$ BEGIN
             EXECUTE format('ALTER DATABASE %I SET search_path = ahead, pg_catalog, public', current_database());
         END $$",
    ] {
        sqlx::query(statement).execute(stored.store.pool()).await.unwrap();
    }
    let pool = connect(&Options::new(stored.database.url())).await.unwrap();
    let clock = DatabaseClock::start(&pool).await.unwrap();
    let ahead = |at: Timestamp| at.duration_since(Timestamp::now());
    let (least, most) = (SignedDuration::from_mins(115), SignedDuration::from_mins(121));
    assert!((least..most).contains(&ahead(clock.now())), "{}", ahead(clock.now()));
    let before = clock.now();
    assert!(clock.now() >= before, "it goes on by itself");
}
