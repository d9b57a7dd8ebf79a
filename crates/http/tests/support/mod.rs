//! A small server with rows and handlers of its own, behind the real guard and shell.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::extract::{ConnectInfo, Request, State};
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use axum::{Json, Router};
use http::{HeaderValue, Method, StatusCode};
use prometheus_client::registry::Registry;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use slipway_contract::{BASE, Endpoint};
use slipway_domain::access::{Actor, ActorKind, Permission, Role};
use slipway_domain::id::UserId;
use slipway_http::guard::{Authenticator, Guard};
use slipway_http::metrics::HttpMetrics;
use slipway_http::shell::Shell;
use slipway_http::{ApiError, Body, Caller, IfMatch, Tagged};
use slipway_infra::postgres::{Options, PostgresStore, connect, migrate};
use slipway_orchestrator::error::permit;
use slipway_orchestrator::{Code, Error};
use slipway_testkit::postgres::{Database, Postgres};
use tower::ServiceExt as _;
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Thing {
    name: String,
}

type Verb = slipway_contract::Method;
const CHANGES: Permission = Permission::ManageOperators;

static LIST: Endpoint =
    Endpoint::new(Verb::Get, "/things", "listThings", Permission::Read, 3).gives::<Thing>(200);
static MAKE: Endpoint = Endpoint::new(Verb::Post, "/things", "makeThing", CHANGES, 100)
    .takes::<Thing>()
    .gives::<Thing>(201)
    .up_to(100);
static SHOW: Endpoint = Endpoint::new(Verb::Get, "/things/{name}", "showThing", Permission::Read, 100)
    .gives::<Thing>(200)
    .tagged();
static CHANGE: Endpoint = Endpoint::new(Verb::Put, "/things/{name}", "changeThing", CHANGES, 100)
    .takes::<Thing>()
    .gives::<Thing>(200)
    .tagged();
static SECRET: Endpoint = Endpoint::new(Verb::Post, "/secrets", "makeSecret", CHANGES, 100)
    .takes::<Thing>()
    .gives::<Thing>(201)
    .secret();
static OPEN: Endpoint =
    Endpoint::new(Verb::Get, "/open", "open", Permission::Read, 2).open().gives::<Thing>(200);
static PANICS: Endpoint =
    Endpoint::new(Verb::Get, "/panics", "panics", Permission::Read, 100).gives::<Thing>(200);
static PLAIN: Endpoint =
    Endpoint::new(Verb::Get, "/plain", "plain", Permission::Read, 100).gives::<Thing>(200);
static SLEEPS: Endpoint =
    Endpoint::new(Verb::Get, "/sleeps", "sleeps", Permission::Read, 100).gives::<Thing>(200);

/// How long a connection may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_mins(1);

/// Knows a token for each role, by the role's name.
#[derive(Debug, Default)]
struct Doorkeeper {
    denials: Mutex<Vec<String>>,
}

#[async_trait]
impl Authenticator for Doorkeeper {
    async fn authenticate(&self, bearer: &str) -> Result<Actor, Error> {
        let role: Role = bearer
            .parse()
            .map_err(|_| Error::new(Code::Unauthorized, "the token has ended; log in again"))?;
        let id = UserId(Uuid::from_u128(role as u128));
        let actor = Actor { kind: ActorKind::User { id }, name: bearer.to_owned(), ..Actor::anonymous() };
        Ok(Actor { role: Some(role), ..actor })
    }

    async fn admit(&self, actor: &Actor, permission: Permission, endpoint: &str) -> Result<(), Error> {
        let answer = permit(actor, permission);
        if answer.is_err() {
            let source = actor.source.as_deref().unwrap_or("nowhere");
            self.denials.lock().unwrap().push(format!("{} from {source}: {endpoint}", actor.name));
        }
        answer
    }
}

#[derive(Clone)]
struct Things {
    guard: Guard,
    handled: Arc<AtomicUsize>,
    version: Arc<AtomicI64>,
}

impl Things {
    fn handled(&self) {
        self.handled.fetch_add(1, Ordering::SeqCst);
    }
}

async fn list(State(things): State<Things>, _: Caller) -> Json<Thing> {
    things.handled();
    Json(Thing { name: "all".to_owned() })
}

async fn make(State(things): State<Things>, Body(thing): Body<Thing>) -> impl IntoResponse {
    things.handled();
    if thing.name == "slow" {
        tokio::time::sleep(Duration::from_millis(400)).await;
    }
    (StatusCode::CREATED, Json(Thing { name: format!("{} {}", thing.name, Uuid::new_v4()) }))
}

async fn show(State(things): State<Things>) -> Tagged<Json<Thing>> {
    things.handled();
    Tagged(things.version.load(Ordering::SeqCst), Json(Thing { name: "one".to_owned() }))
}

async fn change(
    State(things): State<Things>,
    IfMatch(wanted): IfMatch,
    Body(thing): Body<Thing>,
) -> Result<Tagged<Json<Thing>>, ApiError> {
    let now = things.version.load(Ordering::SeqCst);
    if wanted.is_some_and(|wanted| wanted != now) {
        return Err(ApiError::new(Code::PreconditionFailed, "it changed meanwhile"));
    }
    things.version.store(now + 1, Ordering::SeqCst);
    Ok(Tagged(now + 1, Json(thing)))
}

async fn panics() -> Json<Thing> {
    panic!("a secret of the handler")
}

async fn plain() -> (StatusCode, &'static str) {
    (StatusCode::CONFLICT, "somebody else has it")
}

async fn sleeps() -> Json<Thing> {
    std::future::pending().await
}

/// A server.
pub(crate) struct Server {
    things: Things,
    doorkeeper: Arc<Doorkeeper>,
    store: PostgresStore,
    database: Arc<Database>,
    postgres: Arc<Mutex<Option<Postgres>>>,
    router: Router,
}

impl Server {
    pub(crate) async fn start() -> Self {
        slipway_testkit::init();
        Self::on(Postgres::shared().await.expect("PostgreSQL runs"), PATIENCE).await
    }

    pub(crate) async fn with_a_database_of_its_own() -> Self {
        slipway_testkit::init();
        Self::on(Postgres::start().await.expect("PostgreSQL starts"), Duration::from_secs(2)).await
    }

    async fn on(postgres: Postgres, patience: Duration) -> Self {
        let mut key = String::from("slipway-http");
        let migrations = concat!(env!("CARGO_MANIFEST_DIR"), "/../infra/migrations");
        let mut files: Vec<_> =
            std::fs::read_dir(migrations).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files {
            key.push_str(&std::fs::read_to_string(file).unwrap());
        }
        let database = postgres
            .cloned(&key, async |url| {
                let pool = connect(&Options::new(url)).await?;
                migrate(&pool).await?;
                pool.close().await;
                Ok(())
            })
            .await
            .expect("the database can be migrated");
        let options = Options { connections: 6, acquire_timeout: patience, ..Options::new(database.url()) };
        Self::serving(options, Arc::new(database), Arc::new(Mutex::new(Some(postgres)))).await
    }

    /// Another server on the same database.
    pub(crate) async fn another(&self) -> Self {
        let options =
            Options { connections: 3, acquire_timeout: PATIENCE, ..Options::new(self.database.url()) };
        Self::serving(options, Arc::clone(&self.database), Arc::clone(&self.postgres)).await
    }

    async fn serving(
        options: Options,
        database: Arc<Database>,
        postgres: Arc<Mutex<Option<Postgres>>>,
    ) -> Self {
        let pool = connect(&options).await.expect("the database answers");
        let store = PostgresStore::new(pool, "one");
        let doorkeeper = Arc::new(Doorkeeper::default());
        let guard = Guard::new(
            Arc::<Doorkeeper>::clone(&doorkeeper),
            Arc::new(store.clone()),
            Arc::new(store.clone()),
            vec!["10.0.0.0/8".parse().unwrap()],
        );
        let things = Things { guard, handled: Arc::default(), version: Arc::new(AtomicI64::new(1)) };
        let router = Self::routes(&things, Shell { timeout: PATIENCE * 2, ..Shell::default() });
        Self { things, doorkeeper, store, database, postgres, router }
    }

    fn routes(things: &Things, shell: Shell) -> Router {
        let router = Router::new();
        let router = guarded(router, &LIST, list);
        let router = guarded(router, &MAKE, make);
        let router = guarded(router, &SHOW, show);
        let router = guarded(router, &CHANGE, change);
        let router = guarded(router, &SECRET, make);
        let router = guarded(router, &OPEN, list);
        let router = guarded(router, &PANICS, panics);
        let router = guarded(router, &PLAIN, plain);
        let router = guarded(router, &SLEEPS, sleeps);
        shell.around(router.with_state(things.clone()), HttpMetrics::new(&mut Registry::default()))
    }

    /// Over TLS, with pages of another origin that may call.
    pub(crate) fn tls_for(origin: &'static str) -> Shell {
        Shell { tls: true, origins: vec![HeaderValue::from_static(origin)], ..Shell::default() }
    }

    /// That waits for no handler.
    pub(crate) fn impatient() -> Shell {
        Shell { timeout: Duration::from_millis(300), ..Shell::default() }
    }

    /// With no room for a request.
    pub(crate) fn without_room() -> Shell {
        Shell { at_once: 0, ..Shell::default() }
    }

    pub(crate) fn handled(&self) -> usize {
        self.things.handled.load(Ordering::SeqCst)
    }

    pub(crate) fn denials(&self) -> Vec<String> {
        self.doorkeeper.denials.lock().unwrap().clone()
    }

    pub(crate) async fn kept_replies(&self) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM idempotency_keys")
            .fetch_one(self.store.pool())
            .await
            .unwrap()
    }

    pub(crate) async fn ask(&self, ask: Ask) -> Reply {
        answer(self.router.clone(), ask).await
    }

    pub(crate) async fn ask_as(&self, shell: Shell, ask: Ask) -> Reply {
        answer(Self::routes(&self.things, shell), ask).await
    }

    pub(crate) async fn stop_the_database(&mut self) {
        let mut postgres = self.postgres.lock().unwrap().take().unwrap();
        postgres.stop().await.unwrap();
        *self.postgres.lock().unwrap() = Some(postgres);
    }

    pub(crate) async fn start_the_database(&mut self) {
        let mut postgres = self.postgres.lock().unwrap().take().unwrap();
        postgres.restart().await.unwrap();
        *self.postgres.lock().unwrap() = Some(postgres);
    }
}

fn guarded<H, T>(router: Router<Things>, endpoint: &'static Endpoint, handler: H) -> Router<Things>
where
    H: Handler<T, Things>,
    T: 'static,
{
    let verb = match endpoint.method {
        Verb::Get => MethodFilter::GET,
        Verb::Put => MethodFilter::PUT,
        _ => MethodFilter::POST,
    };
    let wrapped = async move |State(things): State<Things>, request: Request| -> Response {
        let guard = things.guard.clone();
        guard.pass(endpoint, request, |request| handler.call(request, things)).await
    };
    router.route(&format!("{BASE}{}", endpoint.path), on(verb, wrapped))
}

async fn answer(router: Router, ask: Ask) -> Reply {
    let reply = router.oneshot(ask.request()).await.unwrap();
    let (parts, body) = reply.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let headers =
        parts.headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    let body = serde_json::from_slice(&bytes)
        .unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned().into());
    Reply { status: parts.status, headers: headers.collect(), body }
}

/// A reply.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(String::as_str).unwrap_or_default()
    }

    pub(crate) fn error(&self, field: &str) -> &str {
        self.body["error"][field].as_str().unwrap_or_default()
    }
}

/// A request.
#[derive(Clone)]
pub(crate) struct Ask {
    method: Method,
    path: String,
    headers: BTreeMap<String, String>,
    body: String,
    streamed: bool,
    from: SocketAddr,
}

impl Ask {
    pub(crate) fn of(method: Method, path: &str) -> Self {
        Self {
            method,
            path: format!("{BASE}{path}"),
            headers: BTreeMap::new(),
            body: String::new(),
            streamed: false,
            from: "192.0.2.7:4242".parse().unwrap(),
        }
    }

    pub(crate) fn get(path: &str) -> Self {
        Self::of(Method::GET, path)
    }

    pub(crate) fn post(path: &str, body: impl Into<Value>) -> Self {
        Self::of(Method::POST, path).header("content-type", "application/json").body(body)
    }

    pub(crate) fn put(path: &str, body: impl Into<Value>) -> Self {
        Self::of(Method::PUT, path).header("content-type", "application/json").body(body)
    }

    pub(crate) fn token<'a>(self, token: impl Into<Option<&'a str>>) -> Self {
        match token.into() {
            Some(token) => self.header("authorization", &format!("Bearer {token}")),
            None => self,
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Value>) -> Self {
        self.body = body.into().to_string();
        self
    }

    pub(crate) fn raw(mut self, body: String) -> Self {
        self.body = body;
        self
    }

    pub(crate) fn streamed(mut self) -> Self {
        self.streamed = true;
        self
    }

    pub(crate) fn from(mut self, address: &str) -> Self {
        self.from = address.parse().unwrap();
        self
    }

    fn request(self) -> Request {
        let mut request = http::Request::builder().method(self.method).uri(self.path);
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        if !self.streamed && !self.body.is_empty() {
            request = request.header("content-length", self.body.len());
        }
        let body = if self.streamed {
            let part = Ok::<_, std::io::Error>(bytes::Bytes::from(self.body));
            axum::body::Body::from_stream(futures::stream::iter([part]))
        } else {
            axum::body::Body::from(self.body)
        };
        let mut request = request.body(body).unwrap();
        request.extensions_mut().insert(ConnectInfo(self.from));
        request
    }
}
