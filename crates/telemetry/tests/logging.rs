//! Logs and traces of a whole program, which is this test started again.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::process::{Command, Output};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use slipway_telemetry::{Format, Logging, init};
use tokio::sync::mpsc;

/// Not a claim: the program that the others start and look at.
#[test]
fn program() {
    if std::env::var_os("TEST_PROGRAM").is_none() {
        return;
    }
    let format = if std::env::var("TEST_FORMAT").is_ok_and(|format| format == "pretty") {
        Format::Pretty
    } else {
        Format::Json
    };
    let logging = Logging {
        filter: std::env::var("TEST_FILTER").unwrap_or_else(|_| "info".to_owned()),
        format,
        otlp_endpoint: std::env::var("TEST_ENDPOINT").ok(),
        ..Logging::new("test-operator", "1.2.3")
    };
    let guard = match init(&logging) {
        Ok(guard) => guard,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(3);
        }
    };
    // As sqlx does, to save itself the work where nobody reads.
    let _ = tracing::enabled!(target: "elsewhere", tracing::Level::DEBUG);
    let span =
        tracing::info_span!("reconcile", object = "shop/web", generation = 3, later = tracing::field::Empty);
    span.in_scope(|| {
        span.record("later", true);
        tracing::info_span!("apply", child = "deployment").in_scope(|| {
            tracing::warn!(attempt = 2, level = "odd", "could not \"apply\"\nyet");
        });
        tracing::debug!("details");
        tracing::error!(target: "kube_client::client::builder", "failed with status 503");
    });
    drop(span);
    let _ = tracing::enabled!(target: "elsewhere", tracing::Level::DEBUG);
    tracing::info!("outside");
    tracing::info_span!("request", traceId = "0af7").in_scope(|| tracing::info!("named"));
    guard.set_filter("debug").unwrap();
    tracing::debug!("details after all");
    assert!(guard.set_filter("nonsense").is_err());
    tracing::debug!("the old filter stays");
    guard.shutdown();
}

fn run(variables: &[(&str, &str)]) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["program", "--exact", "--nocapture", "--test-threads=1"])
        .env("TEST_PROGRAM", "1")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn lines(output: &Output) -> Vec<serde_json::Value> {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn json_lines_carry_their_spans_and_the_trace() {
    let output = run(&[]);
    assert!(output.status.success(), "{output:?}");
    let lines = lines(&output);
    let messages: Vec<_> = lines.iter().map(|line| line["message"].as_str().unwrap()).collect();
    assert_eq!(
        messages,
        ["could not \"apply\"\nyet", "outside", "named", "details after all", "the old filter stays"],
        "debug lines come with the changed filter, kube's own errors not at all"
    );
    let first = &lines[0];
    assert_eq!(first["level"], "WARN");
    assert_eq!(first["target"], "logging");
    assert_eq!(first["span"], "apply");
    assert_eq!(first["object"], "shop/web");
    assert_eq!(first["generation"], 3);
    assert_eq!(first["later"], true);
    assert_eq!(first["child"], "deployment");
    assert_eq!(first["attempt"], 2);
    assert_eq!(first["field.level"], "odd");
    assert_eq!(first["trace_id"].as_str().unwrap().len(), 32);
    assert_eq!(first["span_id"].as_str().unwrap().len(), 16);
    assert!(first["timestamp"].as_str().unwrap().ends_with('Z'));
    assert!(lines[1].get("object").is_none() && lines[1].get("trace_id").is_none());
    assert_eq!(lines[2]["traceId"], "0af7");
    assert!(lines[2].get("trace_id").is_none(), "one name is enough: {}", lines[2]);
}

#[test]
fn a_quiet_level_keeps_the_context_of_what_it_shows() {
    let output = run(&[("TEST_FILTER", "warn")]);
    let lines = lines(&output);
    assert_eq!(lines[0]["object"], "shop/web");
    assert_eq!(lines[0]["trace_id"].as_str().unwrap().len(), 32);
    assert_eq!(lines[1]["message"], "details after all");
}

#[test]
fn kubes_errors_are_shown_to_those_who_debug() {
    let output = run(&[("TEST_FILTER", "info,kube_client=debug")]);
    assert!(lines(&output).iter().any(|line| line["message"] == "failed with status 503"));
}

#[test]
fn whoever_only_asks_takes_no_line_away() {
    let lines = lines(&run(&[("TEST_FILTER", "info,somewhere=debug")]));
    assert_eq!(lines[0]["object"], "shop/web", "nor what a line belongs to");
    assert_eq!(lines[1]["message"], "outside");
}

#[test]
fn a_bad_filter_is_an_error_that_names_it() {
    let output = run(&[("TEST_FILTER", "kube=loud")]);
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.starts_with("the log filter \"kube=loud\" cannot be used: "), "{text}");
}

#[test]
fn pretty_lines_have_no_colours_where_there_is_no_terminal() {
    let output = run(&[("TEST_FORMAT", "pretty")]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("reconcile{object=\"shop/web\" generation=3 later=true}:apply"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_reach_the_collector_before_the_program_ends() {
    let (sender, mut received) = mpsc::unbounded_channel::<Bytes>();
    let collector = Router::new().route(
        "/v1/traces",
        post(move |body: Bytes| async move {
            let _ = sender.send(body);
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, collector).await });
    let output = tokio::task::spawn_blocking(move || run(&[("TEST_ENDPOINT", &endpoint)])).await.unwrap();
    assert!(output.status.success(), "{output:?}");
    let body = received.try_recv().expect("a batch came");
    let contains = |text: &str| body.windows(text.len()).any(|window| window == text.as_bytes());
    for text in ["service.name", "test-operator", "1.2.3", "reconcile", "apply", "shop/web"] {
        assert!(contains(text), "{text}");
    }
    let lines = lines(&output);
    let trace = lines[0]["trace_id"].as_str().unwrap();
    let bytes: Vec<u8> =
        (0..16).map(|index| u8::from_str_radix(&trace[index * 2..index * 2 + 2], 16).unwrap()).collect();
    assert!(body.windows(16).any(|window| window == bytes), "the log's trace id is the span's");
    serving.abort();
}

#[test]
fn a_collector_that_is_not_there_disturbs_nobody() {
    let output = run(&[("TEST_ENDPOINT", "http://127.0.0.1:1")]);
    assert!(output.status.success(), "{output:?}");
    let lines = lines(&output);
    let lost: Vec<_> = lines.iter().filter(|line| line["target"] == "slipway_telemetry").collect();
    assert_eq!(lost.len(), 1, "{lines:?}");
    assert_eq!(lost[0]["lost_spans"], 3);
    assert_eq!(lost[0]["endpoint"], "http://127.0.0.1:1");
}
