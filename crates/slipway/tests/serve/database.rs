//! On a database of others, which may be gone for a while.

use slipway_testkit::postgres::Postgres;
use slipway_testkit::until;

use crate::program::{LONG, Served, folder};

#[tokio::test]
async fn an_outage_of_the_database_is_told_and_passes() {
    let (one, two) = (folder(), folder());
    let mut postgres = Postgres::builder().durable().start().await.unwrap();
    let database = postgres.database().await.unwrap();
    let url = format!("--database-url={}", database.url());
    let keys = format!("--key-file={}", one.path().join("keys").display());
    // Both at once, on an empty database.
    let arguments = [url.as_str(), keys.as_str()];
    let (first, second) =
        tokio::join!(Served::start(one.path(), &arguments), Served::start(two.path(), &arguments));
    let shown = [&first, &second].map(|served| served.printed.contains("password: "));
    assert_eq!(shown.iter().filter(|shown| **shown).count(), 1, "one of them made the admin");
    assert_eq!((first.status("/ready").await, second.status("/ready").await), (200, 200));

    postgres.stop().await.unwrap();
    assert_eq!(first.status("/ready").await, 503);
    assert_eq!(first.status("/health").await, 200, "the server itself lives");

    postgres.restart().await.unwrap();
    for served in [&first, &second] {
        until("the server to recover", LONG, async || (served.status("/ready").await == 200).then_some(()))
            .await
            .unwrap();
    }
    assert_eq!(first.stop().await.code(), Some(0));
    assert_eq!(second.status("/ready").await, 200, "one less is no harm to the others");
    assert_eq!(second.stop().await.code(), Some(0));
}
