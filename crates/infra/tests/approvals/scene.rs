//! A manager with people, a database and a mail server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::access::{Actor, Environment, Role};
use slipway_domain::id::UserId;
use slipway_domain::user::{Origin, User, UserState};
use slipway_infra::identity::Identities;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::{AddressRules, Connections, KubernetesClusters};
use slipway_infra::mail::{MailEncryption, MailSettings, Mailer};
use slipway_infra::notifier::Notifiers;
use slipway_infra::postgres::PostgresStore;
use slipway_infra::webhook::Webhooks;
use slipway_infra::workers::Runner;
use slipway_orchestrator::notices::{NoticeSettings, Receiver};
use slipway_orchestrator::outbox::OutboxSender;
use slipway_orchestrator::ports::store::UserWrite;
use slipway_orchestrator::ports::{Charts, Clock, Keyring, Notifier, Releases, Store as _};
use slipway_orchestrator::{Changeset, Manager, Parts, Settings};
use slipway_testkit::smtp::Smtp;
use slipway_testkit::until;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::support::{Stored, database};

/// When every test begins.
pub(crate) fn now() -> Timestamp {
    "2026-01-15T12:00:00Z".parse().unwrap()
}

/// A clock that a test moves.
#[derive(Debug, Clone)]
pub(crate) struct Hands(Arc<Mutex<Timestamp>>);

impl Hands {
    pub(crate) fn set(&self, at: Timestamp) {
        *self.0.lock().unwrap() = at;
    }
}

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// A manager with people around it.
pub(crate) struct Scene {
    pub(crate) stored: Stored,
    pub(crate) smtp: Smtp,
    pub(crate) clock: Hands,
    pub(crate) manager: Manager,
    /// Starts rollouts.
    pub(crate) bob: Actor,
    pub(crate) viewer: Actor,
    /// Of production.
    pub(crate) owner: Actor,
    pub(crate) staging_owner: Actor,
    pub(crate) admin: Actor,
    /// Another admin.
    pub(crate) chief: Actor,
}

pub(crate) async fn scene() -> Scene {
    let stored = database().await;
    let smtp = Smtp::start().await.unwrap();
    let clock = Hands(Arc::new(Mutex::new(now())));
    let store = stored.store.clone();
    let production = &[Environment::Production][..];
    let somebody = async |name, role, environments: &[Environment], state| {
        somebody(&store, name, role, environments, state).await
    };
    let bob = somebody("bob", Role::Operator, &[], UserState::Enabled).await;
    let viewer = somebody("vic", Role::Viewer, &[], UserState::Enabled).await;
    let owner = somebody("olga", Role::EnvironmentOwner, production, UserState::Enabled).await;
    somebody("otto", Role::EnvironmentOwner, production, UserState::Disabled).await;
    let staging = &[Environment::Staging];
    let staging_owner = somebody("stan", Role::EnvironmentOwner, staging, UserState::Enabled).await;
    let admin = somebody("ann", Role::Admin, &[], UserState::Enabled).await;
    let chief = somebody("cleo", Role::Admin, &[], UserState::Enabled).await;
    let manager = manager(&store, &smtp, &clock);
    Scene { stored, smtp, clock, manager, bob, viewer, owner, staging_owner, admin, chief }
}

async fn somebody(
    store: &PostgresStore,
    name: &str,
    role: Role,
    environments: &[Environment],
    state: UserState,
) -> Actor {
    let user = User {
        id: UserId(Uuid::new_v4()),
        username: name.parse().unwrap(),
        full_name: None,
        email: Some(format!("{name}@slipway.test").parse().unwrap()),
        role,
        environments: environments.to_vec(),
        origin: Origin::Local,
        state,
        must_change_password: false,
        version: 1,
        revision: 1,
        created_at: now(),
        updated_at: now(),
        last_login_at: None,
    };
    let actor = user.actor();
    let create = UserWrite::Create { user: Box::new(user), password: None };
    store.commit(Changeset::new().write(create)).await.unwrap();
    actor
}

fn manager(store: &PostgresStore, smtp: &Smtp, clock: &Hands) -> Manager {
    telling(store, smtp, clock, Webhooks::default(), Vec::new())
}

/// One that tells programs, too.
fn telling(
    store: &PostgresStore,
    smtp: &Smtp,
    clock: &Hands,
    webhooks: Webhooks,
    receivers: Vec<Receiver>,
) -> Manager {
    let mail = MailSettings {
        port: Some(smtp.address().port()),
        encryption: MailEncryption::Plain { elsewhere: false },
        ..MailSettings::new("127.0.0.1", "Slipway <slipway@slipway.test>")
    };
    let notifier = Notifiers { mail: Some(Mailer::new(mail).unwrap()), webhooks };
    let settings = Settings {
        public_url: "https://slipway.test".to_owned(),
        notices: NoticeSettings { mail: true, receivers, ..NoticeSettings::default() },
        ..Settings::default()
    };
    Manager::new(parts(store, Arc::new(notifier), Arc::new(clock.clone())), settings)
}

/// The adapters that approvals do not touch.
struct Nothing;

#[async_trait]
impl Charts for Nothing {}

#[async_trait]
impl Releases for Nothing {}

fn parts(store: &PostgresStore, notifier: Arc<dyn Notifier>, clock: Arc<dyn Clock>) -> Parts {
    let key = Zeroizing::new("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".to_owned());
    let keyring: Arc<dyn Keyring> = Arc::new(AesKeyring::load(&KeySource::Text(key)).unwrap());
    let connections = Connections::new(Arc::new(store.clone()), Arc::clone(&keyring));
    Parts {
        store: Arc::new(store.clone()),
        clusters: Arc::new(KubernetesClusters::new(Arc::new(connections), AddressRules::default())),
        charts: Arc::new(Nothing),
        releases: Arc::new(Nothing),
        probes: Arc::new(slipway_orchestrator::ports::probes::Blind),
        fleet: Arc::new(slipway_orchestrator::ports::fleet::NoFleet),
        keyring,
        notifier,
        identity: Arc::new(Identities::new(Vec::new()).unwrap()),
        clock,
    }
}

impl Scene {
    pub(crate) fn store(&self) -> &PostgresStore {
        &self.stored.store
    }

    /// Another server's manager on another store.
    pub(crate) fn manager_on(&self, store: &PostgresStore) -> Manager {
        manager(store, &self.smtp, &self.clock)
    }

    /// The manager of a server that tells these programs of approvals.
    pub(crate) fn manager_telling(&self, store: &PostgresStore, webhooks: Webhooks) -> Manager {
        let chat = Receiver { name: "chat".to_owned(), kinds: vec!["approval.".to_owned()] };
        telling(store, &self.smtp, &self.clock, webhooks, vec![chat])
    }

    pub(crate) async fn another(&self, server: &str) -> Manager {
        self.manager_on(&self.stored.another(server).await)
    }

    #[allow(clippy::unused_self, reason = "it reads as a part of the scene")]
    pub(crate) fn sender(&self, manager: &Manager) -> Arc<OutboxSender> {
        Arc::new(OutboxSender::new(manager.clone()))
    }

    #[allow(clippy::unused_self, reason = "it reads as a part of the scene")]
    pub(crate) fn run(&self, runner: Runner) -> Running {
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(runner.run(async move {
            let _ = stopped.await;
        }));
        Running { stop, task }
    }

    /// What is in the outbox: subjects and addresses, in order.
    pub(crate) async fn outbox(&self) -> Vec<(String, String)> {
        sqlx::query_as("SELECT subject, recipient->>'address' FROM outbox ORDER BY id")
            .fetch_all(self.store().pool())
            .await
            .unwrap()
    }

    pub(crate) async fn subjects(&self) -> Vec<String> {
        self.outbox().await.into_iter().map(|(subject, _)| subject).collect()
    }

    /// Returns when so many messages are sent, and none waits.
    pub(crate) async fn sent(&self, count: i64) {
        until("the messages to be sent", Duration::from_mins(1), async || {
            let (sent, waiting): (i64, i64) = sqlx::query_as(
                "SELECT count(*) FILTER (WHERE sent_at IS NOT NULL), count(*) FILTER (WHERE sent_at IS NULL)
                 FROM outbox",
            )
            .fetch_one(self.store().pool())
            .await
            .unwrap();
            (sent == count && waiting == 0).then_some(())
        })
        .await
        .unwrap();
    }

    /// Which server sends now.
    pub(crate) async fn claimed_by(&self) -> Option<String> {
        sqlx::query_scalar("SELECT claimed_by FROM work WHERE kind = 'outbox'")
            .fetch_optional(self.store().pool())
            .await
            .unwrap()
            .flatten()
    }
}

/// A runner that runs.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    /// In order.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.unwrap();
    }

    /// As a crash would.
    pub(crate) fn kill(self) {
        self.task.abort();
    }
}
