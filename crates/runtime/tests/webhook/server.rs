//! The server itself, called without an API server in between.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use reqwest::{Certificate, Client, Response};
use serde_json::{Value, json};
use slipway_runtime::webhook::{
    Certificates, Fixed, Limits, Review, RunningWebhooks, Validate, Verdict, WebhookOptions, WebhookServer,
    WebhookSet,
};
use slipway_testkit::certificates::Authority;
use slipway_testkit::until;
use tokio::io::AsyncReadExt as _;
use tokio::sync::Notify;

use crate::boats::{PATIENCE, anywhere};

fn client(bundle: &str) -> Client {
    let bundle = Certificate::from_pem_bundle(bundle.as_bytes()).unwrap();
    Client::builder().no_proxy().timeout(PATIENCE).tls_certs_only(bundle).tls_info(true).build().unwrap()
}

/// The certificate that a new connection is shown, verified by this bundle.
pub(crate) async fn shown(address: SocketAddr, bundle: &str) -> Result<Vec<u8>, reqwest::Error> {
    let response = client(bundle).get(format!("https://{address}/")).send().await?;
    let info = response.extensions().get::<reqwest::tls::TlsInfo>().unwrap();
    Ok(info.peer_certificate().unwrap().to_vec())
}

/// Does as the name of the object says.
#[derive(Default)]
struct Actor {
    entered: Notify,
    go_on: Notify,
}

struct Acts(Arc<Actor>);

impl Validate<ConfigMap> for Acts {
    async fn validate(&self, review: &Review<ConfigMap>) -> Verdict {
        match review.name.as_str() {
            "panic" => panic!("as told"),
            "sleep" => std::future::pending::<()>().await,
            "wait" => {
                self.0.entered.notify_one();
                self.0.go_on.notified().await;
            }
            _ => {}
        }
        Verdict::new()
    }
}

struct Served {
    server: RunningWebhooks,
    client: Client,
    actor: Arc<Actor>,
}

impl Served {
    async fn start(limits: Limits) -> Self {
        slipway_testkit::init();
        let authority = Authority::new("webhook test").unwrap();
        let pair = authority.server("webhook", &["127.0.0.1"]).unwrap();
        let fixed = Fixed {
            certificate: pair.certificate,
            key: pair.key,
            authority: Some(authority.certificate().to_owned()),
        };
        let actor = Arc::new(Actor::default());
        let set = WebhookSet::new().validate("actor", Acts(Arc::clone(&actor)));
        let options = WebhookOptions::new(anywhere(), Certificates::fixed(fixed)).limits(limits);
        let server = WebhookServer::start(set, options).await.unwrap();
        assert!(server.ready());
        Self { server, client: client(authority.certificate()), actor }
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.server.local_addr())
    }

    async fn review(&self, name: &str) -> Response {
        self.client.post(self.url("/validate")).json(&review(name)).send().await.unwrap()
    }
}

fn review(name: &str) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "1", "operation": "CREATE", "name": name, "namespace": "default",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "userInfo": {}, "object": {"metadata": {"name": name}},
    }})
}

#[tokio::test]
async fn what_is_no_review_is_refused_with_a_reason() {
    let served = Served::start(Limits { admission_body: 1024, ..Limits::default() }).await;
    let post = |path: &str, kind: &str, body: String| {
        served.client.post(served.url(path)).header("content-type", kind.to_owned()).body(body).send()
    };
    let table = [
        ("/validate", "text/plain", "{}".to_owned(), 400, "expected content of type application/json"),
        ("/validate", "application/json", "[".to_owned(), 400, "the body is not a JSON object"),
        (
            "/validate",
            "application/json",
            "{}".to_owned(),
            400,
            "expected AdmissionReview of admission.k8s.io/v1",
        ),
        (
            "/convert",
            "application/json",
            "{}".to_owned(),
            400,
            "expected ConversionReview of apiextensions.k8s.io/v1",
        ),
        ("/validate", "application/json", " ".repeat(1025), 413, "the review is larger than 1024 bytes"),
        ("/elsewhere", "application/json", "{}".to_owned(), 404, "there is no webhook at /elsewhere"),
    ];
    for (path, kind, body, status, words) in table {
        let response = post(path, kind, body).await.unwrap();
        assert_eq!(response.status(), status, "{path} {kind}");
        let text = response.text().await.unwrap();
        assert!(text.starts_with(words), "{text}");
    }
    let response = served.client.get(served.url("/validate")).send().await.unwrap();
    assert_eq!(response.status(), 405);
}

#[tokio::test]
async fn author_code_that_panics_or_hangs_harms_its_own_request_only() {
    let served = Served::start(Limits { handler: Duration::from_millis(200), ..Limits::default() }).await;
    let response = served.review("panic").await;
    assert_eq!(response.status(), 500);
    assert!(response.text().await.unwrap().contains("webhook actor failed inside"));
    let response = served.review("sleep").await;
    assert_eq!(response.status(), 504);
    assert!(response.text().await.unwrap().contains("webhook actor did not answer in time"));
    let response = served.review("fine").await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.json::<Value>().await.unwrap()["response"]["allowed"], true);
}

#[tokio::test]
async fn a_stop_waits_for_what_is_under_way() {
    let Served { server, client, actor } = Served::start(Limits::default()).await;
    let address = server.local_addr();
    let request = client.post(format!("https://{address}/validate")).json(&review("wait"));
    let under_way = tokio::spawn(request.send());
    actor.entered.notified().await;
    let stopping = tokio::spawn(server.stop(PATIENCE));
    until("the port to be closed", PATIENCE, async || {
        tokio::net::TcpStream::connect(address).await.is_err().then_some(())
    })
    .await
    .unwrap();
    assert!(!stopping.is_finished());
    actor.go_on.notify_one();
    assert_eq!(under_way.await.unwrap().unwrap().status(), 200);
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_stop_does_not_wait_for_ever() {
    let Served { server, client, actor } = Served::start(Limits::default()).await;
    let request = client.post(format!("https://{}/validate", server.local_addr())).json(&review("wait"));
    let under_way = tokio::spawn(request.send());
    actor.entered.notified().await;
    server.stop(Duration::from_millis(50)).await;
    assert!(under_way.await.unwrap().is_err());
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let served = Served::start(Limits { headers: Duration::from_millis(50), ..Limits::default() }).await;
    let mut silent = tokio::net::TcpStream::connect(served.server.local_addr()).await.unwrap();
    let read = tokio::time::timeout(PATIENCE, silent.read(&mut [0; 16])).await.unwrap();
    assert_eq!(read.unwrap_or(0), 0);
}
