//! A program that is told by signed requests, and remembers them. Use it with `#[path] mod receiver;`.
#![allow(dead_code, reason = "each test program uses the part it needs")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use serde_json::Value;
use slipway_infra::webhook::{ReceiverSettings, Secrets, Webhooks, verify};
use slipway_testkit::{Scratch, scratch, until};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The program.
pub(crate) struct Program {
    heard: Arc<Ears>,
    url: String,
    directory: Scratch,
}

#[derive(Default)]
struct Ears {
    requests: Mutex<Vec<(HeaderMap, Bytes)>>,
    refuse: AtomicU32,
}

async fn hear(State(ears): State<Arc<Ears>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let refused = ears.refuse.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    if refused.is_ok() {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    ears.requests.lock().unwrap().push((headers, body));
    StatusCode::NO_CONTENT
}

impl Program {
    pub(crate) async fn start() -> Self {
        let heard = Arc::<Ears>::default();
        let router = Router::new().fallback(hear).with_state(Arc::clone(&heard));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let directory = scratch("receiver").unwrap();
        std::fs::write(directory.path().join("secret"), format!("{SECRET}\n")).unwrap();
        Self { heard, url, directory }
    }

    /// Refuses so many requests before it listens again.
    pub(crate) fn refuse_next(&self, requests: u32) {
        self.heard.refuse.store(requests, Ordering::SeqCst);
    }

    /// What tells it, under the name `chat`.
    pub(crate) fn webhooks(&self) -> Webhooks {
        Webhooks::new([ReceiverSettings::new("chat", self.url.parse().unwrap(), self.secret_file())]).unwrap()
    }

    fn secret_file(&self) -> PathBuf {
        self.directory.path().join("secret")
    }

    /// What it heard, each with its id; every request has to be signed as it should.
    pub(crate) fn heard(&self) -> Vec<(String, Value)> {
        let secrets = Secrets::parse(SECRET).unwrap();
        let requests = self.heard.requests.lock().unwrap().clone();
        let checked = |(headers, body): (HeaderMap, Bytes)| {
            let header = |name: &str| headers[name].to_str().unwrap();
            let (id, time) = (header("webhook-id"), header("webhook-timestamp"));
            verify(&secrets, id, time, header("webhook-signature"), &body, Timestamp::now()).unwrap();
            (id.to_owned(), serde_json::from_slice(&body).unwrap())
        };
        requests.into_iter().map(checked).collect()
    }

    /// Returns when it heard of a kind.
    pub(crate) async fn hears(&self, kind: &str) -> Value {
        until(&format!("the program to hear of {kind}"), Duration::from_mins(1), async || {
            self.heard().into_iter().find(|(_, content)| content["type"] == kind).map(|(_, content)| content)
        })
        .await
        .unwrap()
    }
}
