//! The metrics scraper reads what Prometheus would.

use anyhow::Result;
use axum::Router;
use axum::routing::get;
use slipway_testkit::metrics::Scrape;

const PAGE: &str = r#"
# HELP rollouts_total Rollouts by outcome.
# TYPE rollouts_total counter
rollouts_total{outcome="succeeded",cluster="prod-eu"} 3
rollouts_total{outcome="succeeded",cluster="prod-us"} 4 1712345678000
rollouts_total{outcome="rolled back", cluster="prod-eu",} 1e0
# TYPE build_info gauge
build_info{note="a \"quoted\", {braced} \\ value\nin two lines"} 1
queue_depth 0
unknown_since NaN
# TYPE apply_seconds histogram
apply_seconds_bucket{cluster="prod-eu",le="0.5"} 1
apply_seconds_bucket{cluster="prod-eu",le="+Inf"} 2
apply_seconds_sum{cluster="prod-eu"} 1.75
apply_seconds_count{cluster="prod-eu"} 2
apply_seconds_bucket{cluster="prod-us",le="0.5"} 5 # {trace_id="abc"} 0.25
apply_seconds_bucket{cluster="prod-us",le="+Inf"} 5
apply_seconds_sum{cluster="prod-us"} 0.25
apply_seconds_count{cluster="prod-us"} 5
"#;

#[test]
fn a_series_is_found_by_name_and_labels() -> Result<()> {
    let scrape = Scrape::parse(PAGE)?;
    let succeeded = [("outcome", "succeeded")];
    assert_eq!(scrape.value("rollouts_total", &[("cluster", "prod-us"), succeeded[0]]), Some(4.0));
    assert_eq!(scrape.value("rollouts_total", &succeeded), Some(7.0), "several series add up");
    assert_eq!(scrape.value("rollouts_total", &[("outcome", "rolled back")]), Some(1.0));
    assert_eq!(scrape.value("rollouts_total", &[("outcome", "lost")]), None);
    assert_eq!(scrape.value("rollouts", &[]), None);
    assert_eq!(scrape.value("queue_depth", &[]), Some(0.0));
    assert!(scrape.value("unknown_since", &[]).is_some_and(f64::is_nan));
    assert_eq!(scrape.kind("rollouts_total"), Some("counter"));
    Ok(())
}

#[test]
fn labels_are_unescaped() -> Result<()> {
    let scrape = Scrape::parse(PAGE)?;
    let note = "a \"quoted\", {braced} \\ value\nin two lines";
    assert_eq!(scrape.value("build_info", &[("note", note)]), Some(1.0));
    Ok(())
}

#[test]
fn a_histogram_is_read_for_one_series_and_over_all() -> Result<()> {
    let scrape = Scrape::parse(PAGE)?;
    let one = scrape.histogram("apply_seconds", &[("cluster", "prod-eu")]).expect("the page has it");
    assert_eq!((one.count, one.sum), (2.0, 1.75));
    assert_eq!(one.bucket(0.5), Some(1.0));
    assert_eq!(one.bucket(f64::INFINITY), Some(2.0));
    assert_eq!(one.bucket(0.7), None);
    let all = scrape.histogram("apply_seconds", &[]).expect("the page has it");
    assert_eq!((all.count, all.sum), (7.0, 2.0));
    assert_eq!(all.buckets, [(0.5, 6.0), (f64::INFINITY, 7.0)]);
    assert_eq!(scrape.histogram("rollouts_total", &[]), None);
    Ok(())
}

#[test]
fn nonsense_is_refused_with_its_line() {
    for bad in ["9lives 1", "name", "name{label=\"open} 1", "name{label=bare} 1", "name three", "{} 1"] {
        let error = Scrape::parse(&format!("queue_depth 0\n{bad}\n")).expect_err(bad);
        assert!(error.to_string().contains(&format!("line 2: {bad}")), "{error:#}");
    }
}

#[tokio::test]
async fn a_page_is_fetched() -> Result<()> {
    slipway_testkit::init();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(async {
        axum::serve(listener, Router::new().route("/metrics", get(|| async { PAGE }))).await
    });
    let scrape = Scrape::get(&format!("http://{address}/metrics")).await?;
    assert_eq!(scrape.value("queue_depth", &[]), Some(0.0));
    let error = Scrape::get(&format!("http://{address}/nothing")).await.expect_err("there is no such page");
    assert!(error.to_string().contains("404"), "{error:#}");
    server.abort();
    Ok(())
}
