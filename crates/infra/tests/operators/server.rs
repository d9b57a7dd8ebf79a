//! A manager on real things, and what tests ask of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_domain::access::{Actor, ActorKind, Environment, Role};
use slipway_domain::cluster::Cluster;
use slipway_domain::id::UserId;
use slipway_domain::operator::{Asked, Operator};
use slipway_infra::charts::{ChartRepositories, HelmPrograms};
use slipway_infra::identity::Identities;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::enrol::{Rights, enrol};
use slipway_infra::kubernetes::{AddressRules, Connections, KubernetesClusters};
use slipway_infra::notifier::Notifiers;
use slipway_infra::postgres::PostgresStore;
use slipway_infra::releases::HelmReleases;
use slipway_orchestrator::changes::Work;
use slipway_orchestrator::clusters::Registration;
use slipway_orchestrator::operators::NewOperator;
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::clusters::GivenAccess;
use slipway_orchestrator::ports::probes::Blind;
use slipway_orchestrator::ports::store::{AuditFilter, AuditRows as _, Claim, EventRows as _, WorkRows as _};
use slipway_orchestrator::ports::{Clock, Keyring, Store as _};
use slipway_orchestrator::workers::{Next, Worker};
use slipway_orchestrator::{Changeset, Error, Manager, Parts, Settings};
use slipway_testkit::ControlPlane;
use slipway_testkit::charts::{Chart, ChartBuilder};
use uuid::Uuid;

struct Now;

impl Clock for Now {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A server, as far as operators go.
pub(crate) struct Server {
    pub(crate) manager: Manager,
    pub(crate) store: PostgresStore,
}

impl Server {
    pub(crate) fn new(store: &PostgresStore) -> Self {
        Self::with_keys(store, &[7])
    }

    /// One that seals with the last of the keys.
    pub(crate) fn with_keys(store: &PostgresStore, keys: &[u8]) -> Self {
        let keys: Vec<String> = keys.iter().map(|key| STANDARD.encode([*key; 32])).collect();
        let keys = KeySource::Text(keys.join(",").into());
        let keyring: Arc<dyn Keyring> = Arc::new(AesKeyring::load(&keys).unwrap());
        let connections = Arc::new(Connections::new(Arc::new(store.clone()), Arc::clone(&keyring)));
        let rules = AddressRules { loopback: true, ..AddressRules::default() };
        let guardian = slipway_testkit::guardian::guardian().unwrap().to_owned();
        let parts = Parts {
            store: Arc::new(store.clone()),
            clusters: Arc::new(KubernetesClusters::new(Arc::clone(&connections), rules)),
            charts: Arc::new(ChartRepositories::new(HelmPrograms { guardian, helm: None })),
            releases: Arc::new(HelmReleases::new(connections)),
            keyring,
            probes: Arc::new(Blind),
            fleet: Arc::new(slipway_orchestrator::ports::fleet::NoFleet),
            notifier: Arc::new(Notifiers::default()),
            identity: Arc::new(Identities::new(Vec::new()).unwrap()),
            clock: Arc::new(Now),
        };
        Self { manager: Manager::new(parts, Settings::default()), store: store.clone() }
    }

    /// Registers a control plane the way the command line does.
    pub(crate) async fn add_cluster(&self, name: &str, plane: &ControlPlane) -> Cluster {
        let enrolment = enrol(&plane.client().await.unwrap(), &Rights::Documented).await.unwrap();
        let config: Value = serde_json::from_str(plane.kubeconfig()).unwrap();
        let authority = config.pointer("/clusters/0/cluster/certificate-authority-data");
        let registration = Registration {
            name: name.to_owned(),
            description: None,
            environment: Environment::Development,
            labels: BTreeMap::new(),
            access: Ok(GivenAccess::Parts {
                server: plane.server().to_owned(),
                authority: authority.and_then(Value::as_str).map(str::to_owned),
                server_name: None,
                token: enrolment.token.as_str().to_owned().into(),
            }),
            duplicate: false,
        };
        self.manager.register_cluster(&admin(), registration).await.unwrap()
    }

    pub(crate) async fn register(&self, asked: Asked) -> Result<Operator, Error> {
        let new = NewOperator { asked, ..NewOperator::default() };
        self.manager.register_operator(&admin(), new).await
    }

    /// Does a piece of work now.
    pub(crate) async fn work(&self, worker: &dyn Worker, key: String) -> Result<Next, Error> {
        let work = Work { kind: worker.kind(), key: key.clone() };
        self.store.commit(Changeset::new().due(work, Timestamp::now())).await.unwrap();
        let claims = self.store.claim(worker.kind(), 100, Duration::from_mins(1)).await.unwrap();
        let claim: &Claim = claims.iter().find(|claim| claim.work.key == key).expect("it is due");
        let done = worker.work(claim).await;
        for claim in &claims {
            self.store.release(claim, Duration::from_hours(1)).await.unwrap();
        }
        done
    }

    /// What was told, as `subject kind`.
    pub(crate) async fn news(&self) -> Vec<String> {
        let events = self.store.events_after(0, 1000).await.unwrap();
        events.iter().map(|record| format!("{} {}", record.event.subject, record.event.kind)).collect()
    }

    /// What was written down, the oldest first, as `actor action result`.
    pub(crate) async fn audit(&self, action: &str) -> Vec<String> {
        let filter = AuditFilter { action: Some(action.to_owned()), ..AuditFilter::default() };
        let window = Window::new(Some(100), None).unwrap();
        let mut page = self.store.audit(&filter, window).await.unwrap().items;
        page.reverse();
        page.iter().map(|entry| format!("{} {:?}", entry.actor, entry.result)).collect()
    }

    /// Whether any table holds a text, wherever.
    pub(crate) async fn database_holds(&self, text: &str) -> Vec<String> {
        let tables: Vec<String> =
            sqlx::query_scalar("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")
                .fetch_all(self.store.pool())
                .await
                .unwrap();
        let mut holding = Vec::new();
        for table in tables {
            // Rows as text have bytes in hexadecimal, so both ways are looked for.
            let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
            let query = format!(
                "SELECT count(*) FROM \"{table}\" t WHERE strpos(t::text, $1) > 0 OR strpos(t::text, $2) > 0"
            );
            let found: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(query))
                .bind(text)
                .bind(hex)
                .fetch_one(self.store.pool())
                .await
                .unwrap();
            if found > 0 {
                holding.push(table);
            }
        }
        holding
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

/// An operator called `greeter` from a repository.
pub(crate) fn asked(repository: &str) -> Asked {
    Asked {
        name: "greeter".to_owned(),
        namespace: "greetings".to_owned(),
        chart_repository: repository.to_owned(),
        chart_name: "greeter".to_owned(),
        ..Asked::default()
    }
}

/// A chart with a workload, a definition in `crds/` and one among its templates.
pub(crate) fn greeter(version: &str) -> Chart {
    builder("greeter", version).build().unwrap()
}

pub(crate) fn builder(name: &str, version: &str) -> ChartBuilder {
    let labels = "{app.kubernetes.io/managed-by: Helm, helm.sh/chart: '{{ .Chart.Name }}-{{ .Chart.Version }}', app.kubernetes.io/instance: '{{ .Release.Name }}'}";
    ChartBuilder::new(name, version)
        .values("greeting: hello\n")
        .crd("greetings.yaml", &definition("greetings").to_string())
        .template("salutes.yaml", &definition("salutes").to_string())
        .template(
            "deployment.yaml",
            &format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{{{ .Release.Name }}}}\n  labels: {labels}\nspec:\n  replicas: 0\n  selector: {{matchLabels: {{app: x}}}}\n  template:\n    metadata: {{labels: {{app: x}}}}\n    spec: {{containers: [{{name: x, image: example.com/x:1}}]}}\n"
            ),
        )
}

pub(crate) fn definition(plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {
                "plural": plural, "singular": plural.trim_end_matches('s'),
                "kind": plural.to_uppercase(), "listKind": format!("{}List", plural.to_uppercase()),
            },
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    })
}
