//! Work that servers share: each piece by one at a time, and none lost.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod support;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;
use slipway_domain::event::{Event, Topic};
use slipway_infra::postgres::PostgresStore;
use slipway_infra::workers::Runner;
use slipway_orchestrator::changes::Work;
use slipway_orchestrator::ports::Store as _;
use slipway_orchestrator::ports::store::{Claim, EventRows as _, WorkRows as _};
use slipway_orchestrator::workers::{Next, Worker};
use slipway_orchestrator::{Changeset, Code, Error};
use slipway_testkit::until;
use support::{database, database_of_its_own};
use tokio::sync::oneshot;

const LONG: Duration = Duration::from_secs(90);
const KIND: &str = "counting";

/// What the pieces do, seen over all servers.
#[derive(Default)]
struct Seen {
    at_work: Mutex<HashSet<String>>,
    done: Mutex<BTreeMap<String, u32>>,
}

impl Seen {
    fn done(&self, key: &str) -> u32 {
        self.done.lock().unwrap().get(key).copied().unwrap_or_default()
    }
}

/// Takes a moment, tells of it with a fenced commit, and is due again or ended.
struct Counter {
    store: PostgresStore,
    seen: Arc<Seen>,
    takes: Duration,
    lease: Duration,
    next: Next,
}

#[async_trait]
impl Worker for Counter {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn lease(&self) -> Duration {
        self.lease
    }

    fn at_once(&self) -> u32 {
        3
    }

    async fn work(&self, claim: &Claim) -> Result<Next, Error> {
        let key = claim.work.key.clone();
        assert!(self.seen.at_work.lock().unwrap().insert(key.clone()), "{key} is at work already");
        tokio::time::sleep(self.takes).await;
        self.seen.at_work.lock().unwrap().remove(&key);
        if key == "bad" && self.seen.done("bad") == 0 {
            *self.seen.done.lock().unwrap().entry(key).or_default() += 1;
            return Err(Error::new(Code::InternalError, "the first time it fails"));
        }
        let told =
            Event { topic: Topic::Cluster, subject: key.clone(), kind: "done".to_owned(), data: Value::Null };
        self.store.commit(Changeset::new().tell(told).fenced(claim.fence())).await?;
        *self.seen.done.lock().unwrap().entry(key).or_default() += 1;
        Ok(self.next)
    }
}

fn counter(store: &PostgresStore, seen: &Arc<Seen>) -> Counter {
    Counter {
        store: store.clone(),
        seen: Arc::clone(seen),
        takes: Duration::from_millis(5),
        lease: Duration::from_secs(15),
        next: Next::Ended,
    }
}

async fn make_due(store: &PostgresStore, keys: impl IntoIterator<Item = String>) {
    let mut changes = Changeset::new();
    for key in keys {
        changes = changes.due(Work { kind: KIND, key }, Timestamp::now() - Duration::from_secs(1));
    }
    store.commit(changes).await.unwrap();
}

/// Each subject with how often it was told of.
async fn told(store: &PostgresStore) -> BTreeMap<String, u32> {
    let mut told = BTreeMap::new();
    for record in store.events_after(0, 10_000).await.unwrap() {
        *told.entry(record.event.subject).or_default() += 1;
    }
    told
}

fn once(keys: impl IntoIterator<Item = String>) -> BTreeMap<String, u32> {
    keys.into_iter().map(|key| (key, 1)).collect()
}

fn start(store: &PostgresStore, worker: Counter) -> (oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let (stop, stopped) = oneshot::channel();
    let runner = Runner::new(store.clone()).with(Arc::new(worker));
    (stop, tokio::spawn(runner.run(async { drop(stopped.await) })))
}

#[tokio::test]
async fn two_servers_do_each_piece_once_and_one_at_a_time() {
    let stored = database().await;
    let two = stored.another("two").await;
    let seen = Arc::new(Seen::default());
    let keys = || (0..40).map(|key| key.to_string());
    make_due(&two, keys()).await;
    let (stop_one, one) = start(&stored.store, counter(&stored.store, &seen));
    let (stop_two, other) = start(&two, counter(&two, &seen));
    until("all to be done", LONG, async || {
        let all = stored.store.next_due(KIND).await.unwrap().is_none();
        all.then_some(())
    })
    .await
    .unwrap();
    assert_eq!(told(&two).await, once(keys()));
    // What becomes due later is done at once, by one of them.
    make_due(&two, ["later".to_owned()]).await;
    until("the later piece", LONG, async || (seen.done("later") == 1).then_some(())).await.unwrap();
    drop((stop_one, stop_two));
    one.await.unwrap();
    other.await.unwrap();
}

#[tokio::test]
async fn what_a_killed_server_held_is_done_by_another() {
    let stored = database().await;
    let two = stored.another("two").await;
    let keys = || (0..3).map(|key| key.to_string());
    make_due(&two, keys()).await;
    let (hanging, seen) = (Arc::new(Seen::default()), Arc::new(Seen::default()));
    let hangs = Counter {
        takes: Duration::from_hours(1),
        lease: Duration::from_secs(1),
        ..counter(&stored.store, &hanging)
    };
    let (_stop, one) = start(&stored.store, hangs);
    until("all to be held", LONG, async || (hanging.at_work.lock().unwrap().len() == 3).then_some(()))
        .await
        .unwrap();
    one.abort();
    let (stop, other) = start(&two, counter(&two, &seen));
    until("all to be done", LONG, async || two.next_due(KIND).await.unwrap().is_none().then_some(()))
        .await
        .unwrap();
    assert_eq!(told(&two).await, once(keys()));
    drop(stop);
    other.await.unwrap();
}

#[tokio::test]
async fn long_work_keeps_its_claim() {
    let stored = database().await;
    let two = stored.another("two").await;
    let seen = Arc::new(Seen::default());
    make_due(&two, ["long".to_owned()]).await;
    // Several leases long; if the claim lapsed, the other would take it and the worker would complain.
    let long = |store| Counter {
        takes: Duration::from_secs(7),
        lease: Duration::from_secs(3),
        ..counter(store, &seen)
    };
    let (stop_one, one) = start(&stored.store, long(&stored.store));
    let (stop_two, other) = start(&two, long(&two));
    until("it to be done", LONG, async || (seen.done("long") == 1).then_some(())).await.unwrap();
    drop((stop_one, stop_two));
    one.await.unwrap();
    other.await.unwrap();
    assert_eq!(told(&two).await, once(["long".to_owned()]));
}

#[tokio::test]
async fn a_server_that_stops_ends_what_it_does_or_gives_it_back() {
    let stored = database().await;
    let store = &stored.store;
    let seen = Arc::new(Seen::default());
    make_due(store, ["endless".to_owned()]).await;
    let endless = Counter { takes: Duration::from_hours(1), ..counter(store, &seen) };
    let (stop, stopped) = oneshot::channel::<()>();
    let runner = Runner::new(store.clone()).grace(Duration::from_millis(200)).with(Arc::new(endless));
    let running = tokio::spawn(runner.run(async { drop(stopped.await) }));
    until("it to be held", LONG, async || (!seen.at_work.lock().unwrap().is_empty()).then_some(()))
        .await
        .unwrap();
    drop(stop);
    tokio::time::timeout(LONG, running).await.expect("it ends").unwrap();
    let claims = store.claim(KIND, 10, Duration::from_secs(30)).await.unwrap();
    assert_eq!(claims.len(), 1, "another server may take it at once");
}

#[tokio::test]
async fn a_piece_that_fails_is_tried_again() {
    let stored = database().await;
    let seen = Arc::new(Seen::default());
    make_due(&stored.store, ["bad".to_owned()]).await;
    let (stop, running) = start(&stored.store, counter(&stored.store, &seen));
    until("it to be done", LONG, async || (seen.done("bad") == 2).then_some(())).await.unwrap();
    assert_eq!(told(&stored.store).await, once(["bad".to_owned()]));
    drop(stop);
    running.await.unwrap();
}

#[tokio::test]
async fn an_outage_of_the_database_stops_the_work_only_for_its_time() {
    let mut stored = database_of_its_own().await;
    let store = stored.store.clone();
    let seen = Arc::new(Seen::default());
    let again = Counter { next: Next::After(Duration::from_millis(20)), ..counter(&store, &seen) };
    let (stop, running) = start(&store, again);
    make_due(&store, ["steady".to_owned()]).await;
    until("work before", LONG, async || (seen.done("steady") >= 2).then_some(())).await.unwrap();
    stored.postgres().kill().await.unwrap();
    stored.postgres().restart().await.unwrap();
    let before = seen.done("steady");
    until("work after", LONG, async || (seen.done("steady") >= before + 3).then_some(())).await.unwrap();
    drop(stop);
    running.await.unwrap();
}
