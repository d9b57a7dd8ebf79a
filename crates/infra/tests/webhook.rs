//! Signed requests reach a real HTTP server, and only as they should.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_infra::notifier::Notifiers;
use slipway_infra::webhook::{ReceiverSettings, Secrets, WebhookError, Webhooks, verify};
use slipway_orchestrator::ports::notifier::Outlook;
use slipway_orchestrator::ports::store::{Message, Recipient};
use slipway_orchestrator::ports::{Notifier as _, NotifyError};
use slipway_testkit::{Scratch, scratch};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A program that is told, and remembers.
struct Program {
    address: String,
    heard: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
    directory: Scratch,
}

#[derive(Clone)]
struct Answers {
    heard: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
    status: StatusCode,
    body: usize,
    stalls: bool,
}

async fn hear(State(answers): State<Answers>, headers: HeaderMap, body: Bytes) -> Response {
    answers.heard.lock().unwrap().push((headers, body));
    if answers.stalls {
        std::future::pending::<()>().await;
    }
    Response::builder()
        .status(answers.status)
        .header("location", "/elsewhere")
        .body(Body::from("x".repeat(answers.body)))
        .unwrap()
}

impl Program {
    async fn answering(status: u16, body: usize, stalls: bool) -> Self {
        slipway_testkit::init();
        let heard = Arc::default();
        let status = StatusCode::from_u16(status).unwrap();
        let answers = Answers { heard: Arc::clone(&heard), status, body, stalls };
        let router = Router::new().fallback(hear).with_state(answers);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move { axum::serve(listener, router).await });
        let directory = scratch("webhook").unwrap();
        std::fs::write(directory.path().join("secret"), format!("{SECRET}\n")).unwrap();
        Self { address, heard, directory }
    }

    fn secret_file(&self) -> PathBuf {
        self.directory.path().join("secret")
    }

    fn settings(&self) -> ReceiverSettings {
        let url = format!("http://{}/hook", self.address).parse().unwrap();
        ReceiverSettings::new("chat", url, self.secret_file())
    }

    async fn told(&self) -> Result<(), NotifyError> {
        told(self.settings()).await
    }
}

async fn told(settings: ReceiverSettings) -> Result<(), NotifyError> {
    let webhooks = Webhooks::new([settings]).unwrap();
    Notifiers { webhooks, ..Notifiers::default() }.send(&message()).await
}

fn message() -> Message {
    Message {
        to: Recipient::Webhook { receiver: "chat".to_owned() },
        key: "approval/51c2/required/0/webhook/chat".to_owned(),
        kind: "approval.required".to_owned(),
        subject: "Approval Required".to_owned(),
        text: "Grüße".to_owned(),
        facts: json!({"approvalId": "51c2"}),
    }
}

#[tokio::test]
async fn a_request_can_be_verified_and_a_changed_one_cannot() {
    let program = Program::answering(204, 0, false).await;
    program.told().await.unwrap();
    program.told().await.unwrap();
    let heard = program.heard.lock().unwrap().clone();
    let (headers, body) = &heard[0];
    let header = |name: &str| headers[name].to_str().unwrap();
    let secrets = Secrets::parse(SECRET).unwrap();
    let check = |body: &[u8]| {
        let (id, time) = (header("webhook-id"), header("webhook-timestamp"));
        verify(&secrets, id, time, header("webhook-signature"), body, Timestamp::now())
    };
    assert_eq!(check(body), Ok(()));
    assert!(check(&[body, &b" "[..]].concat()).is_err());
    let content: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(
        content,
        json!({
            "id": header("webhook-id"),
            "type": "approval.required",
            "subject": "Approval Required",
            "text": "Grüße",
            "data": {"approvalId": "51c2"},
        })
    );
    assert_eq!(heard[1].0["webhook-id"], headers["webhook-id"], "the same message has the same id");
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let program = Program::answering(307, 0, false).await;
    let error = program.told().await.unwrap_err();
    assert_eq!(error.to_string(), "webhook chat answered 307; redirects are not followed");
    assert_eq!((error.outlook, program.heard.lock().unwrap().len()), (Outlook::Later, 1));
}

#[tokio::test]
async fn only_a_receiver_that_is_gone_is_left_alone_for_good() {
    let outlook = async |status| Program::answering(status, 0, false).await.told().await.unwrap_err().outlook;
    assert_eq!(outlook(500).await, Outlook::Later);
    assert_eq!(outlook(404).await, Outlook::Later);
    assert_eq!(outlook(410).await, Outlook::Never);
}

#[tokio::test]
async fn a_long_answer_is_not_read_to_its_end_and_counts_by_its_status() {
    Program::answering(200, 8 << 20, false).await.told().await.unwrap();
}

#[tokio::test]
async fn a_receiver_that_stalls_does_not_hold_the_sender() {
    let program = Program::answering(200, 0, true).await;
    let settings = ReceiverSettings { timeout: Duration::from_millis(300), ..program.settings() };
    let error = tokio::time::timeout(Duration::from_secs(20), told(settings)).await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "webhook chat does not answer");
}

#[tokio::test]
async fn an_error_names_the_receiver_and_not_its_address() {
    let program = Program::answering(200, 0, false).await;
    let port = slipway_testkit::free_port();
    let url = format!("http://127.0.0.1:{port}/a-path-that-is-a-secret").parse().unwrap();
    let error = told(ReceiverSettings { url, ..program.settings() }).await.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("chat") && !shown.contains("a-path-that-is-a-secret"), "{shown}");
}

#[tokio::test]
async fn receivers_that_would_be_told_in_the_clear_or_without_a_secret_are_refused() {
    let program = Program::answering(200, 0, false).await;
    let settings = |url: &str| ReceiverSettings { url: url.parse().unwrap(), ..program.settings() };
    let refused = |settings: ReceiverSettings| Webhooks::new([settings]).unwrap_err();
    assert!(matches!(refused(settings("http://chat.slipway.test/")), WebhookError::Clear { .. }));
    assert!(matches!(refused(settings("ftp://chat.slipway.test/")), WebhookError::Address { .. }));
    assert!(matches!(refused(settings("https://a:b@chat.slipway.test/")), WebhookError::Address { .. }));
    let told = ReceiverSettings { plain: true, ..settings("http://chat.slipway.test/") };
    assert!(Webhooks::new([told]).is_ok());
    assert!(matches!(
        Webhooks::new([program.settings(), program.settings()]),
        Err(WebhookError::Twice(name)) if name == "chat"
    ));
    std::fs::write(program.secret_file(), "short").unwrap();
    assert!(matches!(refused(program.settings()), WebhookError::Secret { .. }));
}
