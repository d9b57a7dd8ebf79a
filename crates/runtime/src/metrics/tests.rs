use super::*;

/// Each line of a page, with its name; headers must come before the samples and agree with them.
fn parse(page: &str) -> Vec<(String, String)> {
    let mut samples = Vec::new();
    let (mut family, mut kind) = (String::new(), String::new());
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, of_kind) = rest.split_once(' ').unwrap();
            (family, kind) = (name.to_owned(), of_kind.to_owned());
            assert!(["counter", "gauge", "histogram"].contains(&of_kind), "{line}");
        } else if !line.starts_with("# HELP ") {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            match kind.as_str() {
                "histogram" => {
                    assert!(
                        ["_sum", "_count", "_bucket"]
                            .iter()
                            .any(|suffix| *name == format!("{family}{suffix}"))
                    );
                }
                _ => assert_eq!(name, family),
            }
            value.parse::<f64>().unwrap();
            samples.push((series.to_owned(), value.to_owned()));
        }
    }
    samples
}

fn value<'a>(samples: &'a [(String, String)], series: &str) -> Option<&'a str> {
    samples.iter().find(|(name, _)| name == series).map(|(_, value)| value.as_str())
}

#[test]
fn every_name_of_the_source_is_there_as_it_is_written() {
    let metrics = Metrics::new();
    let second = Duration::from_secs(1);
    metrics.reconciled("application-controller", ReconcileResult::Error, Duration::from_millis(30));
    metrics.error("application-controller", "transient");
    metrics.webhook("application-validator", "CREATE", false, second);
    metrics.event("Normal", "Info");
    metrics.leader("application-operator-leader", true);
    metrics.leader_transition("application-operator-leader");
    let queue = metrics.queue("application");
    queue.depth(4);
    queue.added();
    queue.retried();
    queue.waited(second);
    queue.unfinished(2);
    metrics.resource_counts("Application", [("shop", Some("Running")), ("shop", None)]);
    metrics.request("PATCH", "deployments", "200", second);
    let (content_type, page) = metrics.render(None);
    assert!(content_type.starts_with("text/plain; version=0.0.4"));
    let samples = parse(&page);
    for (series, expected) in [
        ("controller_reconcile_total{controller=\"application-controller\",result=\"error\"}", "1"),
        ("controller_reconcile_errors_total{controller=\"application-controller\"}", "1"),
        (
            "controller_reconcile_errors_by_category_total{controller=\"application-controller\",\
             category=\"transient\"}",
            "1",
        ),
        ("controller_reconcile_duration_seconds_count{controller=\"application-controller\"}", "1"),
        ("resource_count{kind=\"Application\",namespace=\"shop\"}", "2"),
        ("resource_phase_count{kind=\"Application\",phase=\"Running\"}", "1"),
        ("event_total{type=\"Normal\",severity=\"Info\"}", "1"),
        (
            "webhook_requests_total{webhook=\"application-validator\",operation=\"CREATE\",allowed=\"false\"}",
            "1",
        ),
        ("webhook_duration_seconds_count{webhook=\"application-validator\"}", "1"),
        ("leader_election_status{lease=\"application-operator-leader\"}", "1"),
        ("leader_transitions_total{lease=\"application-operator-leader\"}", "1"),
        ("workqueue_depth{name=\"application\"}", "4"),
        ("workqueue_adds_total{name=\"application\"}", "1"),
        ("workqueue_retries_total{name=\"application\"}", "1"),
        ("workqueue_unfinished_work{name=\"application\"}", "2"),
        ("workqueue_queue_duration_seconds_count{name=\"application\"}", "1"),
        ("rest_client_requests_total{verb=\"PATCH\",resource=\"deployments\",code=\"200\"}", "1"),
        ("rest_client_request_duration_seconds_count{verb=\"PATCH\"}", "1"),
    ] {
        assert_eq!(value(&samples, series), Some(expected), "{series} in\n{page}");
    }
    assert!(value(&samples, "process_start_time_seconds").is_some());
}

#[test]
fn durations_have_the_buckets_of_the_source() {
    let metrics = Metrics::new();
    metrics.reconciled("a", ReconcileResult::Success, Duration::from_millis(30));
    let samples = parse(&metrics.render(None).1);
    let bounds: Vec<(&str, &str)> = samples
        .iter()
        .filter_map(|(series, count)| {
            let labels = series.strip_prefix("controller_reconcile_duration_seconds_bucket{le=\"")?;
            Some((labels.split('"').next()?, count.as_str()))
        })
        .collect();
    assert_eq!(
        bounds,
        [
            ("0.005", "0"),
            ("0.01", "0"),
            ("0.025", "0"),
            ("0.05", "1"),
            ("0.1", "1"),
            ("0.25", "1"),
            ("0.5", "1"),
            ("1.0", "1"),
            ("2.5", "1"),
            ("5.0", "1"),
            ("10.0", "1"),
            ("+Inf", "1"),
        ]
    );
}

#[test]
fn counts_of_objects_that_are_gone_vanish() {
    let metrics = Metrics::new();
    metrics.resource_counts("Application", [("a", Some("Running")), ("b", Some("Failed"))]);
    metrics.resource_counts("Application", [("a", Some("Running"))]);
    let page = metrics.render(None).1;
    assert!(page.contains("resource_count{kind=\"Application\",namespace=\"a\"} 1\n"), "{page}");
    assert!(!page.contains("namespace=\"b\"") && !page.contains("Failed"), "{page}");
}

#[test]
fn the_same_name_gives_the_same_metric_and_another_kind_is_refused() {
    let metrics = Metrics::new();
    metrics.counter("orders", "Orders.").unwrap().inc(&[("shop", "a\"b\\c\nd,e")]);
    metrics.counter("orders_total", "Orders").unwrap().inc(&[("shop", "a\"b\\c\nd,e")]);
    let page = metrics.render(None).1;
    assert!(page.contains("# HELP orders_total Orders.\n"), "{page}");
    assert!(page.contains("orders_total{shop=\"a\\\"b\\\\c\\nd,e\"} 2\n"), "{page}");
    assert_eq!(
        metrics.gauge("orders_total", "").unwrap_err().to_string(),
        "the metric orders_total cannot be registered: a counter (orders_total) has that name already"
    );
    assert_eq!(
        metrics.counter("controller_reconcile_total", "").unwrap_err().to_string(),
        "the metric controller_reconcile_total cannot be registered: the runtime has that name already"
    );
    assert_eq!(
        metrics.gauge("webhook_duration_seconds_sum", "").unwrap_err().to_string(),
        "the metric webhook_duration_seconds_sum cannot be registered: the runtime has that name already"
    );
    assert_eq!(metrics.gauge("a-b", "").unwrap_err(), MetricError::Name("a-b".to_owned()));
    assert_eq!(metrics.histogram("h", "", &[1.0, 0.5]).unwrap_err(), MetricError::Buckets("h".to_owned()));
}

#[test]
fn labels_count_together_in_any_order() {
    let metrics = Metrics::new();
    let gauge = metrics.gauge("stock", "Stock").unwrap();
    gauge.set(&[("b", "2"), ("a", "1")], 2.5);
    gauge.add(&[("a", "1"), ("b", "2")], 1.0);
    assert!((gauge.get(&[("a", "1"), ("b", "2")]).unwrap() - 3.5).abs() < 1e-9);
    gauge.remove(&[("b", "2"), ("a", "1")]);
    assert!(!metrics.render(None).1.contains("stock"));
}

/// Reads the labels of a series back, as Prometheus would.
fn labels(series: &str) -> Option<Vec<(String, String)>> {
    let inner = series.split_once('{')?.1.strip_suffix('}')?;
    let mut characters = inner.chars().peekable();
    let mut labels = Vec::new();
    while characters.peek().is_some() {
        let mut name = String::new();
        loop {
            match characters.next()? {
                '=' => break,
                next if next.is_ascii_alphanumeric() || next == '_' => name.push(next),
                _ => return None,
            }
        }
        let mut value = String::new();
        (characters.next()? == '"').then_some(())?;
        loop {
            match characters.next()? {
                '"' => break,
                '\\' => value.push(match characters.next()? {
                    'n' => '\n',
                    next @ ('"' | '\\') => next,
                    _ => return None,
                }),
                '\n' => return None,
                next => value.push(next),
            }
        }
        labels.push((name, value));
        if let Some(next) = characters.next() {
            (next == ',').then_some(())?;
        }
    }
    Some(labels)
}

proptest::proptest! {
    #[test]
    fn whatever_labels_are_given_the_page_can_be_read(
        given in proptest::collection::vec((".{0,8}", "(?s).{0,12}"), 0..4),
        help in "(?s).{0,20}",
    ) {
        let metrics = Metrics::new();
        let pairs: Vec<(&str, &str)> =
            given.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        metrics.counter("orders_total", &help).unwrap().inc(&pairs);
        metrics.histogram("times", &help, &[1.0]).unwrap().observe(&pairs, 0.5);
        let page = metrics.render(None).1;
        let orders: Vec<&str> = page.split('\n').filter(|line| line.starts_with("orders_total")).collect();
        proptest::prop_assert_eq!(orders.len(), 1);
        let (series, count) = orders[0].rsplit_once(' ').unwrap();
        proptest::prop_assert_eq!(count, "1");
        let wanted: std::collections::BTreeMap<String, String> =
            pairs.iter().map(|(name, value)| (names::label(name), (*value).to_owned())).collect();
        if wanted.is_empty() {
            proptest::prop_assert_eq!(series.trim_end_matches("{}"), "orders_total");
        } else {
            let found = labels(series).unwrap();
            proptest::prop_assert_eq!(found, wanted.into_iter().collect::<Vec<_>>());
        }
        let times = page.split('\n').filter(|line| line.starts_with("times_")).count();
        proptest::prop_assert_eq!(times, 4);
    }
}

#[tokio::test(start_paused = true)]
async fn timers_and_measured_futures_keep_what_they_took() {
    let metrics = Metrics::new();
    let histogram = metrics.histogram("step_seconds", "Steps", &[1.0, 5.0]).unwrap();
    let timer = histogram.timer(&[("step", "build")]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(timer.stop(), Duration::from_secs(2));
    histogram.timer(&[("step", "build")]).discard();
    drop(histogram.timer(&[("step", "build")]));

    let done: Result<u8, ()> = metrics.measure("price", async { Ok(7) }).await;
    assert_eq!(done, Ok(7));
    let failed: Result<(), &str> = metrics.measure("price", async { Err("no") }).await;
    assert_eq!(failed, Err("no"));
    let endless = metrics.measure("price", std::future::pending::<Result<(), ()>>());
    assert!(tokio::time::timeout(Duration::from_secs(1), endless).await.is_err());

    let page = metrics.render(None).1;
    assert!(page.contains("step_seconds_sum{step=\"build\"} 2.0\n"), "{page}");
    assert!(page.contains("step_seconds_count{step=\"build\"} 2\n"), "{page}");
    for result in ["success", "failure", "cancelled"] {
        let series =
            format!("operation_duration_seconds_count{{operation=\"price\",result=\"{result}\"}} 1\n");
        assert!(page.contains(&series), "{result} in {page}");
    }
}
