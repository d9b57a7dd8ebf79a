//! Health over time, on a real PostgreSQL: what is checked, kept, told and shown. What is seen on clusters is
//! given by the test.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod support;
#[path = "health_worker/told.rs"]
mod told;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::{SignedDuration, Timestamp};
use slipway_domain::access::{Actor, Environment, Role};
use slipway_domain::cluster::{Cluster, ClusterHealth, CredentialFacts, CredentialKind, Labels, State};
use slipway_domain::health::{Look, Observation, PodSeen, Verdict, WorkloadSeen};
use slipway_domain::id::{ClusterId, OperatorId};
use slipway_domain::operator::{ChartSource, InstallationState, Manager as ManagedBy, Operator, Seen};
use slipway_infra::charts::{ChartRepositories, HelmPrograms};
use slipway_infra::identity::Identities;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::{AddressRules, Connections, KubernetesClusters};
use slipway_infra::postgres::PostgresStore;
use slipway_infra::releases::HelmReleases;
use slipway_orchestrator::changes::Work;
use slipway_orchestrator::health::{HEALTH_PLAN, HealthPlanWorker, OPERATOR_HEALTH, OperatorHealthWorker};
use slipway_orchestrator::notices::{NoticeSettings, Receiver};
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::probes::{Manner, Probes, Target};
use slipway_orchestrator::ports::store::{
    ClusterWrite, EventRows as _, HealthRows as _, OperatorWrite, Place, WorkRows as _,
};
use slipway_orchestrator::ports::{Clock, Keyring, Notifier, NotifyError, Store as _};
use slipway_orchestrator::workers::{Next, Worker};
use slipway_orchestrator::{Changeset, Code, Manager, Parts, Settings};
use support::{Stored, database};
use uuid::Uuid;

/// What is seen at the next look, and the time.
struct World {
    ready: Mutex<Option<bool>>,
    now: Mutex<Timestamp>,
    targets: Mutex<Vec<Target>>,
}

impl World {
    fn pods(&self, ready: Option<bool>) {
        *self.ready.lock().unwrap() = ready;
    }
}

#[async_trait]
impl Probes for World {
    async fn look(&self, target: &Target, manner: Manner) -> Observation {
        self.targets.lock().unwrap().push(target.clone());
        let Some(ready) = *self.ready.lock().unwrap() else {
            return Observation::unseen(manner.at, "cluster prod-eu does not answer: connection refused");
        };
        let pod = PodSeen {
            uid: "uid".into(),
            name: "boats-1".into(),
            ready,
            phase: "Running".into(),
            created: manner.at - SignedDuration::from_hours(1),
            trouble: None,
            containers: Vec::new(),
        };
        Observation {
            workloads: Look::Seen(vec![WorkloadSeen {
                kind: "Deployment".into(),
                namespace: "boats".into(),
                name: "boats".into(),
                exists: true,
                expected: 1,
                pods: vec![pod],
            }]),
            webhooks: Look::Seen(Vec::new()),
            resources: Look::Seen(Vec::new()),
            ..Observation::unseen(manner.at, "")
        }
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }
}

struct Absent;

#[async_trait]
impl Notifier for Absent {
    async fn send(&self, _: &slipway_orchestrator::ports::store::Message) -> Result<(), NotifyError> {
        Err(NotifyError::later("nobody sends here"))
    }
}

struct Server {
    world: Arc<World>,
    manager: Manager,
    store: PostgresStore,
}

impl Server {
    fn new(store: &PostgresStore, world: &Arc<World>) -> Self {
        let clock = Arc::clone(world) as Arc<dyn Clock>;
        let settings = Settings { notices: notices(), ..Settings::default() };
        Self::with(store, world, Arc::new(Absent), clock, settings)
    }

    fn with(
        store: &PostgresStore,
        world: &Arc<World>,
        notifier: Arc<dyn Notifier>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Self {
        let key = BASE64.encode([7; 32]);
        let keyring: Arc<dyn Keyring> = Arc::new(AesKeyring::load(&KeySource::Text(key.into())).unwrap());
        let connections = Arc::new(Connections::new(Arc::new(store.clone()), Arc::clone(&keyring)));
        let guardian = slipway_testkit::guardian::guardian().unwrap().to_owned();
        let parts = Parts {
            store: Arc::new(store.clone()),
            clusters: Arc::new(KubernetesClusters::new(Arc::clone(&connections), AddressRules::default())),
            charts: Arc::new(ChartRepositories::new(HelmPrograms { guardian, helm: None })),
            probes: Arc::clone(world) as Arc<dyn Probes>,
            fleet: Arc::new(slipway_orchestrator::ports::fleet::NoFleet),
            releases: Arc::new(HelmReleases::new(connections)),
            keyring,
            notifier,
            identity: Arc::new(Identities::new(Vec::new()).unwrap()),
            clock,
        };
        Self { world: Arc::clone(world), manager: Manager::new(parts, settings), store: store.clone() }
    }

    /// Does one piece of work now.
    async fn work(&self, worker: &dyn Worker, key: &str) -> Next {
        let work = Work { kind: worker.kind(), key: key.to_owned() };
        let due = Timestamp::now() - SignedDuration::from_secs(1);
        self.store.commit(Changeset::new().due(work, due)).await.unwrap();
        let claims = self.store.claim(worker.kind(), 100, Duration::from_mins(1)).await.unwrap();
        let claim = claims.iter().find(|claim| claim.work.key == key).expect("it is due");
        let next = worker.work(claim).await.unwrap();
        for claim in &claims {
            self.store.release(claim, Duration::from_hours(1)).await.unwrap();
        }
        next
    }

    async fn plan(&self) {
        self.work(&HealthPlanWorker::new(self.manager.clone()), "all").await;
    }

    /// A check, half a minute after the last.
    async fn check(&self, place: Place) -> Next {
        {
            let mut now = self.world.now.lock().unwrap();
            *now += SignedDuration::from_secs(30);
        }
        let worker = OperatorHealthWorker::new(self.manager.clone());
        self.work(&worker, &format!("{}/{}", place.cluster, place.operator)).await
    }

    /// The messages that were written, as `recipient: subject`.
    async fn messages(&self) -> Vec<String> {
        sqlx::query_scalar(
            "SELECT concat(recipient ->> 'address', recipient ->> 'receiver', ': ', subject) FROM outbox ORDER BY id",
        )
        .fetch_all(self.store.pool())
        .await
        .unwrap()
    }

    async fn news(&self) -> Vec<String> {
        let events = self.store.events_after(0, 100).await.unwrap();
        events.iter().map(|record| format!("{} {}", record.event.subject, record.event.kind)).collect()
    }
}

/// Somebody on duty, and a program.
fn notices() -> NoticeSettings {
    NoticeSettings {
        mail: true,
        alert_addresses: vec!["duty@example.test".to_owned()],
        receivers: vec![Receiver { name: "chat".to_owned(), kinds: vec!["alert.".to_owned()] }],
    }
}

/// Where all is well.
fn world() -> Arc<World> {
    Arc::new(World {
        ready: Mutex::new(Some(true)),
        now: Mutex::new(Timestamp::now()),
        targets: Mutex::default(),
    })
}

async fn start() -> (Stored, Server) {
    let stored = database().await;
    let world = world();
    let server = Server::new(&stored.store, &world);
    (stored, server)
}

fn actor(role: Role) -> Actor {
    Actor { name: "ada".to_owned(), role: Some(role), ..Actor::anonymous() }
}

async fn add_cluster(store: &PostgresStore, name: &str) -> ClusterId {
    let now = Timestamp::now();
    let id = ClusterId(Uuid::new_v4());
    let cluster = Cluster {
        id,
        name: name.parse().unwrap(),
        description: None,
        environment: Environment::Production,
        labels: Labels::new(&BTreeMap::new()).unwrap(),
        server: format!("https://{name}.example.test"),
        uid: Some(Uuid::new_v4().to_string()),
        state: State::Enabled,
        health: ClusterHealth::default(),
        credentials: CredentialFacts { kind: CredentialKind::Token, expires_at: None, changed_at: now },
        revision: 1,
        registered_at: now,
        updated_at: now,
    };
    let write = ClusterWrite::Insert { cluster: Box::new(cluster), sealed: vec![1] };
    store.commit(Changeset::new().write(write)).await.unwrap();
    id
}

async fn add_operator(store: &PostgresStore, name: &str) -> OperatorId {
    let now = Timestamp::now();
    let id = OperatorId(Uuid::new_v4());
    let operator = Operator {
        id,
        name: name.parse().unwrap(),
        description: None,
        namespace: name.parse().unwrap(),
        chart: ChartSource {
            repository: "https://charts.example.test".parse().unwrap(),
            chart: name.parse().unwrap(),
        },
        current_version: None,
        latest_version: None,
        crd_names: vec!["boats.sea.dev".to_owned()],
        labels: BTreeMap::new(),
        default_values: serde_json::Map::new(),
        profile: None,
        has_credentials: false,
        authority: None,
        deployed_clusters: 0,
        checked_at: None,
        check_error: None,
        created_at: now,
        updated_at: now,
        revision: 1,
    };
    let write = OperatorWrite::Add { operator: Box::new(operator), credentials: None };
    store.commit(Changeset::new().write(write)).await.unwrap();
    id
}

async fn install(store: &PostgresStore, place: Place, release: &str) {
    let seen = Seen {
        namespace: "boats".to_owned(),
        release: release.to_owned(),
        chart: "boats".to_owned(),
        version: "1.2.3".to_owned(),
        app_version: None,
        revision: 1,
        state: InstallationState::Deployed,
        managed_by: ManagedBy::Helm,
        manager_reference: None,
        deployed_at: None,
    };
    let write = OperatorWrite::Seen {
        cluster: place.cluster,
        operator: Some(place.operator),
        seen: Box::new(seen),
        values: None,
        at: Timestamp::now(),
    };
    store.commit(Changeset::new().write(write)).await.unwrap();
}

async fn installed(server: &Server) -> Place {
    let place = Place {
        cluster: add_cluster(&server.store, "prod-eu").await,
        operator: add_operator(&server.store, "boats").await,
    };
    install(&server.store, place, "boats").await;
    place
}

#[tokio::test]
async fn what_is_installed_is_checked_and_what_is_gone_is_forgotten() {
    let (_stored, server) = start().await;
    let place = installed(&server).await;
    server.manager.start_operator_health().await.unwrap();
    assert!(server.store.next_due(HEALTH_PLAN).await.unwrap().is_some());
    server.plan().await;
    assert_eq!(server.store.health_places().await.unwrap(), [place]);
    let due = server.store.next_due(OPERATOR_HEALTH).await.unwrap().expect("it is checked soon");
    assert!(due <= Duration::from_secs(31), "{due:?}");

    let Next::After(again) = server.check(place).await else { panic!("it goes on") };
    assert!((27..=33).contains(&again.as_secs()), "half a minute, give or take: {again:?}");
    let record = server.store.operator_health(place).await.unwrap().unwrap();
    assert_eq!(record.verdict(), Verdict::Healthy);
    let target = server.world.targets.lock().unwrap()[0].clone();
    assert_eq!((target.cluster_name.as_str(), target.operator_name.as_str()), ("prod-eu", "boats"));
    assert_eq!((target.releases.len(), target.crds.as_slice()), (1, &["boats.sea.dev".to_owned()][..]));
    assert_eq!(server.news().await.last().unwrap(), "boats healthChanged");

    // Planning again changes nothing.
    server.plan().await;
    assert!(server.store.operator_health(place).await.unwrap().unwrap().health.is_some());

    let gone =
        OperatorWrite::Gone { cluster: place.cluster, namespace: "boats".into(), release: "boats".into() };
    server.store.commit(Changeset::new().write(gone)).await.unwrap();
    server.plan().await;
    assert_eq!(server.store.operator_health(place).await.unwrap(), None);
    assert_eq!(server.store.next_due(OPERATOR_HEALTH).await.unwrap(), None);
}

#[tokio::test]
async fn people_and_programs_are_told_once_when_it_fails_and_once_when_it_is_over() {
    let (stored, server) = start().await;
    let place = installed(&server).await;
    server.plan().await;
    server.check(place).await;
    server.world.pods(Some(false));
    for _ in 0..2 {
        server.check(place).await;
    }
    assert_eq!(server.messages().await, Vec::<String>::new(), "twice is no episode");
    // A check that could not be done neither adds nor ends.
    server.world.pods(None);
    server.check(place).await;
    server.world.pods(Some(false));
    // Another server goes on where this one stopped.
    let other = Server::new(&stored.another("two").await, &server.world);
    for _ in 0..3 {
        other.check(place).await;
    }
    let failing = ["duty@example.test: Unhealthy: boats on prod-eu", "chat: Unhealthy: boats on prod-eu"];
    assert_eq!(server.messages().await, failing);
    assert_eq!(server.store.operator_health(place).await.unwrap().unwrap().episode.failures, 5);
    let text: String =
        sqlx::query_scalar("SELECT text FROM outbox LIMIT 1").fetch_one(server.store.pool()).await.unwrap();
    assert!(text.contains("Deployment boats/boats has 0 of 1 pods ready"), "{text}");

    server.world.pods(Some(true));
    for _ in 0..2 {
        server.check(place).await;
    }
    let recovered = ["duty@example.test: Recovered: boats on prod-eu", "chat: Recovered: boats on prod-eu"];
    assert_eq!(server.messages().await[2..], recovered);

    // The next episode is another one.
    server.world.pods(Some(false));
    for _ in 0..3 {
        server.check(place).await;
    }
    assert_eq!(server.messages().await[4..], failing);
    let window = Window { limit: 100, offset: 0 };
    let history = server.store.health_history(place, true, window).await.unwrap();
    let verdicts: Vec<Verdict> = history.items.iter().rev().map(|sample| sample.verdict).collect();
    assert_eq!(
        verdicts,
        [
            Verdict::Healthy,
            Verdict::Unhealthy,
            Verdict::Unknown,
            Verdict::Unhealthy,
            Verdict::Healthy,
            Verdict::Unhealthy
        ]
    );
}

#[tokio::test]
async fn health_is_shown_per_cluster_and_over_the_fleet_and_looking_counts_for_nothing() {
    let (_stored, server) = start().await;
    let place = installed(&server).await;
    let second = Place { cluster: add_cluster(&server.store, "prod-us").await, operator: place.operator };
    install(&server.store, second, "boats").await;
    server.plan().await;
    server.check(place).await;
    let (manager, viewer) = (&server.manager, actor(Role::Viewer));

    let view = manager.operator_health(&viewer, "boats", false).await.unwrap();
    let words: Vec<(&str, Verdict)> =
        view.clusters.iter().map(|view| (view.cluster_name.as_str(), view.record.verdict())).collect();
    assert_eq!(words, [("prod-eu", Verdict::Healthy), ("prod-us", Verdict::Unknown)]);
    assert_eq!((view.fleet.overall, view.fleet.healthy, view.fleet.unknown), (Verdict::Unknown, 1, 1));

    // Whoever looks often causes no alert.
    server.world.pods(Some(false));
    for _ in 0..5 {
        let view = manager.operator_health_on(&viewer, "prod-eu", "boats", true).await.unwrap();
        assert_eq!((view.record.verdict(), view.fresh), (Verdict::Unhealthy, true));
    }
    assert_eq!(server.messages().await, Vec::<String>::new());
    let last = manager.operator_health_on(&viewer, "prod-eu", "boats", false).await.unwrap();
    assert_eq!((last.record.verdict(), last.version.as_deref()), (Verdict::Healthy, Some("1.2.3")));
    let fresh = manager.operator_health(&viewer, "boats", true).await.unwrap();
    assert_eq!(fresh.fleet.unhealthy, 2);

    let page = manager.fleet_health(&viewer, Window { limit: 20, offset: 0 }).await.unwrap();
    assert_eq!((page.total, page.items[0].operator_name.as_str()), (1, "boats"));
    assert_eq!((page.items[0].fleet.healthy, page.items[0].fleet.unknown), (1, 1));

    let add = add_operator(&server.store, "ships").await;
    assert_ne!(add, place.operator);
    for (cluster, operator, code) in [
        ("nowhere", "boats", Code::ClusterNotFound),
        ("prod-eu", "nobody", Code::OperatorNotFound),
        ("prod-eu", "ships", Code::NotFound),
        ("prod-eu", "Not A Name", Code::OperatorNotFound),
    ] {
        let error = manager.operator_health_on(&viewer, cluster, operator, false).await.unwrap_err();
        assert_eq!(error.code, code, "{error}");
    }
    let error = manager.operator_health(&Actor::anonymous(), "boats", false).await.unwrap_err();
    assert_eq!(error.code, Code::Unauthorized);
}

#[tokio::test]
async fn a_baseline_is_taken_by_those_who_may_deploy_and_only_of_what_was_seen() {
    let (_stored, server) = start().await;
    let place = installed(&server).await;
    server.plan().await;
    let manager = &server.manager;
    let error = manager.take_health_baseline(&actor(Role::Viewer), "prod-eu", "boats").await.unwrap_err();
    assert_eq!(error.code, Code::Forbidden);
    server.world.pods(None);
    let error = manager.take_health_baseline(&actor(Role::Operator), "prod-eu", "boats").await.unwrap_err();
    assert_eq!(error.code, Code::ClusterUnreachable);
    assert_eq!(server.store.health_baseline(place).await.unwrap(), None);
    server.world.pods(Some(false));
    let taken = manager.take_health_baseline(&actor(Role::Operator), "prod-eu", "boats").await.unwrap();
    assert_eq!(taken.shortages.get("Deployment boats/boats"), Some(&1));
    server.check(place).await;
    let record = server.store.operator_health(place).await.unwrap().unwrap();
    let health = record.health.unwrap();
    assert_eq!(health.verdict, Verdict::Unhealthy, "who looks sees it");
    assert_eq!(health.beyond_baseline().0, Verdict::Healthy, "a change is not to blame");
}
