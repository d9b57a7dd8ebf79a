//! What is kept of the health of operators, on a real PostgreSQL.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod support;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use slipway_domain::health::{
    Baseline, HealthRules, Limits, Look, Memory, Observation, PodSeen, Verdict, WorkloadSeen, judge,
};
use slipway_infra::postgres::PostgresStore;
use slipway_orchestrator::Changeset;
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::store::{
    HealthCount, HealthRecord, HealthRows as _, HealthSample, HealthWrite, Place,
};
use slipway_orchestrator::ports::{Store as _, StoreError};
use support::database;
use uuid::Uuid;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn place() -> Place {
    Place { cluster: Uuid::new_v4().into(), operator: Uuid::new_v4().into() }
}

fn seen(now: Timestamp, ready: bool) -> Observation {
    let pod = PodSeen {
        uid: "uid".into(),
        name: "boats-1".into(),
        ready,
        phase: "Running".into(),
        created: now - SignedDuration::from_hours(1),
        trouble: None,
        containers: Vec::new(),
    };
    Observation {
        workloads: Look::Seen(vec![WorkloadSeen {
            kind: "Deployment".into(),
            namespace: "boats".into(),
            name: "boats".into(),
            exists: true,
            expected: 1,
            pods: vec![pod],
        }]),
        webhooks: Look::Seen(Vec::new()),
        resources: Look::Seen(Vec::new()),
        ..Observation::unseen(now, "")
    }
}

fn checked(place: Place, now: Timestamp, ready: bool, changed: bool) -> HealthWrite {
    let rules = HealthRules::default();
    let health = judge(&seen(now, ready), &Memory::default(), None, &rules, Duration::from_millis(20));
    let sample = HealthSample {
        at: now,
        verdict: health.verdict,
        changed,
        reasons: health.reasons.clone(),
        pods: (health.pods.ready, health.pods.expected),
        error_rate: health.reconciliation.error_rate,
    };
    let record = HealthRecord { health: Some(health), since: Some(now), ..HealthRecord::new(place) };
    HealthWrite::Record { record: Box::new(record), sample: Box::new(sample) }
}

async fn write(store: &PostgresStore, write: HealthWrite) {
    store.commit(Changeset::new().write(write)).await.unwrap();
}

fn window(limit: u32) -> Window {
    Window { limit, offset: 0 }
}

#[tokio::test]
async fn a_check_is_read_as_it_was_written() {
    let stored = database().await;
    let store = &stored.store;
    let place = place();
    assert_eq!(store.operator_health(place).await.unwrap(), None);
    write(store, HealthWrite::Watch(place)).await;
    assert_eq!(store.operator_health(place).await.unwrap(), Some(HealthRecord::new(place)));

    let HealthWrite::Record { record, sample } = checked(place, at("2026-11-15T12:00:00Z"), false, true)
    else {
        unreachable!()
    };
    let mut record = *record;
    record.episode.failures = 2;
    record.episode.since = record.since;
    let expected = record.clone();
    write(store, HealthWrite::Record { record: Box::new(record), sample: sample.clone() }).await;
    assert_eq!(store.operator_health(place).await.unwrap(), Some(expected.clone()));
    assert_eq!(store.operator_health_everywhere(place.operator).await.unwrap(), [expected]);
    assert_eq!(store.health_on_cluster(place.cluster).await.unwrap(), [(place.operator, Verdict::Unhealthy)]);
    let history = store.health_history(place, false, window(10)).await.unwrap();
    assert_eq!((history.total, history.items), (1, vec![*sample]));

    // Watching again loses nothing.
    write(store, HealthWrite::Watch(place)).await;
    assert!(store.operator_health(place).await.unwrap().unwrap().health.is_some());
    assert_eq!(store.health_places().await.unwrap(), [place]);
    let count = HealthCount { operator: place.operator, verdict: Verdict::Unhealthy, clusters: 1 };
    assert_eq!(store.health_counts().await.unwrap(), [count]);
}

#[tokio::test]
async fn what_nobody_looks_at_any_more_takes_no_check_and_leaves_nothing() {
    let stored = database().await;
    let store = &stored.store;
    let place = place();
    let late = store.commit(Changeset::new().write(checked(place, at("2026-11-15T12:00:00Z"), true, true)));
    assert!(matches!(late.await, Err(StoreError::Stale { .. })));

    write(store, HealthWrite::Watch(place)).await;
    write(store, checked(place, at("2026-11-15T12:00:00Z"), true, true)).await;
    let baseline = Baseline::of(&seen(Timestamp::now(), false), &Memory::default(), &Limits::default());
    write(store, HealthWrite::Baseline(place, Box::new(baseline.clone()))).await;
    assert_eq!(store.health_baseline(place).await.unwrap(), Some(baseline));
    write(store, HealthWrite::Forget(place)).await;
    assert_eq!(store.operator_health(place).await.unwrap(), None);
    assert_eq!(store.health_history(place, false, window(10)).await.unwrap().total, 0);
    assert_eq!(store.health_baseline(place).await.unwrap(), None);
}

#[tokio::test]
async fn a_newer_baseline_replaces_the_older() {
    let stored = database().await;
    let place = place();
    write(&stored.store, HealthWrite::Watch(place)).await;
    for ready in [false, true] {
        let now = at("2026-11-15T12:00:00Z");
        let baseline = Baseline::of(&seen(now, ready), &Memory::default(), &Limits::default());
        write(&stored.store, HealthWrite::Baseline(place, Box::new(baseline.clone()))).await;
        assert_eq!(stored.store.health_baseline(place).await.unwrap(), Some(baseline));
    }
}

#[tokio::test]
async fn history_is_thinned_to_one_an_hour_and_changes_stay() {
    let stored = database().await;
    let store = &stored.store;
    let (one, other) = (place(), place());
    for place in [one, other] {
        write(store, HealthWrite::Watch(place)).await;
    }
    // Two hours at one check in ten minutes, with one change in the middle of the second hour.
    let begin = at("2026-11-14T10:00:00Z");
    for check in 0..12 {
        let now = begin + SignedDuration::from_mins(10 * check);
        write(store, checked(one, now, check < 9, check == 9)).await;
    }
    write(store, checked(other, at("2026-11-14T10:30:00Z"), true, false)).await;

    let before = at("2026-11-14T11:45:00Z");
    assert_eq!(store.thin_health(before).await.unwrap(), 8);
    let times = |page: slipway_orchestrator::page::Page<HealthSample>| -> Vec<String> {
        page.items.iter().map(|sample| sample.at.strftime("%H:%M").to_string()).collect()
    };
    let left = store.health_history(one, false, window(100)).await.unwrap();
    assert_eq!(times(left), ["11:50", "11:30", "11:00", "10:00"], "first of the hour, change, not old yet");
    let changes = store.health_history(one, true, window(100)).await.unwrap();
    assert_eq!(times(changes), ["11:30"]);
    assert_eq!(store.health_history(other, false, window(100)).await.unwrap().total, 1, "others keep theirs");
    assert_eq!(store.thin_health(before).await.unwrap(), 0, "twice is once");

    let part = store.health_history(one, false, Window { limit: 2, offset: 1 }).await.unwrap();
    assert_eq!((part.total, part.has_more()), (4, true));
    assert_eq!(times(part), ["11:30", "11:00"]);
}
