//! A server with the REST handlers on a real database, and clients of it. Use it with `mod served;`.
//!
//! There is no guard in front: a caller is whoever the client's token names, which is the name of a role.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]
#![allow(dead_code, missing_docs, reason = "each test file uses the part it needs")]
#![allow(unreachable_pub, reason = "it is a module of each test file")]

#[path = "../../../infra/tests/support/mod.rs"]
pub mod support;

pub mod fleet;
mod parts;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_client::{Client, Token};
use slipway_contract::operators::RegisterOperator;
use slipway_domain::access::{Actor, ActorKind, Environment, Permission, Role};
use slipway_domain::id::UserId;
use slipway_http::guard::Authenticator;
use slipway_infra::postgres::PostgresStore;
use slipway_infra::workers::Runner;
use slipway_orchestrator::ports::limits::Usage;
use slipway_orchestrator::ports::{Clock, Limits, StoreError};
use slipway_orchestrator::rollouts::{GateWorker, LookWorker, RolloutWorker, StepWorker};
use slipway_orchestrator::{Error, Manager, Settings};
use slipway_testkit::charts::{ChartBuilder, ChartRepository};

/// A clock that a test moves.
#[derive(Debug, Clone)]
pub struct Hands(Arc<Mutex<Timestamp>>);

impl Hands {
    pub fn set(&self, at: Timestamp) {
        *self.0.lock().unwrap() = at;
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// A server, for as long as it is kept.
pub struct Server {
    pub manager: Manager,
    pub stored: support::Stored,
    pub clock: Hands,
    pub address: String,
}

/// A manager on a store, with the other adapters doing nothing.
pub fn manager(store: &PostgresStore, clock: &Hands, settings: Settings) -> Manager {
    Manager::new(parts::parts(store, Arc::new(clock.clone())), settings)
}

/// A text as the interface takes kubeconfigs.
pub fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// The clients of registered clusters.
pub fn connections(store: &PostgresStore) -> Arc<slipway_infra::kubernetes::Connections> {
    parts::connections(store)
}

/// A fresh server at a time that no test depends on.
pub async fn server() -> Server {
    server_with(Settings::default()).await
}

pub async fn server_with(settings: Settings) -> Server {
    let stored = support::database().await;
    let clock = Hands(Arc::new(Mutex::new("2026-11-15T12:00:00Z".parse().unwrap())));
    let manager = manager(&stored.store, &clock, settings);
    serve(stored, clock, manager).await
}

/// A server whose clusters are in memory.
pub async fn server_on(waters: &fleet::Waters) -> Server {
    let stored = support::database().await;
    let clock = Hands(Arc::new(Mutex::new("2026-11-15T12:00:00Z".parse().unwrap())));
    let mut parts = parts::parts(&stored.store, Arc::new(clock.clone()));
    (parts.fleet, parts.probes) = (Arc::new(waters.clone()), Arc::new(waters.clone()));
    parts.releases = Arc::new(waters.clone());
    serve(stored, clock, Manager::new(parts, Settings::default())).await
}

async fn serve(stored: support::Stored, clock: Hands, manager: Manager) -> Server {
    let replies = Arc::new(stored.store.clone());
    let app = slipway_api::App::new(manager.clone(), Arc::new(Anyone), Arc::new(Anyone), replies, Vec::new());
    let router = slipway_api::routes().into_router().with_state(app);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    Server { manager, stored, clock, address }
}

/// Takes a role's name as its token, and limits nobody: the use cases decide here, not the guard.
struct Anyone;

#[async_trait]
impl Authenticator for Anyone {
    async fn authenticate(&self, bearer: &str) -> Result<Actor, Error> {
        Ok(actor(bearer.parse::<Role>().ok()))
    }

    async fn admit(&self, _: &Actor, _: Permission, _: &str) -> Result<(), Error> {
        Ok(())
    }
}

#[async_trait]
impl Limits for Anyone {
    async fn count(&self, _: &str, _: &str, limit: u32) -> Result<Usage, StoreError> {
        Ok(Usage { counted: true, limit, before: 0, now: 0, elapsed: 0.0, began: 0 })
    }

    async fn thin_limits(&self) -> Result<u64, StoreError> {
        Ok(0)
    }
}

/// Somebody with a role, called by it in lower case.
pub fn actor(role: Option<Role>) -> Actor {
    let Some(role) = role else { return Actor::anonymous() };
    Actor {
        kind: ActorKind::User { id: UserId(uuid::Uuid::from_u128(7)) },
        name: role.to_string().to_lowercase(),
        role: Some(role),
        environments: Vec::new(),
        source: Some("192.0.2.7".to_owned()),
        trace_id: Some("4bf92f3577b34da6a3ce929d0e0e4736".to_owned()),
    }
}

impl Server {
    /// Drives rollouts for as long as the test goes on.
    pub fn drive(&self) {
        let engine = || self.manager.engine();
        let runner = Runner::new(self.stored.store.clone())
            .with(Arc::new(RolloutWorker::new(engine())))
            .with(Arc::new(StepWorker::new(engine())))
            .with(Arc::new(LookWorker::new(engine())))
            .with(Arc::new(GateWorker::new(engine())));
        tokio::spawn(runner.run(std::future::pending()));
    }

    /// Clusters that only the database knows.
    pub async fn clusters(&self, clusters: &[(&str, Environment)]) {
        for (name, environment) in clusters {
            sqlx::query(
                "INSERT INTO clusters (id, name, environment, api_server_url, credential_kind,
                     credential_changed_at, registered_at, updated_at)
                 VALUES ($1, $2, $3, 'https://cluster.test', 'Token', now(), now(), now())",
            )
            .bind(uuid::Uuid::new_v4())
            .bind(*name)
            .bind(environment.to_string())
            .execute(self.stored.store.pool())
            .await
            .unwrap();
        }
    }

    /// An operator with two versions, for as long as its repository is kept.
    pub async fn greeter(&self) -> ChartRepository {
        let repository = ChartRepository::start().await.unwrap();
        for version in ["1.0.0", "1.1.0"] {
            repository.add(&ChartBuilder::new("greeter", version).build().unwrap());
        }
        let operator = RegisterOperator {
            name: "greeter".to_owned(),
            namespace: "greetings".to_owned(),
            chart_repository: repository.url(),
            chart_name: "greeter".to_owned(),
            ..RegisterOperator::default()
        };
        self.client(Role::Admin).register_operator(&operator).await.unwrap();
        repository
    }

    /// A client that calls in a role.
    pub fn client(&self, role: Role) -> Client {
        let client = Client::builder(&self.address).build().unwrap();
        client.set_token(Some(Token::new(role.to_string(), None)));
        client
    }
}
