//! The client against servers that misbehave in ways that real ones do.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use slipway_client::{Client, ClientError, Renew, Token};
use slipway_contract::server::{EventsQuery, VersionReply};
use slipway_contract::{Endpoint, Method};
use slipway_domain::access::Permission;
use support::{Answer, Server};

const REMOVE: Endpoint =
    Endpoint::new(Method::Delete, "/things/{name}", "removeThing", Permission::Read, 1).gives_nothing(204);
const MAKE: Endpoint =
    Endpoint::new(Method::Post, "/things", "makeThing", Permission::Read, 1).gives::<VersionReply>(200);

fn version() -> Answer {
    Answer::json(200, r#"{"version":"1.2.3"}"#)
}

#[tokio::test]
async fn a_call_that_harms_nobody_is_repeated_when_the_connection_breaks() {
    let server = Server::answering([Answer::Nothing, Answer::Nothing, version()]).await;
    let client = server.client();
    assert_eq!(client.version().await.unwrap().version, "1.2.3");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_post_is_repeated_under_one_key() {
    let server = Server::answering([Answer::Nothing, version()]).await;
    server.client().call(&MAKE, &[]).send::<VersionReply>().await.unwrap();
    let keys: Vec<_> = server.requests().iter().map(|request| request.header("idempotency-key")).collect();
    assert_eq!(keys.len(), 2);
    assert!(keys[0].is_some() && keys[0] == keys[1]);
}

#[tokio::test]
async fn a_removal_that_may_have_arrived_is_not_repeated() {
    let server = Server::answering([Answer::Nothing, version()]).await;
    let error = server.client().call(&REMOVE, &["a/b c"]).send_only().await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].path, "/api/v1/things/a%2Fb%20c");
}

#[tokio::test]
async fn the_servers_own_sentence_comes_back() {
    let refusal = r#"{"error":{"code":"NOT_FOUND","message":"there is no thing a","details":[],"traceId":"t","timestamp":"2026-01-02T03:04:05Z"}}"#;
    let server = Server::answering([Answer::json(404, refusal), Answer::json(502, "<html>")]).await;
    let error = server.client().call(&REMOVE, &["a"]).send_only().await.unwrap_err();
    assert_eq!((error.to_string().as_str(), error.code()), ("there is no thing a", Some("NOT_FOUND")));
    let error = server.client().call(&REMOVE, &["a"]).send_only().await.unwrap_err();
    assert!(matches!(error, ClientError::Strange { status: 502, .. }), "{error}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_token() {
    let server = Server::answering([Answer::redirect("https://evil.example/")]).await;
    let error = server.client().with_token("sesame").version().await.unwrap_err();
    assert!(matches!(error, ClientError::Strange { status: 302, .. }), "{error}");
    assert_eq!(server.requests().len(), 1);
}

struct Renewal(AtomicUsize);

impl Renew for Renewal {
    fn renew<'a>(&'a self, _: &'a Client) -> BoxFuture<'a, Result<Option<Token>, ClientError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let ends = Timestamp::now() + SignedDuration::from_hours(1);
        Box::pin(async move { Ok(Some(Token::new("new", Some(ends)))) })
    }
}

#[tokio::test]
async fn a_token_that_ends_soon_is_renewed_once() {
    let server = Server::answering([version(), version()]).await;
    let renewal = Arc::new(Renewal(AtomicUsize::new(0)));
    let client = server.client().renewing(Arc::<Renewal>::clone(&renewal));
    client.set_token(Some(Token::new("old", Some(Timestamp::now() + SignedDuration::from_mins(5)))));
    for _ in 0..2 {
        client.version().await.unwrap();
    }
    assert_eq!(renewal.0.load(Ordering::SeqCst), 1);
    for request in server.requests() {
        assert_eq!(request.header("authorization").as_deref(), Some("Bearer new"));
    }
}

fn event(number: i64) -> String {
    format!(
        "id: {number}\nevent: cluster\ndata: {{\"number\":{number},\"at\":\"2026-01-02T03:04:05Z\",\"topic\":\"cluster\",\
         \"subject\":\"eu\",\"kind\":\"registered\",\"data\":{{}}}}\n\n"
    )
}

#[tokio::test]
async fn events_go_on_after_the_last_one_when_the_server_was_away() {
    let server = Server::answering([
        Answer::stream(&(event(1) + &event(2))),
        Answer::Nothing,
        Answer::stream(&event(3)),
    ])
    .await;
    let mut follow = server.client().follow(EventsQuery::default(), None);
    for number in 1..=3 {
        assert_eq!(follow.next().await.unwrap().number, number);
    }
    let asked: Vec<_> = server.requests().iter().map(|request| request.header("last-event-id")).collect();
    assert_eq!(asked.first(), Some(&None));
    assert_eq!(asked.last(), Some(&Some("2".to_owned())));
}

#[tokio::test]
async fn a_stream_that_is_refused_ends_with_the_reason() {
    let refusal = r#"{"error":{"code":"UNAUTHORIZED","message":"log in first","details":[],"traceId":"t","timestamp":"2026-01-02T03:04:05Z"}}"#;
    let server = Server::answering([Answer::json(401, refusal)]).await;
    let error = server.client().follow(EventsQuery::default(), None).next().await.unwrap_err();
    assert_eq!(error.to_string(), "log in first");
}

#[tokio::test]
async fn only_a_server_with_the_right_certificate_is_talked_to() {
    let (server, authority) = Server::over_tls([version(), version()]).await;
    let builder = || Client::builder(server.address());
    let error = builder().build().unwrap().version().await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
    let trusting = builder().ca_file(authority.as_ref()).unwrap().build().unwrap();
    assert_eq!(trusting.version().await.unwrap().version, "1.2.3");
    assert_eq!(builder().insecure().build().unwrap().version().await.unwrap().version, "1.2.3");
}

#[test]
fn a_file_without_certificates_is_refused() {
    slipway_testkit::init();
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Client::builder("https://localhost").ca_file(file.path()).unwrap_err();
    assert!(error.to_string().starts_with("the certificates of "), "{error}");
}

#[test]
fn what_is_no_address_is_refused() {
    slipway_testkit::init();
    for bad in ["", "localhost:5000", "ftp://x", "https://"] {
        assert!(matches!(Client::builder(bad).build(), Err(ClientError::Address(_))), "{bad}");
    }
}
