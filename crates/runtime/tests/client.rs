//! What an operator's clients send, how often, and what they refuse to send.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "client/server.rs"]
mod server;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, WatchParams};
use kube::{Api, Client, Config};
use serde_json::json;
use slipway_runtime::client::{ClientOptions, Clients, RateLimit, RequestObserver, in_term, is_not_leader};
use slipway_runtime::leader::{Leadership, LeadershipControl};
use slipway_testkit::{free_port, until};

use server::{Reply, Server};

const MINUTE: Duration = Duration::from_mins(1);
const MAP: &str = "/api/v1/namespaces/default/configmaps/x";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn clients(url: &str, options: ClientOptions) -> Clients {
    slipway_testkit::init();
    Clients::new(Config::new(url.parse().unwrap()), options).unwrap()
}

fn maps(client: Client) -> Api<ConfigMap> {
    Api::default_namespaced(client)
}

fn map() -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": "x"}})).unwrap()
}

/// Notes each attempt, and may do something about it.
#[derive(Default)]
struct Notes {
    lines: Mutex<Vec<String>>,
    on_status: Mutex<Option<(u16, LeadershipControl)>>,
}

impl Notes {
    fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock().unwrap())
    }
}

impl RequestObserver for Notes {
    fn request(&self, verb: &'static str, resource: &str, status: u16, _elapsed: Duration) {
        self.lines.lock().unwrap().push(format!("{verb} {resource} {status}"));
        if let Some((wanted, control)) = &*self.on_status.lock().unwrap()
            && *wanted == status
        {
            control.lose();
        }
    }
}

#[tokio::test]
async fn a_read_is_repeated_until_the_server_recovers() {
    let server = Server::start().await;
    let maps = maps(clients(&server.url, ClientOptions::default()).raw());
    server.will([Reply::Failure(503, None), Reply::Failure(429, Some(0)), Reply::Dropped, Reply::Torn]);
    assert_eq!(maps.get("x").await.unwrap().metadata.name.as_deref(), Some("x"));
    assert_eq!(server.asked(), vec![format!("GET {MAP}"); 5]);
}

#[tokio::test]
async fn a_read_is_given_up_after_the_fifth_try_and_at_once_when_another_would_not_help() {
    let server = Server::start().await;
    let maps = maps(clients(&server.url, ClientOptions::default()).raw());
    server.will(vec![Reply::Failure(503, None); 5]);
    assert!(matches!(maps.get("x").await.unwrap_err(), kube::Error::Api(status) if status.code == 503));
    assert_eq!(server.asked().len(), 5);
    for code in [404, 409, 500] {
        server.will([Reply::Failure(code, None)]);
        maps.get("x").await.unwrap_err();
        assert_eq!(server.asked().len(), 1, "{code}");
    }
}

#[tokio::test]
async fn a_write_is_repeated_only_when_the_server_said_that_it_did_nothing() {
    let server = Server::start().await;
    let maps = maps(clients(&server.url, ClientOptions::default()).raw());
    for (reply, times) in [
        (Reply::Failure(429, Some(0)), 2),
        (Reply::Failure(429, None), 1),
        (Reply::Failure(503, Some(0)), 1),
        (Reply::Failure(504, None), 1),
        (Reply::Dropped, 1),
        (Reply::Torn, 1),
    ] {
        server.will([reply.clone()]);
        let created = maps.create(&PostParams::default(), &map()).await;
        assert_eq!(created.is_ok(), times == 2, "{reply:?}");
        assert_eq!(server.asked(), vec![format!("POST {MAPS}"); times], "{reply:?}");

        server.will([reply.clone()]);
        let patch = Patch::Merge(json!({"data": {"a": "b"}}));
        let patched = maps.patch("x", &PatchParams::default(), &patch).await;
        assert_eq!(patched.is_ok(), times == 2, "{reply:?}");
        assert_eq!(server.asked(), vec![format!("PATCH {MAP}"); times], "{reply:?}");
    }
}

#[tokio::test]
async fn the_servers_wish_for_a_rest_is_honoured() {
    let server = Server::start().await;
    let maps = maps(clients(&server.url, ClientOptions::default()).raw());
    server.will([Reply::Failure(429, Some(1))]);
    let started = std::time::Instant::now();
    maps.create(&PostParams::default(), &map()).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_write_that_never_had_a_connection_is_repeated() {
    let notes = Arc::new(Notes::default());
    let url = format!("http://127.0.0.1:{}", free_port());
    let clients = clients(&url, ClientOptions::default().observer(Arc::clone(&notes) as Arc<_>));
    maps(clients.raw()).create(&PostParams::default(), &map()).await.unwrap_err();
    assert_eq!(notes.lines(), vec!["create configmaps 0"; 5]);
}

#[tokio::test]
async fn a_watch_is_left_to_its_watcher() {
    let server = Server::start().await;
    let maps = maps(clients(&server.url, ClientOptions::default()).raw());
    server.will([Reply::Failure(503, None)]);
    assert!(maps.watch(&WatchParams::default(), "0").await.is_err());
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_request_without_a_whole_answer_in_its_time_fails_and_is_not_repeated() {
    let server = Server::start().await;
    let options = ClientOptions::default().timeout(Duration::from_millis(300));
    let maps = maps(clients(&server.url, options).raw());
    for reply in [Reply::Silence, Reply::HeadOnly] {
        server.will([reply.clone(), reply.clone()]);
        let error = maps.get("x").await.unwrap_err();
        assert!(error.to_string().contains("no whole answer from the API server in 300"), "{error}");
        maps.create(&PostParams::default(), &map()).await.unwrap_err();
        assert_eq!(server.asked(), [format!("GET {MAP}"), format!("POST {MAPS}")]);
    }
}

#[tokio::test]
async fn each_attempt_is_counted_with_its_verb_resource_and_status() {
    let server = Server::start().await;
    let notes = Arc::new(Notes::default());
    let clients = clients(&server.url, ClientOptions::default().observer(Arc::clone(&notes) as Arc<_>));
    let maps = maps(clients.raw());
    server.will([Reply::Failure(503, None)]);
    maps.get("x").await.unwrap();
    maps.patch_status("x", &PatchParams::default(), &Patch::Merge(json!({}))).await.unwrap();
    maps.delete("x", &DeleteParams::default()).await.unwrap();
    assert_eq!(
        notes.lines(),
        ["get configmaps 503", "get configmaps 200", "patch configmaps/status 200", "delete configmaps 200"]
    );
}

#[tokio::test]
async fn only_a_leader_writes_and_everyone_reads_and_asks() {
    let server = Server::start().await;
    let notes = Arc::new(Notes::default());
    let clients = clients(&server.url, ClientOptions::default().observer(Arc::clone(&notes) as Arc<_>));
    let (leadership, control) = Leadership::controlled();
    let fenced = clients.fenced(&leadership);
    let maps = maps(fenced.clone());

    let refused = [
        maps.create(&PostParams::default(), &map()).await.map(|_| ()),
        maps.replace("x", &PostParams::default(), &map()).await.map(|_| ()),
        maps.patch("x", &PatchParams::apply("me"), &Patch::Apply(map())).await.map(|_| ()),
        maps.delete("x", &DeleteParams::default()).await.map(|_| ()),
    ];
    for answer in refused {
        let error = answer.unwrap_err();
        assert!(is_not_leader(&error), "{error}");
    }
    assert_eq!(server.asked(), Vec::<String>::new());
    assert_eq!(notes.lines(), Vec::<String>::new());

    maps.get("x").await.unwrap();
    let review: SelfSubjectAccessReview = serde_json::from_value(json!({"spec": {}})).unwrap();
    // The scripted answer is no review; what counts is that it was asked.
    let _ = Api::<SelfSubjectAccessReview>::all(fenced).create(&PostParams::default(), &review).await;
    assert_eq!(
        server.asked(),
        [format!("GET {MAP}"), "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews".into()]
    );

    control.begin(MINUTE);
    maps.create(&PostParams::default(), &map()).await.unwrap();
    assert_eq!(server.asked(), [format!("POST {MAPS}")]);
}

#[tokio::test]
async fn work_that_began_in_an_earlier_term_cannot_write_in_a_later_one() {
    let server = Server::start().await;
    let (leadership, control) = Leadership::controlled();
    let maps = maps(clients(&server.url, ClientOptions::default()).fenced(&leadership));
    let first = control.begin(MINUTE);
    in_term(first, maps.create(&PostParams::default(), &map())).await.unwrap();
    control.lose();
    let second = control.begin(MINUTE);
    let error = in_term(first, maps.create(&PostParams::default(), &map())).await.unwrap_err();
    assert!(is_not_leader(&error), "{error}");
    in_term(first, maps.get("x")).await.unwrap();
    in_term(second, maps.create(&PostParams::default(), &map())).await.unwrap();
    assert_eq!(server.asked(), [format!("POST {MAPS}"), format!("GET {MAP}"), format!("POST {MAPS}")]);
}

#[tokio::test]
async fn leadership_that_ends_between_two_tries_ends_the_tries() {
    let server = Server::start().await;
    let notes = Arc::new(Notes::default());
    let clients = clients(&server.url, ClientOptions::default().observer(Arc::clone(&notes) as Arc<_>));
    let (leadership, control) = Leadership::controlled();
    control.begin(MINUTE);
    *notes.on_status.lock().unwrap() = Some((429, control));
    server.will([Reply::Failure(429, Some(0))]);
    let error = maps(clients.fenced(&leadership)).create(&PostParams::default(), &map()).await.unwrap_err();
    assert!(is_not_leader(&error), "{error}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_write_whose_answer_does_not_come_is_given_up_with_leadership() {
    let server = Server::start().await;
    let (leadership, control) = Leadership::controlled();
    let maps = maps(clients(&server.url, ClientOptions::default()).fenced(&leadership));
    server.will([Reply::Silence]);
    control.begin(Duration::from_millis(500));
    let error = maps.create(&PostParams::default(), &map()).await.unwrap_err();
    assert!(is_not_leader(&error), "{error}");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn the_rate_limit_holds_requests_but_neither_watches_nor_the_election() {
    let server = Server::start().await;
    let limit = RateLimit { per_second: 0.001, burst: 1 };
    let clients = clients(&server.url, ClientOptions::default().rate_limit(limit));
    maps(clients.raw()).get("x").await.unwrap();
    server.asked();

    let waiting = tokio::spawn({
        let maps = maps(clients.fenced(&Leadership::always()));
        async move { maps.get("x").await }
    });
    let _ = maps(clients.raw()).watch(&WatchParams::default(), "0").await.unwrap();
    Api::<Lease>::default_namespaced(clients.raw()).get("x").await.unwrap();
    let lease = "GET /apis/coordination.k8s.io/v1/namespaces/default/leases/x".to_owned();
    assert_eq!(server.asked(), [format!("GET {MAPS}"), lease]);
    assert!(!waiting.is_finished());

    clients.set_rate_limit(RateLimit::default()).unwrap();
    waiting.await.unwrap().unwrap();
    until("the request that waited", MINUTE, async || {
        (server.asked() == [format!("GET {MAP}")]).then_some(())
    })
    .await
    .unwrap();
    assert!(clients.set_rate_limit(RateLimit { per_second: 0.0, burst: 1 }).is_err());
    assert_eq!(clients.rate_limit(), RateLimit::default());
}
