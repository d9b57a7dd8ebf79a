//! A database with an operator and clusters that only it knows, and servers on it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_domain::access::{Actor, Environment};
use slipway_domain::cluster::{Cluster, ClusterHealth, CredentialFacts, CredentialKind, Labels, State};
use slipway_domain::id::{ClusterId, RolloutId};
use slipway_domain::operator::Asked;
use slipway_domain::rollout::Status;
use slipway_infra::postgres::{Options, PostgresStore, connect, migrate};
use slipway_orchestrator::operators::NewOperator;
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::Store as _;
use slipway_orchestrator::ports::store::{ClusterWrite, RolloutFilter, RolloutRows as _, StepRow};
use slipway_orchestrator::rollouts::RolloutSettings;
use slipway_orchestrator::{Changeset, Manager, Settings};
use slipway_testkit::charts::{ChartBuilder, ChartRepository};
use slipway_testkit::postgres::{Database, Postgres};
use slipway_testkit::{Part, Scratch, scratch};

use super::super::parts::parts;
use super::simulated::{Pace, SimulatedServer};

const OPERATOR: &str = "courier";
const VERSION: &str = "1.1.0";
const PATIENCE: Duration = Duration::from_mins(10);

/// A database with an operator and clusters that only it knows.
pub(super) struct Site {
    manager: Manager,
    store: PostgresStore,
    keys: PathBuf,
    _repository: ChartRepository,
    _files: Scratch,
    // Last: it is dropped once nobody is connected.
    database: Database,
}

impl Site {
    pub(super) async fn start(postgres: &Postgres, clusters: usize) -> anyhow::Result<Self> {
        let database = postgres.database().await?;
        let pool = connect(&Options::new(database.url())).await?;
        migrate(&pool).await?;
        let store = PostgresStore::new(pool, "bench");
        let files = scratch("bench-rollouts")?;
        let keys = files.path().join("keys");
        let rollouts = RolloutSettings { most_active: 1_000_000, ..RolloutSettings::default() };
        let settings = Settings { rollouts, ..Settings::default() };
        let manager = Manager::new(parts(&store, &keys)?, settings);
        let repository = ChartRepository::start().await?;
        for version in ["1.0.0", VERSION] {
            repository.add(&ChartBuilder::new(OPERATOR, version).build()?);
        }
        let asked = Asked {
            name: OPERATOR.to_owned(),
            namespace: OPERATOR.to_owned(),
            chart_repository: repository.url(),
            chart_name: OPERATOR.to_owned(),
            ..Asked::default()
        };
        let actor = Actor::system("bench");
        manager.register_operator(&actor, NewOperator { asked, ..NewOperator::default() }).await?;
        let mut changes = Changeset::new();
        for number in 0..clusters {
            let cluster = Box::new(cluster(number)?);
            changes = changes.write(ClusterWrite::Insert { cluster, sealed: vec![0] });
        }
        store.commit(changes).await.context("writing the clusters")?;
        Ok(Self { manager, store, keys, _repository: repository, _files: files, database })
    }

    /// Begins a rollout to some clusters, so many at once.
    pub(super) async fn begin(
        &self,
        clusters: std::ops::Range<usize>,
        at_once: usize,
    ) -> anyhow::Result<RolloutId> {
        let clusters: Vec<Value> = clusters.map(|number| name(number).into()).collect();
        let request = json!({
            "operatorName": OPERATOR, "targetVersion": VERSION, "targetClusters": clusters,
            "strategy": "Direct", "directConfig": {"parallelClusters": at_once}, "autoRollbackWindow": "PT1S",
        });
        Ok(self.manager.start_rollout(&Actor::system("bench"), &request).await?.id)
    }

    /// Starts a server.
    pub(super) fn serve(&self, number: usize, pace: Pace) -> anyhow::Result<Part> {
        let name = format!("server-{number}");
        Part::builder(&name, std::env::current_exe()?)
            .args(SimulatedServer::arguments(pace))
            .args(["--database-url", self.database.url(), "--name", &name])
            .arg("--key-file")
            .arg(&self.keys)
            .start()
    }

    /// Waits until so many were completed.
    pub(super) async fn until_completed(&self, rollouts: usize, servers: &[Part]) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let active = self.store.active_rollouts().await?;
            if active == 0 {
                break;
            }
            if let Some(ended) = servers.iter().find(|server| !server.is_running()) {
                bail!("a server ended: {}", ended.log());
            }
            ensure!(began.elapsed() < PATIENCE, "{active} of {rollouts} rollouts still go on");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let completed = RolloutFilter { status: Some(Status::Completed), ..RolloutFilter::default() };
        let window = Window { limit: 1, offset: 0 };
        let completed = self.store.rollouts(&completed, window).await?.total;
        ensure!(completed == rollouts as u64, "{completed} of {rollouts} rollouts were completed");
        Ok(())
    }

    pub(super) async fn steps(&self, id: RolloutId) -> anyhow::Result<Vec<StepRow>> {
        Ok(self.store.steps(id).await?)
    }

    /// What tells the processes of PostgreSQL that serve this database.
    pub(super) fn database(&self) -> &str {
        self.database.name()
    }

    /// Lets go of the database.
    pub(super) async fn close(self) {
        self.store.close().await;
    }
}

fn name(number: usize) -> String {
    format!("cluster-{number:04}")
}

fn cluster(number: usize) -> anyhow::Result<Cluster> {
    let now = Timestamp::now();
    Ok(Cluster {
        id: ClusterId(uuid::Uuid::new_v4()),
        name: name(number).parse().map_err(|reason| anyhow::anyhow!("{reason}"))?,
        description: None,
        environment: Environment::Development,
        labels: Labels::default(),
        server: "https://cluster.test".to_owned(),
        uid: None,
        state: State::Enabled,
        health: ClusterHealth::default(),
        credentials: CredentialFacts { kind: CredentialKind::Token, expires_at: None, changed_at: now },
        revision: 1,
        registered_at: now,
        updated_at: now,
    })
}
