//! The one write, and what is read of it, on a real PostgreSQL.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod support;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use slipway_domain::access::Actor;
use slipway_domain::audit::{AuditEntry, AuditResult};
use slipway_domain::event::{Event, Topic};
use slipway_infra::postgres::{MigrateError, PostgresStore, migrate};
use slipway_orchestrator::changes::Work;
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::store::{
    AuditFilter, AuditRows as _, EventRows as _, Message, OUTBOX, OutboxRows as _, Recipient, WorkRows as _,
};
use slipway_orchestrator::ports::{Store as _, StoreError};
use slipway_orchestrator::{Changeset, Fence};
use slipway_testkit::until;
use sqlx::Executor as _;
use support::{database, database_of_its_own};

const LEASE: Duration = Duration::from_secs(30);
const LONG: Duration = Duration::from_mins(1);

fn work(key: &str) -> Work {
    Work { kind: "counting", key: key.to_owned() }
}

fn event(subject: &str) -> Event {
    Event {
        topic: Topic::Cluster,
        subject: subject.to_owned(),
        kind: "changed".to_owned(),
        data: json!({"to": subject}),
    }
}

fn entry(resource: &str) -> AuditEntry {
    AuditEntry::done(&Actor::system("test"), "cluster.change", resource, "changed")
        .changing(None, Some(json!({"name": resource})))
}

fn message(key: &str) -> Message {
    Message {
        to: Recipient::Mail { address: "ada@example.test".to_owned() },
        key: key.to_owned(),
        kind: "approval.required".to_owned(),
        subject: "A decision waits".to_owned(),
        text: "Look at it.".to_owned(),
        facts: json!({"approval": 7}),
    }
}

fn everything(name: &str) -> Changeset {
    Changeset::new()
        .audit(entry(name))
        .tell(event(name))
        .send(message(name))
        .due(work(name), Timestamp::now() - Duration::from_secs(1))
}

/// How many rows there are of everything that a commit writes.
async fn rows(store: &PostgresStore) -> (i64, i64, i64, i64) {
    sqlx::query_as(
        "SELECT (SELECT count(*) FROM audit_log), (SELECT count(*) FROM events),
             (SELECT count(*) FROM outbox), (SELECT count(*) FROM work)",
    )
    .fetch_one(store.pool())
    .await
    .unwrap()
}

fn window() -> Window {
    Window::new(Some(100), None).unwrap()
}

#[tokio::test]
async fn a_commit_writes_everything() {
    let stored = database().await;
    let store = &stored.store;
    store.commit(everything("prod-eu")).await.unwrap();
    assert_eq!(rows(store).await, (1, 1, 1, 2), "the message is work too");
    let audit = store.audit(&AuditFilter::default(), window()).await.unwrap();
    assert_eq!((audit.total, audit.items.len()), (1, 1));
    let kept = &audit.items[0];
    assert_eq!((kept.actor_kind.as_str(), kept.actor.as_str()), ("system", "system:test"));
    assert_eq!((kept.resource.as_str(), kept.result), ("prod-eu", AuditResult::Success));
    assert_eq!((&kept.before, &kept.after), (&None, &Some(json!({"name": "prod-eu"}))));
    assert!((Timestamp::now() - kept.at).get_seconds().abs() < 600, "{}", kept.at);
    let events = store.events_after(0, 10).await.unwrap();
    assert_eq!(events.iter().map(|record| &record.event).collect::<Vec<_>>(), [&event("prod-eu")]);
}

#[tokio::test]
async fn a_commit_that_fails_at_its_end_writes_nothing() {
    let stored = database().await;
    let store = &stored.store;
    let mut changes = everything("prod-eu");
    // PostgreSQL has no NUL in text: the last statement fails.
    changes.events.push(event("\0"));
    assert!(matches!(store.commit(changes).await, Err(StoreError::Other(_))));
    assert_eq!(rows(store).await, (0, 0, 0, 0));
    store.commit(everything("prod-us")).await.unwrap();
    assert_eq!(store.last_event().await.unwrap(), 1, "numbers that were not committed are given again");
}

#[tokio::test]
async fn a_server_that_was_fenced_out_writes_nothing() {
    let stored = database().await;
    let (one, two) = (&stored.store, stored.another("two").await);
    one.commit(Changeset::new().due(work("a"), Timestamp::now())).await.unwrap();
    let old = one.claim("counting", 1, Duration::ZERO).await.unwrap().remove(0);
    let new = until("the lease to end", LONG, async || two.claim("counting", 1, LEASE).await.unwrap().pop())
        .await
        .unwrap();
    assert!(new.epoch > old.epoch);
    let before = rows(one).await;
    let lost = one.commit(everything("late").fenced(old.fence())).await;
    assert!(matches!(lost, Err(StoreError::Fenced)));
    assert_eq!(rows(one).await, before);
    assert!(!one.keep(&old, LEASE).await.unwrap());
    one.release(&old, Duration::ZERO).await.unwrap();
    assert!(two.keep(&new, LEASE).await.unwrap(), "what the loser gives back is not his");
    two.commit(everything("in time").fenced(new.fence())).await.unwrap();
    two.release(&new, LONG).await.unwrap();
    let released = two.commit(everything("too late").fenced(new.fence())).await;
    assert!(matches!(released, Err(StoreError::Fenced)), "whoever gave it back has it no more");
}

#[tokio::test]
async fn work_that_is_made_again_is_not_confused_with_what_it_was() {
    let stored = database().await;
    let store = &stored.store;
    store.commit(Changeset::new().due(work("a"), Timestamp::now())).await.unwrap();
    let old = store.claim("counting", 1, LEASE).await.unwrap().remove(0);
    store.commit(Changeset::new().end(work("a"))).await.unwrap();
    store.commit(Changeset::new().due(work("a"), Timestamp::now())).await.unwrap();
    let new = store.claim("counting", 1, LEASE).await.unwrap().remove(0);
    let late =
        store.commit(Changeset::new().fenced(Fence { epoch: old.epoch, work: new.work.clone() })).await;
    assert!(matches!(late, Err(StoreError::Fenced)));
    store.commit(Changeset::new().fenced(new.fence())).await.unwrap();
}

#[tokio::test]
async fn two_servers_claim_each_piece_once() {
    const PIECES: usize = 60;
    let stored = database().await;
    let (one, two) = (stored.store.clone(), stored.another("two").await);
    let mut changes = Changeset::new();
    for piece in 0..PIECES {
        changes = changes.due(work(&piece.to_string()), Timestamp::now() - Duration::from_secs(1));
    }
    one.commit(changes).await.unwrap();
    let take = |store: PostgresStore| async move {
        let mut mine = Vec::new();
        loop {
            let claims = store.claim("counting", 3, LEASE).await.unwrap();
            if claims.is_empty() {
                return mine;
            }
            mine.extend(claims.into_iter().map(|claim| claim.work.key));
        }
    };
    let (mut all, other) = tokio::join!(take(one), take(two));
    all.extend(other);
    all.sort();
    all.dedup();
    assert_eq!(all.len(), PIECES);
    assert_eq!(stored.store.claim("another kind", 3, LEASE).await.unwrap(), []);
}

#[tokio::test]
async fn work_given_back_is_due_when_it_was_said() {
    let stored = database().await;
    let store = &stored.store;
    assert_eq!(store.next_due("counting").await.unwrap(), None);
    store.commit(Changeset::new().due(work("a"), Timestamp::now())).await.unwrap();
    let claim = store.claim("counting", 1, LEASE).await.unwrap().remove(0);
    assert!(store.next_due("counting").await.unwrap().unwrap() > Duration::ZERO, "it is held");
    store.release(&claim, LONG).await.unwrap();
    let next = store.next_due("counting").await.unwrap().unwrap();
    assert!(next > LONG / 2 && next <= LONG, "{next:?}");
    assert_eq!(store.claim("counting", 1, LEASE).await.unwrap(), []);

    store.commit(Changeset::new().due(work("a"), Timestamp::now())).await.unwrap();
    let claim = store.claim("counting", 1, LEASE).await.unwrap().remove(0);
    store.commit(Changeset::new().due(work("a"), Timestamp::now())).await.unwrap();
    store.release(&claim, LONG).await.unwrap();
    assert_eq!(
        store.claim("counting", 1, LEASE).await.unwrap().len(),
        1,
        "what became due while it was held is not put off"
    );
}

#[tokio::test]
async fn event_numbers_have_no_gaps_and_no_one_overtakes() {
    const WRITERS: i64 = 4;
    const EACH: i64 = 15;
    let stored = database().await;
    let reader = stored.another("reader").await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = stored.store.clone();
        writers.spawn(async move {
            for turn in 0..EACH {
                let changes = Changeset::new().audit(entry("a")).tell(event(&format!("{writer}.{turn}")));
                store.commit(changes.tell(event("second"))).await.unwrap();
            }
        });
    }
    // A reader that goes on after the last number it saw sees each one once.
    let mut seen = 0;
    while seen < 2 * WRITERS * EACH {
        reader.wait_for_events(seen, LONG).await;
        for record in reader.events_after(seen, 7).await.unwrap() {
            assert_eq!(record.number, seen + 1);
            seen = record.number;
        }
    }
    writers.join_all().await;
    assert_eq!(reader.last_event().await.unwrap(), 2 * WRITERS * EACH);
    let numbers: Vec<i64> = reader
        .audit_after(&AuditFilter::default(), 0, 1000)
        .await
        .unwrap()
        .into_iter()
        .map(|record| record.number)
        .collect();
    assert_eq!(numbers, (1..=WRITERS * EACH).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_audit_cannot_be_changed_and_only_retention_takes_away() {
    let stored = database().await;
    let store = &stored.store;
    store.commit(Changeset::new().audit(entry("old"))).await.unwrap();
    for attack in ["UPDATE audit_log SET actor = 'nobody'", "DELETE FROM audit_log", "TRUNCATE audit_log"] {
        let error = store.pool().execute(attack).await.unwrap_err();
        assert!(error.to_string().contains("only ever added to"), "{attack}: {error}");
    }
    let past = Timestamp::now() - Duration::from_hours(1);
    assert_eq!(store.thin_audit(past).await.unwrap(), 0);
    assert_eq!(store.thin_audit(Timestamp::now() + LONG).await.unwrap(), 1);
    store.commit(Changeset::new().audit(entry("new"))).await.unwrap();
    let left = store.audit(&AuditFilter::default(), window()).await.unwrap();
    assert_eq!((left.items[0].number, left.items[0].resource.as_str()), (2, "new"), "numbers go on");
    store.pool().execute("DELETE FROM audit_log").await.expect_err("thinning left the door open");
}

#[tokio::test]
async fn the_audit_is_found_by_what_is_asked() {
    let stored = database().await;
    let store = &stored.store;
    let mut denied = AuditEntry::new(
        &Actor::anonymous(),
        "user.login",
        "user/ada",
        AuditResult::Denied,
        "the password is wrong",
    );
    denied.actor.trace_id = Some("4bf92f".to_owned());
    denied.actor.source = Some("192.0.2.7".to_owned());
    store
        .commit(Changeset::new().audit(entry("cluster/a")).audit(denied).audit(entry("cluster/b")))
        .await
        .unwrap();
    let found = async |filter: AuditFilter| -> Vec<i64> {
        let page = store.audit(&filter, window()).await.unwrap();
        assert_eq!(page.total, page.items.len() as u64);
        page.items.into_iter().map(|record| record.number).collect()
    };
    let all = AuditFilter::default;
    assert_eq!(found(all()).await, [3, 2, 1]);
    assert_eq!(found(AuditFilter { action: Some("cluster.".to_owned()), ..all() }).await, [3, 1]);
    assert_eq!(found(AuditFilter { action: Some("user.login".to_owned()), ..all() }).await, [2]);
    assert_eq!(found(AuditFilter { actor: Some("anonymous".to_owned()), ..all() }).await, [2]);
    assert_eq!(found(AuditFilter { resource: Some("cluster/a".to_owned()), ..all() }).await, [1]);
    assert_eq!(found(AuditFilter { result: Some(AuditResult::Denied), ..all() }).await, [2]);
    assert_eq!(found(AuditFilter { trace_id: Some("4bf92f".to_owned()), ..all() }).await, [2]);
    assert_eq!(found(AuditFilter { until: Some(Timestamp::now() - LONG), ..all() }).await, [0; 0]);
    assert_eq!(found(AuditFilter { since: Some(Timestamp::now() - LONG), ..all() }).await, [3, 2, 1]);
}

#[tokio::test]
async fn a_message_with_the_same_key_is_sent_once() {
    let stored = database().await;
    let store = &stored.store;
    store.commit(Changeset::new().send(message("approval/7"))).await.unwrap();
    store.commit(Changeset::new().send(message("approval/7")).audit(entry("again"))).await.unwrap();
    let claims = store.claim(OUTBOX, 10, LEASE).await.unwrap();
    assert_eq!(claims.len(), 1);
    let id: i64 = claims[0].work.key.parse().unwrap();
    let outgoing = store.outgoing(id).await.unwrap().unwrap();
    assert_eq!((outgoing.attempt, &outgoing.message), (0, &message("approval/7")));
    store.unsent(id, "connection refused", false).await.unwrap();
    store.release(&claims[0], Duration::ZERO).await.unwrap();
    assert_eq!(store.outgoing(id).await.unwrap().unwrap().attempt, 1);
    store.sent(id).await.unwrap();
    assert_eq!(store.outgoing(id).await.unwrap(), None);
    assert_eq!(store.claim(OUTBOX, 10, LEASE).await.unwrap(), [], "what is sent is no work any more");
    store.commit(Changeset::new().send(message("approval/7"))).await.unwrap();
    assert_eq!(store.claim(OUTBOX, 10, LEASE).await.unwrap(), []);
}

#[tokio::test]
async fn whoever_waits_for_events_is_told_by_another_server() {
    let stored = database().await;
    let two = stored.another("two").await;
    let seen = two.last_event().await.unwrap();
    let waits = tokio::spawn(async move {
        two.wait_for_events(seen, Duration::from_hours(1)).await;
        two.events_after(seen, 10).await.unwrap().len()
    });
    stored.store.commit(Changeset::new().tell(event("a"))).await.unwrap();
    assert_eq!(tokio::time::timeout(LONG, waits).await.expect("the news arrive").unwrap(), 1);
}

#[tokio::test]
async fn a_lost_listener_is_resumed_and_misses_nothing() {
    let stored = database().await;
    let two = stored.another("two").await;
    stored.store.commit(Changeset::new().tell(event("a"))).await.unwrap();
    two.wait_for_events(0, LONG).await;
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()
             AND (query ILIKE 'LISTEN%' OR query ILIKE '%counters WHERE%')";
    let waits = tokio::spawn(async move { two.wait_for_events(1, Duration::from_hours(1)).await });
    let cut: i64 = sqlx::query_scalar(cut).fetch_one(stored.store.pool()).await.unwrap();
    assert!(cut >= 1, "nobody listened");
    until("the database to be written again", LONG, async || {
        stored.store.commit(Changeset::new().tell(event("b"))).await.ok()
    })
    .await
    .unwrap();
    tokio::time::timeout(LONG, waits).await.expect("the news arrive").unwrap();
}

#[tokio::test]
async fn a_database_that_is_gone_is_told_apart_and_comes_back() {
    let mut stored = database_of_its_own().await;
    let store = stored.store.clone();
    store.ready().await.unwrap();
    stored.postgres().stop().await.unwrap();
    assert!(matches!(store.ready().await, Err(StoreError::Unavailable(_))));
    assert!(matches!(store.commit(everything("a")).await, Err(StoreError::Unavailable(_))));
    stored.postgres().restart().await.unwrap();
    until("the store to recover", LONG, async || store.ready().await.ok()).await.unwrap();
    store.commit(everything("a")).await.unwrap();
    store.wait_for_events(0, LONG).await;
}

#[tokio::test]
async fn servers_that_start_together_migrate_once() {
    let stored = database().await;
    let fresh = stored.fresh().await;
    let (one, two, three) = tokio::join!(migrate(&fresh.1), migrate(&fresh.1), migrate(&fresh.1));
    one.and(two).and(three).unwrap();
    migrate(&fresh.1).await.expect("a second time there is nothing to do");

    fresh.1.execute("INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'of a newer server', true, '', 0)").await.unwrap();
    migrate(&fresh.1).await.expect("a newer server may have gone further");

    fresh.1.execute("UPDATE _sqlx_migrations SET checksum = 'edited' WHERE version = 1").await.unwrap();
    let error = migrate(&fresh.1).await.unwrap_err();
    assert!(matches!(error, MigrateError::Edited(1)), "{error}");
}
