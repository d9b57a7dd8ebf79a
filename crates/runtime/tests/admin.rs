//! The admin server over real connections, and its guard against a real API server.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use reqwest::StatusCode;
use serde_json::{Value, json};
use slipway_runtime::admin::{AdminServer, Health, Leadership, LeaseView, RunningAdmin};
use slipway_runtime::events::{Change, EventLog, InvolvedObject};
use slipway_runtime::metrics::Metrics;
use slipway_testkit::{ControlPlane, until};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const SOON: Duration = Duration::from_secs(30);

fn anywhere() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

struct Asking {
    base: String,
    client: reqwest::Client,
}

impl Asking {
    fn of(admin: &RunningAdmin) -> Self {
        slipway_testkit::init();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { base: format!("http://{}", admin.local_addr()), client }
    }

    async fn get(&self, path: &str, token: Option<&str>) -> (StatusCode, Value) {
        let mut request = self.client.get(format!("{}{path}", self.base));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let response = request.send().await.unwrap();
        let status = response.status();
        (status, response.json().await.unwrap_or(Value::Null))
    }
}

fn follower() -> Leadership {
    Leadership {
        is_leader: false,
        identity: "pod-1".to_owned(),
        lease: LeaseView {
            name: "application-operator-leader".to_owned(),
            namespace: "elide-system".to_owned(),
            holder_identity: Some("pod-0".to_owned()),
            ..LeaseView::default()
        },
    }
}

#[tokio::test]
async fn a_follower_is_ready_once_its_parts_are() {
    let health = Health::new();
    let (caches, webhooks) = (health.readiness("caches"), health.readiness("webhooks"));
    let admin =
        AdminServer::builder(anywhere()).health(health).leader(|| vec![follower()]).start().await.unwrap();
    let asking = Asking::of(&admin);
    let (status, body) = asking.get("/readyz", None).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(body["reasons"], json!(["caches: not started", "webhooks: not started"]));
    caches.ready();
    webhooks.ready();
    let (status, body) = asking.get("/readyz", None).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body, json!({"status": "ready", "reasons": [], "isLeader": false, "leader": "pod-0"}));
    caches.not_ready("the watch of Applications broke");
    let (status, body) = asking.get("/readyz", None).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(body["reasons"], json!(["caches: the watch of Applications broke"]));
    assert_eq!(asking.get("/healthz", None).await, (StatusCode::OK, json!({"status": "healthy"})));
    admin.stop(SOON).await;
}

#[tokio::test]
async fn a_part_that_shows_no_life_makes_the_process_unhealthy() {
    let health = Health::new();
    let queue = health.heartbeat("queue", Duration::ZERO);
    let admin = AdminServer::builder(anywhere()).health(health.clone()).start().await.unwrap();
    let asking = Asking::of(&admin);
    until("the heartbeat to be overdue", SOON, || async { (!health.overdue().is_empty()).then_some(()) })
        .await
        .unwrap();
    let (status, body) = asking.get("/healthz", None).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(body["status"], "unhealthy");
    assert!(body["reasons"][0].as_str().unwrap().starts_with("queue: no sign of life"), "{body}");
    queue.rest();
    assert_eq!(asking.get("/healthz", None).await.0, StatusCode::OK);
    admin.stop(SOON).await;
}

#[tokio::test]
async fn everything_that_is_open_is_shown() {
    let metrics = Metrics::new();
    metrics.event("Normal", "Info");
    let leads = Arc::new(AtomicBool::new(false));
    let second = Arc::clone(&leads);
    let admin = AdminServer::builder(anywhere())
        .info("application-operator", "1.2.3")
        .metrics(metrics)
        .leader(move || {
            let mut leases = vec![follower()];
            if second.load(Ordering::Relaxed) {
                leases.push(Leadership { is_leader: true, ..follower() });
            }
            leases
        })
        .queues(|| json!({"application": {"waiting": []}}))
        .crds(|| vec![json!({"kind": "CustomResourceDefinition"})])
        .start()
        .await
        .unwrap();
    let asking = Asking::of(&admin);
    let (_, info) = asking.get("/", None).await;
    assert_eq!(info["name"], "application-operator");
    assert_eq!(info["version"], "1.2.3");
    let (_, leader) = asking.get("/leader", None).await;
    assert_eq!(leader["isLeader"], false);
    assert_eq!(leader["identity"], "pod-1");
    assert_eq!(leader["lease"]["holderIdentity"], "pod-0");
    leads.store(true, Ordering::Relaxed);
    assert_eq!(asking.get("/leader", None).await.1.as_array().unwrap().len(), 2);
    assert_eq!(asking.get("/debug/queue", None).await.1, json!({"application": {"waiting": []}}));
    assert_eq!(asking.get("/crd", None).await.1, json!({"kind": "CustomResourceDefinition"}));
    assert_eq!(asking.get("/crds", None).await.1["items"].as_array().unwrap().len(), 1);

    let page = asking.client.get(format!("{}/metrics", asking.base)).send().await.unwrap();
    assert_eq!(page.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    assert!(page.text().await.unwrap().contains("event_total{type=\"Normal\",severity=\"Info\"} 1\n"));
    let page = asking.client.get(format!("{}/metrics", asking.base));
    let page = page.header("accept", "application/openmetrics-text;version=1.0.0").send().await.unwrap();
    assert!(page.headers()["content-type"].to_str().unwrap().starts_with("application/openmetrics-text"));
    assert!(page.text().await.unwrap().ends_with("# EOF\n"));

    for off in ["/events", "/watch", "/apis"] {
        let (status, body) = asking.get(off, None).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert_eq!(body["error"], format!("there is nothing at {off}"));
    }
    admin.stop(SOON).await;
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_their_turn() {
    let admin = AdminServer::builder(anywhere()).limits(1, 1).start().await.unwrap();
    let address = admin.local_addr();
    let request = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut first = TcpStream::connect(address).await.unwrap();
    first.write_all(request).await.unwrap();
    let mut answer = [0; 12];
    first.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    let mut second = TcpStream::connect(address).await.unwrap();
    second.write_all(request).await.unwrap();
    let waiting = tokio::time::timeout(Duration::from_millis(300), second.read_exact(&mut answer));
    assert!(waiting.await.is_err(), "the first still has the only place");
    drop(first);
    second.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    admin.stop(SOON).await;
}

#[tokio::test]
async fn an_address_in_use_is_an_error_that_names_it() {
    let first = AdminServer::builder(anywhere()).start().await.unwrap();
    let error = AdminServer::builder(first.local_addr()).start().await.unwrap_err();
    assert_eq!(error.to_string(), format!("listening on {} for probes and metrics", first.local_addr()));
}

async fn token(client: &Client, name: &str) -> String {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let account = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}})).unwrap();
    let token = accounts.create_token_request(name, &PostParams::default(), &request).await.unwrap();
    token.status.unwrap().token.unwrap()
}

async fn allow(client: &Client, account: &str, paths: &[&str]) {
    let roles: Api<ClusterRole> = Api::all(client.clone());
    let role = json!({
        "metadata": {"name": account}, "rules": [{"nonResourceURLs": paths, "verbs": ["get"]}]
    });
    roles.create(&PostParams::default(), &serde_json::from_value(role).unwrap()).await.unwrap();
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    let binding = json!({
        "metadata": {"name": account},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": account},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}]
    });
    bindings.create(&PostParams::default(), &serde_json::from_value(binding).unwrap()).await.unwrap();
}

fn application() -> InvolvedObject {
    InvolvedObject {
        api_version: "cloudnative.elide.dev/v1".to_owned(),
        kind: "Application".to_owned(),
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
        uid: None,
    }
}

#[tokio::test]
async fn events_are_shown_to_those_that_the_api_server_allows() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let (reader, stranger) = (token(&client, "reader").await, token(&client, "stranger").await);
    allow(&client, "reader", &["/events", "/watch", "/debug/queue"]).await;
    let log = EventLog::new();
    log.observed(Change::Added, application(), "application-controller", false, || Value::Null);
    let admin = AdminServer::builder(anywhere()).events(log.clone(), client).start().await.unwrap();
    let asking = Asking::of(&admin);

    let (status, body) = asking.get("/events", None).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(body["error"].as_str().unwrap().starts_with("a bearer token is needed"), "{body}");
    let (status, body) = asking.get("/events", Some("nonsense")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(body["error"], "the token is not valid in this cluster, or has expired");
    for path in ["/events", "/watch", "/debug/queue"] {
        let (status, body) = asking.get(path, Some(&stranger)).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        assert_eq!(
            body["error"],
            format!(
                "system:serviceaccount:default:stranger may not get {path}; a ClusterRole with the rule \
                 {{nonResourceURLs: [\"{path}\"], verbs: [\"get\"]}} would allow it"
            )
        );
    }
    assert_eq!(asking.get("/healthz", None).await.0, StatusCode::OK, "probes stay open");

    // Roles reach the authorizer a moment after they are made.
    let (_, body) = until("the role", SOON, || async {
        let (status, body) = asking.get("/events?namespace=shop&limit=5", Some(&reader)).await;
        (status == StatusCode::OK).then_some((status, body))
    })
    .await
    .unwrap();
    assert_eq!(body["events"][0]["reason"], "Created");
    assert_eq!(body["events"][0]["type"], "Normal");
    assert_eq!(body["events"][0]["severity"], "Info");
    assert_eq!(body["events"][0]["involvedObject"]["name"], "web");
    assert_eq!(body["events"][0]["source"]["component"], "application-controller");
    assert_eq!(body["stats"]["total"], 1);
    assert_eq!(asking.get("/debug/queue", Some(&reader)).await.0, StatusCode::OK);
    let (status, body) = asking.get("/events?severty=Info", Some(&reader)).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(body["error"].as_str().unwrap().starts_with("severty is unknown"), "{body}");

    let watching = asking.client.get(format!("{}/watch", asking.base)).bearer_auth(&reader);
    let watching = watching.send().await.unwrap();
    assert_eq!(watching.status(), StatusCode::OK);
    assert_eq!(watching.headers()["content-type"], "text/event-stream");
    let mut stream = watching.bytes_stream();
    log.observed(
        Change::Modified,
        application(),
        "application-controller",
        false,
        || json!({"kind": "Application"}),
    );
    let sent = stream.next().await.unwrap().unwrap();
    assert_eq!(&sent[..], b"data: {\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Application\"}}\n\n");
    admin.stop(SOON).await;
    assert!(stream.next().await.is_none(), "the stream ends with the server");
}

#[tokio::test]
async fn an_operator_that_may_not_ask_says_so() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let (reader, poor) = (token(&client, "reader").await, token(&client, "poor").await);
    allow(&client, "reader", &["/events"]).await;
    let kubeconfig = Kubeconfig::from_yaml(plane.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info = AuthInfo { token: Some(poor.into()), ..AuthInfo::default() };
    let poor = Client::try_from(config).unwrap();
    let admin = AdminServer::builder(anywhere()).events(EventLog::new(), poor).start().await.unwrap();
    let (status, body) = Asking::of(&admin).get("/events", Some(&reader)).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        body["error"],
        "the API server could not be asked who may see this: the operator may not create tokenreviews"
    );
    admin.stop(SOON).await;
}

#[tokio::test]
async fn watchers_beyond_the_limit_are_turned_away() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let reader = token(&client, "reader").await;
    allow(&client, "reader", &["/watch"]).await;
    let admin =
        AdminServer::builder(anywhere()).events(EventLog::new(), client).limits(8, 1).start().await.unwrap();
    let asking = Asking::of(&admin);
    let watch = || asking.client.get(format!("{}/watch", asking.base)).bearer_auth(&reader).send();
    let first = until("the role", SOON, || async {
        let response = watch().await.unwrap();
        (response.status() == StatusCode::OK).then_some(response)
    })
    .await
    .unwrap();
    assert_eq!(watch().await.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    drop(first);
    until("the place to be free", SOON, || async {
        (watch().await.unwrap().status() == StatusCode::OK).then_some(())
    })
    .await
    .unwrap();
    admin.stop(SOON).await;
}
