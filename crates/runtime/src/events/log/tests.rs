use super::*;

fn record(name: &str, reason: &str) -> Record {
    Record {
        kind: EventType::Warning,
        severity: Severity::Error,
        reason: reason.to_owned(),
        message: format!("{name} {reason}"),
        involved_object: InvolvedObject {
            api_version: "cloudnative.elide.dev/v1".to_owned(),
            kind: "Application".to_owned(),
            namespace: "shop".to_owned(),
            name: name.to_owned(),
            uid: None,
        },
        component: "application-controller".to_owned(),
        metadata: BTreeMap::new(),
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

#[test]
fn the_same_event_within_a_minute_of_the_last_is_counted() {
    let log = EventLog::new();
    for second in [0, 50, 100] {
        log.record_at(record("web", "Failed"), at(second));
    }
    log.record_at(record("web", "Failed"), at(161));
    log.record_at(record("web", "Other"), at(161));
    let events = log.query(&EventQuery::default());
    let counts: Vec<_> = events.iter().map(|event| (event.reason.as_str(), event.count)).collect();
    assert_eq!(counts, [("Other", 1), ("Failed", 1), ("Failed", 3)]);
    assert_eq!(events[2].first_timestamp, at(0));
    assert_eq!(events[2].last_timestamp, at(100));
}

#[test]
fn beyond_the_limit_the_oldest_go() {
    let log = EventLog::with_capacity(3);
    for (second, name) in ["a", "b", "c", "a", "d"].into_iter().enumerate() {
        log.record_at(record(name, "Failed"), at(i64::try_from(second).unwrap()));
    }
    let names: Vec<_> =
        log.query(&EventQuery::default()).into_iter().map(|event| event.involved_object.name).collect();
    assert_eq!(names, ["d", "a", "c"], "a was repeated, so that b is the oldest");
    assert_eq!(log.kept.lock().unwrap().newest.len(), 3);
}

#[test]
fn ids_carry_the_time_and_differ() {
    let log = EventLog::new();
    log.record_at(record("a", "Failed"), at(0));
    log.record_at(record("b", "Failed"), at(0));
    let events = log.query(&EventQuery::default());
    assert_ne!(events[0].id, events[1].id);
    for event in events {
        let parts: Vec<_> = event.id.split('-').collect();
        assert_eq!(parts[..2], ["evt", "1700000000000"]);
        assert_eq!(parts[2].len(), 9);
    }
}

#[test]
fn queries_narrow_by_every_field() {
    let log = EventLog::new();
    log.record_at(record("a", "Failed"), at(0));
    log.record_at(record("b", "Failed"), at(10));
    let names = |text: &str| -> Vec<String> {
        let query = EventQuery::parse(text).unwrap();
        log.query(&query).into_iter().map(|event| event.involved_object.name).collect()
    };
    assert_eq!(names("namespace=shop&kind=Application&type=Warning&severity=Error"), ["b", "a"]);
    assert_eq!(names("name=a"), ["a"]);
    assert_eq!(names("limit=1"), ["b"]);
    assert_eq!(names("since=2023-11-14T22:13:25Z"), ["b"]);
    assert_eq!(names("since=1700000005000"), ["b"]);
    for none in ["namespace=other", "kind=Pod", "type=Normal", "severity=Info"] {
        assert!(names(none).is_empty(), "{none}");
    }
    assert_eq!(
        EventQuery::parse("severty=Info").unwrap_err().to_string(),
        "severty is unknown; use namespace, name, kind, type, severity, since, limit"
    );
    assert_eq!(
        EventQuery::parse("severity=Bad").unwrap_err().to_string(),
        "severity: \"Bad\" is not one of Info, Warning, Error, Critical"
    );
}

#[test]
fn statistics_count_by_type_and_severity() {
    let log = EventLog::new();
    log.record_at(record("a", "Failed"), at(0));
    log.record_at(record("a", "Failed"), at(1));
    log.record_at(
        Record { severity: Severity::Info, kind: EventType::Normal, ..record("b", "Created") },
        at(4000),
    );
    let stats = log.stats_at(at(4000));
    assert_eq!(stats.total, 2);
    assert_eq!(stats.last_hour, 1);
    assert_eq!(stats.aggregated, 1);
    assert_eq!(stats.by_type, BTreeMap::from([("Normal".to_owned(), 1), ("Warning".to_owned(), 1)]));
    assert_eq!(stats.by_severity, BTreeMap::from([("Error".to_owned(), 1), ("Info".to_owned(), 1)]));
}

#[test]
fn watched_changes_become_events_and_reach_listeners() {
    let log = EventLog::new();
    let object = record("web", "").involved_object;
    log.observed(Change::Added, object.clone(), "c", false, || panic!("nobody listens"));
    let mut listener = log.subscribe();
    log.observed(Change::Modified, object.clone(), "c", true, || serde_json::json!({"kind": "Application"}));
    log.observed(Change::Deleted, object.clone(), "c", false, || Value::Null);
    log.observed(Change::Error, object, "c", false, || Value::Null);
    let sent = serde_json::to_string(&*listener.try_recv().unwrap()).unwrap();
    assert_eq!(sent, r#"{"type":"MODIFIED","object":{"kind":"Application"}}"#);
    let events = log.query(&EventQuery::default());
    let seen: Vec<_> =
        events.iter().map(|event| (event.reason.as_str(), event.kind, event.severity)).collect();
    assert_eq!(
        seen,
        [
            ("Error", EventType::Error, Severity::Error),
            ("Deleted", EventType::Warning, Severity::Warning),
            ("Updated", EventType::Normal, Severity::Error),
            ("Created", EventType::Normal, Severity::Info),
        ]
    );
}
