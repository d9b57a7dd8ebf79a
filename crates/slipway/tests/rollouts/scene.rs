//! A fleet, the servers that manage it, and what people ask of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use slipway_client::{Client, ClientError};
use slipway_contract::deployments::{ClusterRolloutStatus, DeploymentDetailReply, DeploymentStatus};
use slipway_contract::operators::RegisterOperator;
use slipway_contract::settings::ApplyRequest;
use slipway_testkit::charts::{Chart, ChartRepository};
use slipway_testkit::postgres::{Database, Postgres};
use slipway_testkit::{Fleet, RealCluster};
use tempfile::TempDir;

use crate::cluster::{Cluster, Kind};
use crate::fleet::kubeconfig;
use crate::person::Person;
use crate::program::{Served, folder};

/// Longer than any rollout here takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(8);

/// How often somebody looks.
const LOOK: Duration = Duration::from_millis(700);

/// So many names to ask under: each is let in so often a minute.
const CALLERS: usize = 8;

/// A fleet with servers that share a database.
pub(crate) struct Scene {
    pub(crate) clusters: BTreeMap<String, Cluster>,
    pub(crate) repository: ChartRepository,
    pub(crate) admin: Person,
    tokens: Vec<String>,
    next: AtomicUsize,
    servers: Mutex<Vec<Option<Served>>>,
    /// Where those who ask find a server that runs.
    url: Mutex<String>,
    arguments: Vec<String>,
    // The logs of all, also of those that are gone.
    folders: Mutex<Vec<TempDir>>,
    _database: Database,
    _postgres: Postgres,
}

impl Scene {
    /// Clusters with their environments, one server, nobody who has to agree to anything.
    pub(crate) async fn start(clusters: &[(&str, &str)]) -> Self {
        let scene = Self::with_approvals(clusters).await;
        scene.asks_nobody().await;
        scene
    }

    /// The same on clusters that have real nodes, in development.
    pub(crate) async fn on_real(clusters: Vec<(&str, RealCluster)>) -> Self {
        let kinds = clusters
            .into_iter()
            .map(|(name, cluster)| (name, "development", Kind::Real(Box::new(cluster))))
            .collect();
        Self::on(kinds).await
    }

    async fn asks_nobody(&self) {
        let free = ["ProductionDeployment", "OperatorVersionUpgrade", "BreakingCrdChange"].map(|kind| {
            json!({"apiVersion": "slipway.dev/v1", "kind": "ApprovalRule",
                "metadata": {"name": kind.to_lowercase()}, "spec": {"type": kind, "required": false}})
        });
        self.apply(free.to_vec()).await;
    }

    /// The same where people have to agree as they usually do.
    pub(crate) async fn with_approvals(clusters: &[(&str, &str)]) -> Self {
        let planes = Fleet::start(clusters.len(), 1).await.unwrap().clusters.into_iter();
        let kinds = clusters
            .iter()
            .zip(planes)
            .map(|((name, environment), plane)| (*name, *environment, Kind::Kwok(Box::new(plane))))
            .collect();
        Self::on(kinds).await
    }

    async fn on(clusters: Vec<(&str, &str, Kind)>) -> Self {
        let own = folder();
        let postgres = Postgres::shared().await.unwrap();
        let database = postgres.database().await.unwrap();
        let arguments = vec![
            format!("--database-url={}", database.url()),
            format!("--key-file={}", own.path().join("keys").display()),
            "--clusters-allow-loopback=true".to_owned(),
            "--log-filter=info,slipway_orchestrator=debug,slipway_infra=debug".to_owned(),
        ];
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let served = Served::start(own.path(), &words).await;
        let admin = Person::first_admin(&served, "a long password of my own").await;
        let file = admin.folder().join("kubeconfig");
        let texts: Vec<String> = clusters.iter().map(|(.., kind)| kind.kubeconfig()).collect();
        let named: Vec<(&str, &str)> =
            clusters.iter().zip(&texts).map(|((name, ..), text)| (*name, text.as_str())).collect();
        std::fs::write(&file, kubeconfig(&named)).unwrap();
        let file = file.display().to_string();
        let environments: BTreeSet<&str> = clusters.iter().map(|(_, at, _)| *at).collect();
        for environment in environments {
            let there: Vec<&str> =
                clusters.iter().filter(|(_, at, _)| *at == environment).map(|(name, ..)| *name).collect();
            let contexts = format!("--contexts={}", there.join(","));
            let import =
                ["cluster", "import", &contexts, "--kubeconfig", &file, "--environment", environment];
            admin.runs(&import).await;
        }
        let mut tokens = Vec::new();
        for number in 0..CALLERS {
            let name = format!("caller-{number}");
            let token = admin.runs(&["token", "create", &name, "--role", "Admin"]).await;
            tokens.push(token.trim().to_owned());
        }
        let mut members = BTreeMap::new();
        for (name, _, kind) in clusters {
            members.insert(name.to_owned(), Cluster::on(kind).await);
        }
        Self {
            clusters: members,
            repository: ChartRepository::start().await.unwrap(),
            admin,
            tokens,
            next: AtomicUsize::new(0),
            url: Mutex::new(served.url.clone()),
            servers: Mutex::new(vec![Some(served)]),
            arguments,
            folders: Mutex::new(vec![own]),
            _database: database,
            _postgres: postgres,
        }
    }

    /// Starts another server on the same database, and gives its number.
    pub(crate) async fn another_server(&self) -> usize {
        let own = folder();
        let words: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let served = Served::start(own.path(), &words).await;
        let mut servers = self.servers.lock().unwrap();
        servers.push(Some(served));
        self.folders.lock().unwrap().push(own);
        servers.len() - 1
    }

    /// Takes a server away, to stop or kill it; those who ask go to another one.
    pub(crate) fn take_server(&self, number: usize) -> Served {
        let mut servers = self.servers.lock().unwrap();
        let taken = servers[number].take().expect("it runs");
        if let Some(other) = servers.iter().flatten().next() {
            other.url.clone_into(&mut self.url.lock().unwrap());
        }
        taken
    }

    pub(crate) fn cluster(&self, name: &str) -> &Cluster {
        &self.clusters[name]
    }

    /// All names, in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.clusters.keys().map(String::as_str).collect()
    }

    /// Somebody who may do everything; another one each time, so that nobody asks too often.
    pub(crate) fn client(&self) -> Client {
        let number = self.next.fetch_add(1, Ordering::Relaxed) % self.tokens.len();
        self.client_of(&self.tokens[number])
    }

    /// Where a server that runs is reached.
    pub(crate) fn url(&self) -> String {
        self.url.lock().unwrap().clone()
    }

    /// Somebody with this token.
    pub(crate) fn client_of(&self, token: &str) -> Client {
        Client::builder(self.url()).build().unwrap().with_token(token)
    }

    pub(crate) async fn apply(&self, documents: Vec<Value>) {
        self.client().apply(&ApplyRequest { documents, dry_run: false }).await.unwrap();
    }

    /// Registers an operator with its versions.
    pub(crate) async fn operator(&self, charts: &[Chart]) {
        for chart in charts {
            self.repository.add(chart);
        }
        self.register_with(charts[0].name(), None, Vec::new()).await;
    }

    /// Registers an operator whose versions are on offer already, with definitions that its chart does not hold.
    pub(crate) async fn register_with(&self, name: &str, profile: Option<Value>, crd_names: Vec<String>) {
        let operator = RegisterOperator {
            name: name.to_owned(),
            description: None,
            namespace: name.to_owned(),
            chart_repository: self.repository.url(),
            chart_name: name.to_owned(),
            current_version: None,
            crd_names,
            labels: BTreeMap::new(),
            default_values: Map::new(),
            profile,
            credentials: None,
            ca_certificate: None,
        };
        self.client().register_operator(&operator).await.unwrap();
    }

    /// Begins a rollout, and gives its id.
    pub(crate) async fn begin(
        &self,
        operator: &str,
        version: &str,
        clusters: &[&str],
        more: &Value,
    ) -> String {
        let mut request =
            json!({"operatorName": operator, "targetVersion": version, "targetClusters": clusters});
        for (key, value) in more.as_object().into_iter().flatten() {
            request[key] = value.clone();
        }
        loop {
            match self.client().start_deployment(&request).await {
                Ok(begun) => return begun.deployment_id.to_string(),
                Err(ClientError::Refused { status: 429, .. }) => tokio::time::sleep(LOOK).await,
                Err(error) => panic!("{operator} {version}: {error:?}"),
            }
        }
    }

    /// A rollout as it is now. Whatever is not over says what it waits for.
    pub(crate) async fn now(&self, id: &str) -> DeploymentDetailReply {
        loop {
            match self.client().deployment(id).await {
                Ok(detail) => {
                    let quiet = detail.why.waits_for.as_ref().is_none_or(|wait| wait.what.is_empty());
                    let over = detail.deployment.status.is_end();
                    assert!(over || !quiet, "it sits there and does not say why: {detail:#?}");
                    return detail;
                }
                Err(ClientError::Refused { status: 429, .. }) => tokio::time::sleep(LOOK).await,
                Err(error) => panic!("{id}: {error:?}"),
            }
        }
    }

    /// A rollout once it is there, which it has to be before it is over.
    pub(crate) async fn reaches(
        &self,
        id: &str,
        what: &str,
        there: impl Fn(&DeploymentDetailReply) -> bool,
    ) -> DeploymentDetailReply {
        let over = |now: &DeploymentDetailReply| now.deployment.status.is_end();
        let detail = self.comes_to(id, what, |now| over(now) || there(now)).await;
        assert!(there(&detail), "it is over without {what}: {detail:#?}");
        detail
    }

    /// A rollout once it is there; it may be over before that and be taken up again.
    pub(crate) async fn comes_to(
        &self,
        id: &str,
        what: &str,
        there: impl Fn(&DeploymentDetailReply) -> bool,
    ) -> DeploymentDetailReply {
        let began = Instant::now();
        loop {
            let detail = self.now(id).await;
            if there(&detail) {
                return detail;
            }
            assert!(began.elapsed() < PATIENCE, "waited in vain for {what}: {detail:#?}");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// A rollout at its end.
    pub(crate) async fn ends(&self, id: &str) -> DeploymentDetailReply {
        self.reaches(id, "its end", |detail| detail.deployment.status.is_end()).await
    }

    /// Rolls out, and expects this end.
    pub(crate) async fn rolls_out(
        &self,
        operator: &str,
        version: &str,
        clusters: &[&str],
        more: &Value,
        wanted: DeploymentStatus,
    ) -> DeploymentDetailReply {
        let id = self.begin(operator, version, clusters, more).await;
        let end = self.ends(&id).await;
        assert_eq!(end.deployment.status, wanted, "{operator} {version}: {end:#?}");
        end
    }

    /// The version that each cluster has at work.
    pub(crate) async fn versions(&self, operator: &str) -> BTreeMap<&str, String> {
        let mut found = BTreeMap::new();
        for (name, cluster) in &self.clusters {
            let standing = cluster.standing(operator).await;
            found.insert(name.as_str(), standing.version().to_owned());
        }
        found
    }

    /// Ends all servers, each in order.
    pub(crate) async fn close(self) {
        let servers = std::mem::take(&mut *self.servers.lock().unwrap());
        for served in servers.into_iter().flatten() {
            assert_eq!(served.stop().await.code(), Some(0));
        }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for own in self.folders.lock().unwrap().iter() {
                slipway_testkit::part::print_tail("slipway", &own.path().join("log"));
            }
        }
    }
}

/// How far each cluster came, by name.
pub(crate) fn statuses(detail: &DeploymentDetailReply) -> BTreeMap<&str, ClusterRolloutStatus> {
    detail.cluster_statuses.iter().map(|one| (one.cluster_name.as_str(), one.status)).collect()
}

/// The same settings for everybody.
pub(crate) fn direct() -> Value {
    json!({"strategy": "Direct"})
}
