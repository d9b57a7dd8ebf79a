//! What comes before a handler, driven through a router, with the counts of a real PostgreSQL.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod support;

use http::{Method, StatusCode};
use serde_json::json;
use support::{Ask, Server};

#[tokio::test]
async fn a_handler_is_reached_only_with_a_token_that_holds() {
    let server = Server::start().await;
    for (token, wanted) in [
        (None, StatusCode::UNAUTHORIZED),
        (Some("expired"), StatusCode::UNAUTHORIZED),
        (Some("viewer"), StatusCode::OK),
    ] {
        let reply = server.ask(Ask::get("/things/one").token(token)).await;
        assert_eq!(reply.status, wanted, "{token:?}: {}", reply.body);
    }
    let refused = server.ask(Ask::get("/things/one")).await;
    assert_eq!(refused.error("code"), "UNAUTHORIZED");
    assert_eq!(refused.error("message"), "this needs a token; log in first: slipway login");
    assert!(refused.header("www-authenticate").starts_with("Bearer"));
    assert_eq!(server.handled(), 1, "a handler ran for nobody");
}

#[tokio::test]
async fn a_role_that_may_not_is_refused_before_its_body_is_read_and_the_refusal_is_told_on() {
    let server = Server::start().await;
    let reply = server.ask(Ask::post("/things", "not even JSON").token("viewer")).await;
    assert_eq!(reply.status, StatusCode::FORBIDDEN);
    assert_eq!(reply.error("message"), "viewer may not do this; it takes the role Operator or Admin");
    assert_eq!(server.denials(), ["viewer from 192.0.2.7: POST /api/v1/things"]);
    assert_eq!(server.handled(), 0);
}

#[tokio::test]
async fn an_open_endpoint_takes_anybody_and_counts_by_address() {
    let server = Server::start().await;
    for left in ["1", "0"] {
        let reply = server.ask(Ask::get("/open")).await;
        assert_eq!((reply.status, reply.header("x-ratelimit-remaining")), (StatusCode::OK, left));
    }
    assert_eq!(server.ask(Ask::get("/open")).await.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(server.ask(Ask::get("/open").from("192.0.2.8:1")).await.status, StatusCode::OK);
    let forwarded = Ask::get("/open").header("x-forwarded-for", "203.0.113.5");
    assert_eq!(
        server.ask(forwarded.clone()).await.status,
        StatusCode::TOO_MANY_REQUESTS,
        "whoever is no trusted proxy says nothing about where requests come from"
    );
    assert_eq!(server.ask(forwarded.from("10.0.0.2:1")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn servers_count_a_caller_together_and_endpoints_apart() {
    let one = Server::start().await;
    let two = one.another().await;
    for (server, left) in [(&one, "2"), (&two, "1"), (&one, "0")] {
        let reply = server.ask(Ask::get("/things").token("viewer")).await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(reply.header("x-ratelimit-limit"), "3");
        assert_eq!(reply.header("x-ratelimit-remaining"), left);
        assert!(reply.header("x-ratelimit-reset").parse::<i64>().unwrap() > 1_700_000_000);
    }
    let refused = two.ask(Ask::get("/things").token("viewer")).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.error("code"), "RATE_LIMIT_EXCEEDED");
    assert!(refused.error("message").starts_with("more than 3 of these requests in a minute"));
    assert!((1..=120).contains(&refused.header("retry-after").parse::<u64>().unwrap()));
    assert_eq!(two.ask(Ask::get("/things").token("operator")).await.status, StatusCode::OK);
    assert_eq!(one.ask(Ask::get("/things/one").token("viewer")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn many_at_once_do_not_get_more_than_the_limit() {
    let server = Server::start().await;
    let all = (0..12).map(|_| server.ask(Ask::get("/things").token("admin")));
    let replies = futures::future::join_all(all).await;
    let let_through = replies.iter().filter(|reply| reply.status == StatusCode::OK).count();
    assert_eq!(let_through, 3);
}

#[tokio::test]
async fn the_same_request_with_the_same_key_changes_nothing_again() {
    let one = Server::start().await;
    let two = one.another().await;
    let ask = Ask::post("/things", json!({"name": "a"})).token("operator").header("idempotency-key", "k-1");
    let first = one.ask(ask.clone()).await;
    let second = two.ask(ask.clone()).await;
    assert_eq!((first.status, second.status), (StatusCode::CREATED, StatusCode::CREATED));
    assert_eq!(first.body, second.body);
    assert_eq!(second.header("idempotency-replayed"), "true");
    assert_eq!(second.header("content-type"), "application/json");
    assert_eq!(one.handled() + two.handled(), 1);

    let other = one.ask(ask.clone().body(json!({"name": "b"}))).await;
    assert_eq!(other.status, StatusCode::CONFLICT);
    assert_eq!(
        other.error("message"),
        "this Idempotency-Key was used for another request; a new request needs a new key"
    );
    let somebody_else = one.ask(ask.token("admin")).await;
    assert_eq!(somebody_else.status, StatusCode::CREATED, "keys are the caller's own");
    assert_eq!(somebody_else.header("idempotency-replayed"), "");
}

#[tokio::test]
async fn of_two_requests_at_once_with_one_key_one_is_done_and_both_are_answered() {
    let server = Server::start().await;
    let ask =
        Ask::post("/things", json!({"name": "slow"})).token("operator").header("idempotency-key", "k-2");
    let (first, second) = tokio::join!(server.ask(ask.clone()), server.ask(ask));
    assert_eq!((first.status, second.status), (StatusCode::CREATED, StatusCode::CREATED));
    assert_eq!(first.body, second.body);
    assert_eq!(server.handled(), 1);
}

#[tokio::test]
async fn a_request_that_failed_may_be_mended_under_the_same_key() {
    let server = Server::start().await;
    let bad = Ask::post("/things", json!({"name": "a", "colour": 1}))
        .token("operator")
        .header("idempotency-key", "k-3");
    let refused = server.ask(bad.clone()).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(refused.error("message").contains("colour"), "{}", refused.body);
    assert_eq!(server.ask(bad.body(json!({"name": "a"}))).await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn what_holds_a_secret_is_never_kept() {
    let server = Server::start().await;
    let ask = Ask::post("/secrets", json!({"name": "a"})).token("operator").header("idempotency-key", "k-4");
    for _ in 0..2 {
        assert_eq!(server.ask(ask.clone()).await.status, StatusCode::CREATED);
    }
    assert_eq!(server.handled(), 2);
    assert_eq!(server.kept_replies().await, 0);
}

#[tokio::test]
async fn a_key_that_is_none_is_refused() {
    let server = Server::start().await;
    for key in ["", "a b", &"x".repeat(256)] {
        let ask = Ask::post("/things", json!({"name": "a"})).token("operator").header("idempotency-key", key);
        let reply = server.ask(ask).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{key:?}");
        assert_eq!(reply.body["error"]["details"][0]["path"], "Idempotency-Key");
    }
}

#[tokio::test]
async fn bodies_are_json_and_no_larger_than_the_row_says() {
    let server = Server::start().await;
    let post = |body: String| Ask::post("/things", "").token("admin").raw(body);
    let large = server.ask(post(format!("{{\"name\":\"{}\"}}", "x".repeat(100)))).await;
    assert_eq!(large.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(large.error("message"), "the body is larger than the 100 bytes taken here");
    let untold = server.ask(post("x".repeat(101)).streamed()).await;
    assert_eq!(untold.status, StatusCode::PAYLOAD_TOO_LARGE, "also where nobody told its length");
    let text = server.ask(post("{\"name\":\"a\"}".to_owned()).header("content-type", "text/plain")).await;
    assert_eq!(text.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    for bad in ["", "{", "[1]", "{\"name\":\"a\"} {}", "{\"name\":7}"] {
        let reply = server.ask(post(bad.to_owned())).await;
        assert_eq!(
            (reply.status, reply.error("code")),
            (StatusCode::BAD_REQUEST, "VALIDATION_ERROR"),
            "{bad}"
        );
    }
}

#[tokio::test]
async fn a_change_that_somebody_else_made_first_is_noticed() {
    let server = Server::start().await;
    let read = server.ask(Ask::get("/things/one").token("viewer")).await;
    assert_eq!(read.header("etag"), "\"1\"");
    let unchanged = Ask::get("/things/one").token("viewer").header("if-none-match", "\"1\"");
    assert_eq!(server.ask(unchanged).await.status, StatusCode::NOT_MODIFIED);

    let put = Ask::put("/things/one", json!({"name": "one"})).token("admin").header("if-match", "\"1\"");
    let changed = server.ask(put.clone()).await;
    assert_eq!((changed.status, changed.header("etag")), (StatusCode::OK, "\"2\""));
    let late = server.ask(put).await;
    assert_eq!((late.status, late.error("code")), (StatusCode::PRECONDITION_FAILED, "PRECONDITION_FAILED"));
}

#[tokio::test]
async fn every_error_has_one_shape_and_a_trace() {
    let server = Server::start().await;
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (ask, status, code) in [
        (Ask::get("/nowhere"), StatusCode::NOT_FOUND, "NOT_FOUND"),
        (Ask::of(Method::DELETE, "/things"), StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED"),
        (Ask::get("/panics").token("admin"), StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR"),
        (Ask::get("/plain").token("admin"), StatusCode::CONFLICT, "CONFLICT"),
        (Ask::get("/things"), StatusCode::UNAUTHORIZED, "UNAUTHORIZED"),
    ] {
        let reply = server.ask(ask.header("traceparent", parent)).await;
        assert_eq!((reply.status, reply.error("code")), (status, code), "{}", reply.body);
        assert_eq!(reply.error("traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(reply.header("x-trace-id"), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert!(reply.error("timestamp").parse::<jiff::Timestamp>().is_ok());
        assert!(!reply.error("message").is_empty() && !reply.error("message").contains("secret"));
        assert!(reply.body["error"]["details"].is_array());
    }
    let fresh = server.ask(Ask::get("/nowhere").header("traceparent", "junk")).await;
    assert_eq!(fresh.header("x-trace-id"), fresh.error("traceId"));
    assert_eq!(fresh.header("x-trace-id").len(), 32);
}

#[tokio::test]
async fn replies_carry_the_headers_of_a_careful_server() {
    let server = Server::start().await;
    let reply =
        server.ask(Ask::get("/things/one").token("viewer").header("origin", "https://evil.example")).await;
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("cache-control", "no-store"),
        ("strict-transport-security", ""),
        ("access-control-allow-origin", ""),
    ] {
        assert_eq!(reply.header(name), value, "{name}");
    }
    let over_tls = server.ask_as(Server::tls_for("https://pages.example"), Ask::get("/open")).await;
    assert!(over_tls.header("strict-transport-security").starts_with("max-age="));
    let allowed = Ask::get("/open").header("origin", "https://pages.example");
    let allowed = server.ask_as(Server::tls_for("https://pages.example"), allowed).await;
    assert_eq!(allowed.header("access-control-allow-origin"), "https://pages.example");
    let stranger = Ask::get("/open").from("192.0.2.9:1").header("origin", "https://evil.example");
    let stranger = server.ask_as(Server::tls_for("https://pages.example"), stranger).await;
    assert_eq!(stranger.header("access-control-allow-origin"), "");
}

#[tokio::test]
async fn a_handler_that_takes_too_long_is_given_up() {
    let server = Server::start().await;
    let reply = server.ask_as(Server::impatient(), Ask::get("/sleeps").token("admin")).await;
    assert_eq!((reply.status, reply.error("code")), (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"));
    assert!(reply.error("message").starts_with("the answer took longer than"));
}

#[tokio::test]
async fn a_server_that_is_busy_says_so() {
    let server = Server::start().await;
    let reply = server.ask_as(Server::without_room(), Ask::get("/open")).await;
    assert_eq!((reply.status, reply.error("code")), (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"));
    assert_eq!(reply.header("retry-after"), "1");
}

#[tokio::test]
async fn without_the_database_requests_fail_cleanly_and_recover() {
    let mut server = Server::with_a_database_of_its_own().await;
    assert_eq!(server.ask(Ask::get("/things").token("viewer")).await.status, StatusCode::OK);
    server.stop_the_database().await;
    let reply = server.ask(Ask::get("/things").token("viewer")).await;
    assert_eq!((reply.status, reply.error("code")), (StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE"));
    assert_eq!(reply.error("message"), "the database does not answer; try again in a moment");
    server.start_the_database().await;
    slipway_testkit::until("requests to be answered again", std::time::Duration::from_secs(30), async || {
        let reply = server.ask(Ask::get("/things").token("operator")).await;
        (reply.status == StatusCode::OK).then_some(())
    })
    .await
    .unwrap();
}
