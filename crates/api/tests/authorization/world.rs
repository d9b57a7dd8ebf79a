//! A server with all of its real parts, and people in it.
#![allow(dead_code, reason = "each test file uses the part it needs")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::extract::ConnectInfo;
use futures::StreamExt as _;
use http::{HeaderMap, Request, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use slipway_api::{App, Options, Stop, Stopping, router};
use slipway_domain::access::{Actor, Environment, Role};
use slipway_domain::audit::AuditResult;
use slipway_domain::event::{Event, Topic};
use slipway_infra::charts::{ChartRepositories, HelmPrograms};
use slipway_infra::identity::Identities;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::{AddressRules, Connections, KubernetesClusters};
use slipway_infra::notifier::Notifiers;
use slipway_infra::releases::HelmReleases;
use slipway_orchestrator::identity::{NewUser, UserChange};
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::identity::{IssuerSettings, Password};
use slipway_orchestrator::ports::limits::Usage;
use slipway_orchestrator::ports::store::{AuditFilter, AuditRecord, AuditRows as _};
use slipway_orchestrator::ports::{Clock, Keyring, Limits, Store as _, StoreError};
use slipway_orchestrator::{Changeset, Manager, Parts, Settings};
use tower::ServiceExt as _;

use crate::support::{Stored, database};

/// Streams send something every fifteen seconds.
const PATIENCE: Duration = Duration::from_mins(1);
const PASSWORD: &str = "a-good-long-passphrase-47";

/// A clock that the test moves: tokens expire without waiting.
#[derive(Debug, Clone)]
struct Hands(Arc<Mutex<Timestamp>>);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

struct Unlimited;

#[async_trait]
impl Limits for Unlimited {
    async fn count(&self, _: &str, _: &str, limit: u32) -> Result<Usage, StoreError> {
        Ok(Usage { counted: true, limit, before: 0, now: 1, elapsed: 0.0, began: 0 })
    }

    async fn thin_limits(&self) -> Result<u64, StoreError> {
        Ok(0)
    }
}

pub(crate) struct World {
    manager: Manager,
    router: Router,
    clock: Hands,
    stored: Stored,
    stop: Stop,
}

/// How a world is made.
struct Setup {
    limited: bool,
    issuers: Vec<IssuerSettings>,
    public_url: String,
    now: Timestamp,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            limited: true,
            issuers: Vec::new(),
            public_url: Settings::default().public_url,
            now: "2026-03-01T12:00:00Z".parse().unwrap(),
        }
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::made(Setup::default()).await
    }

    /// One that never says that it is too much.
    pub(crate) async fn without_limits() -> Self {
        Self::made(Setup { limited: false, ..Setup::default() }).await
    }

    /// One with an issuer, who signs what counts now, that people reach at an address.
    pub(crate) async fn with_issuer(issuer: IssuerSettings, public_url: &str) -> Self {
        let (issuers, now) = (vec![issuer], Timestamp::now());
        Self::made(Setup { issuers, public_url: public_url.to_owned(), now, limited: true }).await
    }

    async fn made(setup: Setup) -> Self {
        let stored = database().await;
        let clock = Hands(Arc::new(Mutex::new(setup.now)));
        let store = Arc::new(stored.store.clone());
        let key = zeroize::Zeroizing::new("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".to_owned());
        let keyring: Arc<dyn Keyring> = Arc::new(AesKeyring::load(&KeySource::Text(key)).unwrap());
        let connections = Arc::new(Connections::new(Arc::clone(&store) as _, Arc::clone(&keyring)));
        let guardian = slipway_testkit::guardian::guardian().unwrap().to_owned();
        let addresses = AddressRules { loopback: true, ..AddressRules::default() };
        let parts = Parts {
            store: Arc::clone(&store) as _,
            clusters: Arc::new(KubernetesClusters::new(Arc::clone(&connections), addresses)),
            charts: Arc::new(ChartRepositories::new(HelmPrograms { guardian, helm: None })),
            releases: Arc::new(HelmReleases::new(connections)),
            probes: Arc::new(slipway_orchestrator::ports::probes::Blind),
            fleet: Arc::new(slipway_orchestrator::ports::fleet::NoFleet),
            keyring,
            notifier: Arc::new(Notifiers::default()),
            identity: Arc::new(Identities::new(setup.issuers).unwrap()),
            clock: Arc::new(clock.clone()),
        };
        let manager = Manager::new(parts, Settings { public_url: setup.public_url, ..Settings::default() });
        manager.ensure_admin(Some(&Password::new(PASSWORD))).await.unwrap();
        let limits: Arc<dyn Limits> =
            if setup.limited { Arc::clone(&store) as _ } else { Arc::new(Unlimited) };
        let app = App::new(manager.clone(), Arc::new(manager.clone()), limits, store as _, Vec::new());
        let (stop, stopping) = Stopping::new();
        let router = router(app, Options { stopping, ..Options::default() });
        Self { manager, router, clock, stored, stop }
    }

    /// Somebody of each role, logged in, by the role's name.
    pub(crate) async fn sessions(&self) -> Vec<(Role, String)> {
        let mut sessions = Vec::new();
        for role in Role::ALL {
            let token = self.new_session(&role.to_string().to_lowercase(), role).await;
            sessions.push((role, token));
        }
        sessions
    }

    async fn new_session(&self, username: &str, role: Role) -> String {
        if username == "admin" {
            return self.login(username, PASSWORD, None).await;
        }
        let environments =
            if role == Role::EnvironmentOwner { vec![Environment::Production] } else { Vec::new() };
        let rest = UserChange { full_name: None, email: None, role, environments };
        let new = NewUser { username: username.to_owned(), rest };
        let (_, first) = self.manager.create_user(&Actor::system("test"), &new).await.unwrap();
        self.login(username, first.expose(), Some(PASSWORD)).await
    }

    async fn login(&self, username: &str, password: &str, new: Option<&str>) -> String {
        let new = new.map(Password::new);
        let (caller, password) = (Actor::anonymous(), Password::new(password));
        self.manager.login(&caller, username, &password, new.as_ref()).await.unwrap().token
    }

    /// Tokens of admins that must not count, and what is wrong with each.
    pub(crate) async fn tokens_that_do_not_count(&self) -> Vec<(&'static str, String)> {
        let expired = self.new_session("gone-by", Role::Admin).await;
        *self.clock.0.lock().unwrap() += SignedDuration::from_mins(61);

        let good = self.new_session("tampered", Role::Admin).await;
        let [header, claims, signature] = good.split('.').collect::<Vec<_>>()[..] else {
            panic!("a token has three parts")
        };
        let flipped = |text: &str| {
            let (middle, last) = text.split_at(text.len() / 2);
            let first = if last.starts_with('A') { 'B' } else { 'A' };
            format!("{middle}{first}{}", &last[1..])
        };
        let weaker = self.new_session("weaker", Role::Viewer).await;
        let (_, weaker) = weaker.rsplit_once('.').unwrap();
        // {"alg":"none","typ":"JWT"}
        let unsigned = format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{claims}.");

        let logged_out = self.new_session("logged-out", Role::Admin).await;
        self.manager.logout(&Actor::anonymous(), &logged_out).await.unwrap();
        let disabled = self.new_session("disabled", Role::Admin).await;
        self.manager.disable_user(&Actor::system("test"), "disabled").await.unwrap();

        let elsewhere = Box::pin(Self::new()).await;
        let foreign = elsewhere.new_session("admin", Role::Admin).await;
        vec![
            ("expired", expired),
            ("tampered with in its claims", format!("{header}.{}.{signature}", flipped(claims))),
            ("tampered with in its signature", format!("{header}.{claims}.{}", flipped(signature))),
            ("not signed", unsigned),
            ("signed for somebody else", format!("{header}.{claims}.{weaker}")),
            ("of a session that was logged out", logged_out),
            ("of somebody who is disabled", disabled),
            ("signed by another server's key", foreign),
            ("not a token", "sesame".to_owned()),
        ]
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Option<&str>,
    ) -> Reply {
        let request = request(method, path, token, body);
        self.answer(request, "192.0.2.7").await
    }

    /// What a browser asks, with its cookies and what it says about the page.
    pub(crate) async fn browse(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
        let mut request = request(method, path, None, None);
        for (name, value) in headers {
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            request.headers_mut().append(name, value.parse().unwrap());
        }
        self.answer(request, "192.0.2.7").await
    }

    /// The same from another address.
    pub(crate) async fn ask_from(&self, address: &str, path: &str) -> Reply {
        self.answer(request("GET", path, None, None), address).await
    }

    async fn answer(&self, request: Request<Body>, from: &str) -> Reply {
        let (parts, body) = self.raw(request, from).await.into_parts();
        let streams = parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        // A stream has no end to wait for.
        let body =
            if streams { Vec::new() } else { axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec() };
        Reply { status: parts.status, headers: parts.headers, body }
    }

    async fn raw(&self, mut request: Request<Body>, from: &str) -> http::Response<Body> {
        let from = SocketAddr::new(from.parse().unwrap(), 4242);
        request.extensions_mut().insert(ConnectInfo(from));
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// A stream of events.
    pub(crate) async fn follow(&self, token: &str, query: &str, last: Option<i64>) -> Stream {
        let mut request = request("GET", &format!("/api/v1/events{query}"), Some(token), None);
        if let Some(last) = last {
            request.headers_mut().insert("last-event-id", last.to_string().parse().unwrap());
        }
        let reply = self.raw(request, "192.0.2.7").await;
        assert_eq!(reply.status(), StatusCode::OK);
        Stream { body: reply.into_body().into_data_stream(), text: String::new() }
    }

    /// Something happens.
    pub(crate) async fn happens(&self, topic: Topic, subject: &str) {
        let event = Event {
            topic,
            subject: subject.to_owned(),
            kind: "changed".to_owned(),
            data: serde_json::json!({"to": subject}),
        };
        self.stored.store.commit(Changeset::new().tell(event)).await.unwrap();
    }

    /// Serves over a port of this machine; its address.
    pub(crate) async fn serve(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let service = self.router.clone().into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        address
    }

    /// Ends a session.
    pub(crate) async fn log_out(&self, token: &str) {
        self.manager.logout(&Actor::anonymous(), token).await.unwrap();
    }

    /// Begins the server's end.
    pub(crate) fn stop(&self) {
        self.stop.begin();
    }

    /// The refusals in the audit.
    pub(crate) async fn denials(&self) -> Vec<AuditRecord> {
        let filter = AuditFilter { result: Some(AuditResult::Denied), ..AuditFilter::default() };
        self.stored.store.audit(&filter, Window { limit: 100, offset: 0 }).await.unwrap().items
    }
}

fn request(method: &str, path: &str, token: Option<&str>, body: Option<&str>) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    if body.is_some() {
        request = request.header("content-type", "application/json");
    }
    request.body(Body::from(body.unwrap_or_default().to_owned())).unwrap()
}

/// A stream of events.
pub(crate) struct Stream {
    body: BodyDataStream,
    text: String,
}

impl Stream {
    /// The next event: its name and its data; nothing at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
                if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
                    return Some((name.to_owned(), serde_json::from_str(data).unwrap()));
                }
            }
            let next = tokio::time::timeout(PATIENCE, self.body.next()).await.expect("the stream lives");
            self.text.push_str(std::str::from_utf8(&next?.unwrap()).unwrap());
        }
    }
}

pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).chars().take(300).collect()
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn trace_id(&self) -> &str {
        self.headers["x-trace-id"].to_str().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    /// The cookies that are set: each with its attributes.
    pub(crate) fn cookies(&self) -> Vec<&str> {
        self.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect()
    }

    pub(crate) fn body(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Whether nothing answers there at all, as opposed to there being no such thing.
    pub(crate) fn is_nowhere(&self) -> bool {
        let said = self.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        self.status == StatusCode::METHOD_NOT_ALLOWED || said.contains("described at /swagger")
    }
}
