//! A database with an admin, servers on it, and a clock that tests own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use slipway_domain::access::{Actor, Environment, Role};
use slipway_infra::identity::Identities;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::{AddressRules, Connections, KubernetesClusters};
use slipway_infra::notifier::Notifiers;
use slipway_infra::postgres::PostgresStore;
use slipway_orchestrator::identity::{LoggedIn, NewUser, UserChange};
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::identity::{IssuerSettings, Password};
use slipway_orchestrator::ports::store::{AuditFilter, AuditRecord, AuditRows as _};
use slipway_orchestrator::ports::{Charts, Clock, Keyring, Releases};
use slipway_orchestrator::{Code, Error, Manager, Parts, Settings};

use crate::support::{Stored, database};

pub(crate) const ADMIN_PASSWORD: &str = "a sentence for tests";
pub(crate) const PASSWORD: &str = "another long sentence";

/// What identity does not touch.
struct Absent;

#[async_trait]
impl Charts for Absent {}
#[async_trait]
impl Releases for Absent {}

/// A clock that moves when it is told to.
#[derive(Clone)]
pub(crate) struct Hands(Arc<Mutex<Timestamp>>);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

impl Hands {
    pub(crate) fn pass(&self, span: Duration) {
        let mut now = self.0.lock().unwrap();
        *now = now.checked_add(span).unwrap();
    }
}

pub(crate) struct Server {
    pub(crate) manager: Manager,
    pub(crate) identities: Arc<Identities>,
}

pub(crate) struct Scene {
    pub(crate) stored: Stored,
    pub(crate) clock: Hands,
    pub(crate) one: Server,
    issuers: Vec<IssuerSettings>,
    public_url: String,
}

fn server(store: &PostgresStore, clock: &Hands, issuers: &[IssuerSettings], public_url: &str) -> Server {
    let key = STANDARD.encode([7; 32]);
    let keyring: Arc<dyn Keyring> = Arc::new(AesKeyring::load(&KeySource::Text(key.into())).unwrap());
    let connections = Arc::new(Connections::new(Arc::new(store.clone()), Arc::clone(&keyring)));
    let identities = Arc::new(Identities::new(issuers.to_vec()).unwrap());
    let parts = Parts {
        store: Arc::new(store.clone()),
        clusters: Arc::new(KubernetesClusters::new(connections, AddressRules::default())),
        charts: Arc::new(Absent),
        releases: Arc::new(Absent),
        probes: Arc::new(slipway_orchestrator::ports::probes::Blind),
        fleet: Arc::new(slipway_orchestrator::ports::fleet::NoFleet),
        keyring,
        notifier: Arc::new(Notifiers::default()),
        identity: Arc::clone(&identities) as _,
        clock: Arc::new(clock.clone()),
    };
    let settings = Settings { public_url: public_url.to_owned(), ..Settings::default() };
    Server { manager: Manager::new(parts, settings), identities }
}

impl Scene {
    /// With an admin whose password is [`ADMIN_PASSWORD`].
    pub(crate) async fn new() -> Self {
        Self::with(Vec::new(), "http://localhost:5000").await
    }

    pub(crate) async fn with(issuers: Vec<IssuerSettings>, public_url: &str) -> Self {
        let scene = Self::empty(issuers, public_url).await;
        let chosen = Password::new(ADMIN_PASSWORD);
        assert!(scene.one.manager.ensure_admin(Some(&chosen)).await.unwrap().is_none());
        scene
    }

    /// Without anybody.
    pub(crate) async fn empty(issuers: Vec<IssuerSettings>, public_url: &str) -> Self {
        let stored = database().await;
        // To the second, as tokens count.
        let now = Timestamp::from_second(Timestamp::now().as_second()).unwrap();
        let clock = Hands(Arc::new(Mutex::new(now)));
        let one = server(&stored.store, &clock, &issuers, public_url);
        Self { stored, clock, one, issuers, public_url: public_url.to_owned() }
    }

    /// Another server on the same database.
    pub(crate) async fn another(&self, name: &str) -> Server {
        server(&self.stored.another(name).await, &self.clock, &self.issuers, &self.public_url)
    }

    pub(crate) async fn admin(&self) -> Actor {
        let logged_in = self.login("admin", ADMIN_PASSWORD).await.unwrap();
        self.one.manager.authenticate(&logged_in.token).await.unwrap()
    }

    pub(crate) async fn login(&self, name: &str, password: &str) -> Result<LoggedIn, Error> {
        self.one.login(name, password).await
    }

    /// Somebody whose password is [`PASSWORD`].
    pub(crate) async fn user(&self, name: &str, role: Role, environments: &[Environment]) {
        let admin = self.admin().await;
        let (_, once) =
            self.one.manager.create_user(&admin, &new_user(name, role, environments)).await.unwrap();
        let new = Password::new(PASSWORD);
        self.one.manager.login(&caller(), name, &once, Some(&new)).await.unwrap();
    }

    /// The audit of an action, the newest first.
    pub(crate) async fn audit(&self, action: &str) -> Vec<AuditRecord> {
        let filter = AuditFilter { action: Some(action.to_owned()), ..AuditFilter::default() };
        self.stored.store.audit(&filter, Window { limit: 100, offset: 0 }).await.unwrap().items
    }
}

impl Server {
    pub(crate) async fn login(&self, name: &str, password: &str) -> Result<LoggedIn, Error> {
        self.manager.login(&caller(), name, &Password::new(password), None).await
    }

    /// Why a token is refused.
    pub(crate) async fn refuses(&self, token: &str) -> String {
        let error = self.manager.authenticate(token).await.expect_err("the token should be refused");
        assert_eq!(error.code, Code::Unauthorized, "{error}");
        error.message
    }

    pub(crate) async fn accepts(&self, token: &str) -> Actor {
        self.manager.authenticate(token).await.expect("the token should be accepted")
    }
}

pub(crate) fn new_user(name: &str, role: Role, environments: &[Environment]) -> NewUser {
    NewUser {
        username: name.to_owned(),
        rest: UserChange { full_name: None, email: None, role, environments: environments.to_vec() },
    }
}

/// Whoever asks, from an address of their own in each test.
pub(crate) fn caller() -> Actor {
    Actor { source: Some("192.0.2.7".to_owned()), ..Actor::anonymous() }
}
