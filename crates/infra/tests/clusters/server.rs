//! A manager on real things, and what tests ask of it.
#![allow(dead_code, reason = "each test program uses the part it needs")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;
use slipway_domain::access::{Actor, ActorKind, Environment, Role};
use slipway_domain::cluster::Cluster;
use slipway_domain::id::{ClusterId, UserId};
use slipway_infra::identity::Identities;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::enrol::{Enrolment, Rights, enrol};
use slipway_infra::kubernetes::{AddressRules, Connections, KubernetesClusters};
use slipway_infra::notifier::Notifiers;
use slipway_infra::postgres::PostgresStore;
use slipway_orchestrator::changes::Work;
use slipway_orchestrator::clusters::Registration;
use slipway_orchestrator::clusters::access::{ClusterAccess, Credential};
use slipway_orchestrator::ports::clusters::GivenAccess;
use slipway_orchestrator::ports::probes::{Blind, Probes};
use slipway_orchestrator::ports::store::{Claim, ClusterRows as _, WorkRows as _};
use slipway_orchestrator::ports::{Charts, Clock, Clusters, Keyring, Releases, Store as _};
use slipway_orchestrator::workers::{Next, Worker};
use slipway_orchestrator::{Changeset, Error, Manager, Parts, Settings};
use slipway_testkit::ControlPlane;
use uuid::Uuid;

/// What clusters have nothing to do with.
pub(crate) struct Absent;

#[async_trait]
impl Charts for Absent {}
#[async_trait]
impl Releases for Absent {}
/// A clock that is ahead.
pub(crate) struct Ahead(pub(crate) Duration);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        Timestamp::now() + self.0
    }
}

/// A server, as far as clusters go.
pub(crate) struct Server {
    pub(crate) manager: Manager,
    pub(crate) store: PostgresStore,
    pub(crate) keyring: Arc<dyn Keyring>,
    pub(crate) connections: Arc<Connections>,
}

/// The keys 1 to `last`.
pub(crate) fn keyring(last: u8) -> Arc<dyn Keyring> {
    let keys: Vec<_> = (1..=last).map(|fill| STANDARD.encode([fill; 32])).collect();
    Arc::new(AesKeyring::load(&KeySource::Text(keys.join(",").into())).unwrap())
}

impl Server {
    pub(crate) fn new(store: &PostgresStore) -> Self {
        Self::with(store, keyring(1), Duration::ZERO, |clusters| clusters)
    }

    /// With keys, a clock ahead, and something around the clusters.
    pub(crate) fn with(
        store: &PostgresStore,
        keyring: Arc<dyn Keyring>,
        ahead: Duration,
        around: impl FnOnce(Arc<dyn Clusters>) -> Arc<dyn Clusters>,
    ) -> Self {
        Self::build(store, keyring, Arc::new(Ahead(ahead)), around, Arc::new(Blind))
    }

    /// With something that looks at operators, at the time that is.
    pub(crate) fn looking(store: &PostgresStore, probes: Arc<dyn Probes>) -> Self {
        Self::build(store, keyring(1), Arc::new(Ahead(Duration::ZERO)), |clusters| clusters, probes)
    }

    fn build(
        store: &PostgresStore,
        keyring: Arc<dyn Keyring>,
        clock: Arc<dyn Clock>,
        around: impl FnOnce(Arc<dyn Clusters>) -> Arc<dyn Clusters>,
        probes: Arc<dyn Probes>,
    ) -> Self {
        let connections = Arc::new(Connections::new(Arc::new(store.clone()), Arc::clone(&keyring)));
        let rules = AddressRules { loopback: true, ..AddressRules::default() };
        let clusters = KubernetesClusters::new(Arc::clone(&connections), rules);
        let parts = Parts {
            store: Arc::new(store.clone()),
            clusters: around(Arc::new(clusters)),
            charts: Arc::new(Absent),
            releases: Arc::new(Absent),
            probes,
            fleet: Arc::new(slipway_orchestrator::ports::fleet::NoFleet),
            keyring: Arc::clone(&keyring),
            notifier: Arc::new(Notifiers::default()),
            identity: Arc::new(Identities::new(Vec::new()).unwrap()),
            clock,
        };
        let manager = Manager::new(parts, Settings::default());
        Self { manager, store: store.clone(), keyring, connections }
    }

    /// Registers a control plane the way the command line does.
    pub(crate) async fn add(&self, name: &str, plane: &ControlPlane) -> Cluster {
        let enrolment = enrolled(plane).await;
        let registration = registration(name, parts(plane, &enrolment.token));
        self.manager.register_cluster(&admin(), registration).await.unwrap()
    }

    /// How a cluster is reached, opened.
    pub(crate) async fn access(&self, id: ClusterId) -> ClusterAccess {
        let sealed = self.store.cluster_access(id).await.unwrap().unwrap();
        ClusterAccess::open(id, &sealed.sealed, &*self.keyring).unwrap()
    }

    /// The token of a cluster.
    pub(crate) async fn token(&self, id: ClusterId) -> String {
        match self.access(id).await.credential {
            Credential::Token(token) => token.expose().to_owned(),
            Credential::Certificate { .. } => panic!("no token"),
        }
    }

    /// Does a piece of work now.
    pub(crate) async fn work(&self, worker: &dyn Worker, id: ClusterId) -> Result<Next, Error> {
        let work = Work { kind: worker.kind(), key: id.to_string() };
        self.store.commit(Changeset::new().due(work, Timestamp::now())).await.unwrap();
        let claims = self.store.claim(worker.kind(), 100, Duration::from_secs(30)).await.unwrap();
        let claim: &Claim = claims.iter().find(|claim| claim.work.key == id.to_string()).expect("it is due");
        let done = worker.work(claim).await;
        for claim in &claims {
            self.store.release(claim, Duration::from_hours(1)).await.unwrap();
        }
        done
    }
}

/// Somebody with a role.
pub(crate) fn person(role: Role) -> Actor {
    Actor {
        kind: ActorKind::User { id: UserId(Uuid::from_u128(7)) },
        name: "ada".to_owned(),
        role: Some(role),
        environments: Vec::new(),
        source: Some("192.0.2.7".to_owned()),
        trace_id: None,
    }
}

pub(crate) fn admin() -> Actor {
    person(Role::Admin)
}

pub(crate) async fn enrolled(plane: &ControlPlane) -> Enrolment {
    enrol(&plane.client().await.unwrap(), &Rights::Documented).await.unwrap()
}

/// The authority of a control plane, PEM in base64.
pub(crate) fn authority(plane: &ControlPlane) -> String {
    let config: Value = serde_json::from_str(plane.kubeconfig()).unwrap();
    let authority = config.pointer("/clusters/0/cluster/certificate-authority-data");
    authority.and_then(Value::as_str).unwrap().to_owned()
}

pub(crate) fn parts(plane: &ControlPlane, token: &str) -> GivenAccess {
    GivenAccess::Parts {
        server: plane.server().to_owned(),
        authority: Some(authority(plane)),
        server_name: None,
        token: token.to_owned().into(),
    }
}

pub(crate) fn uploaded(kubeconfig: &str) -> GivenAccess {
    GivenAccess::Kubeconfig(STANDARD.encode(kubeconfig).into())
}

pub(crate) fn registration(name: &str, access: GivenAccess) -> Registration {
    Registration {
        name: name.to_owned(),
        description: None,
        environment: Environment::Development,
        labels: BTreeMap::new(),
        access: Ok(access),
        duplicate: false,
    }
}
