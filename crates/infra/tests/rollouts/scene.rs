//! A database with an operator and clusters, and rollouts of it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use slipway_domain::access::Environment;
use slipway_domain::approval::Starter;
use slipway_domain::cluster::Labels;
use slipway_domain::id::{ClusterId, OperatorId, RolloutId};
use slipway_domain::name::Name;
use slipway_domain::rollout::{
    ActKey, Canary, Direct, Phase, Settings, Spec, State, Status, Step, StepKind, Strategy, Target, plan,
};
use slipway_infra::postgres::PostgresStore;
use slipway_orchestrator::Changeset;
use slipway_orchestrator::ports::fleet::Placement;
use slipway_orchestrator::ports::probes::ReleaseAt;
use slipway_orchestrator::ports::store::{Happened, Rollout, RolloutRows as _, RolloutWrite, Sealed};
use slipway_orchestrator::ports::{Store as _, StoreError};
use uuid::Uuid;

use crate::support::{Stored, database};

/// The time of every test; to the microsecond, as the database keeps it.
pub(crate) fn now() -> Timestamp {
    "2026-11-16T12:00:00.123456Z".parse().unwrap()
}

pub(crate) fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub(crate) struct Scene {
    pub(crate) stored: Stored,
    pub(crate) operator: OperatorId,
    pub(crate) clusters: BTreeMap<Name, ClusterId>,
}

pub(crate) async fn scene() -> Scene {
    let stored = database().await;
    let operator = OperatorId(Uuid::new_v4());
    add_operator(&stored.store, operator, "boats").await;
    let mut clusters = BTreeMap::new();
    for (cluster, environment) in
        [("dev", "Development"), ("prod-eu", "Production"), ("prod-us", "Production")]
    {
        let id = ClusterId(Uuid::new_v4());
        sqlx::query(
            "INSERT INTO clusters (id, name, environment, api_server_url, credential_kind, credential_changed_at,
                 registered_at, updated_at)
             VALUES ($1, $2, $3, 'https://cluster.test', 'Token', now(), now(), now())",
        )
        .bind(id.0)
        .bind(cluster)
        .bind(environment)
        .execute(stored.store.pool())
        .await
        .unwrap();
        clusters.insert(name(cluster), id);
    }
    Scene { stored, operator, clusters }
}

pub(crate) async fn add_operator(store: &PostgresStore, id: OperatorId, name: &str) {
    sqlx::query(
        "INSERT INTO operators (id, name, namespace, chart_repository, chart_name, created_at, updated_at)
         VALUES ($1, $2, $2, 'https://charts.test', $2, now(), now())",
    )
    .bind(id.0)
    .bind(name)
    .execute(store.pool())
    .await
    .unwrap();
}

impl Scene {
    pub(crate) fn store(&self) -> &PostgresStore {
        &self.stored.store
    }

    /// A rollout that begins, over some of the clusters.
    pub(crate) fn rollout(&self, clusters: &[&str]) -> Rollout {
        self.with(clusters, Strategy::Direct(Direct::default()))
    }

    pub(crate) fn canary(&self, clusters: &[&str]) -> Rollout {
        self.with(clusters, Strategy::Canary(Canary::default()))
    }

    fn with(&self, clusters: &[&str], strategy: Strategy) -> Rollout {
        let id = RolloutId(Uuid::new_v4());
        let target = |text: &&str| Target {
            cluster: name(text),
            environment: match *text {
                "dev" => Environment::Development,
                _ => Environment::Production,
            },
            labels: Labels::default(),
        };
        let targets: Vec<Target> = clusters.iter().map(target).collect();
        let settings = Settings::with(strategy);
        let waves = plan(&settings, &targets).unwrap();
        let spec = Spec {
            rollout: id,
            operator: name("boats"),
            version: "v1.14.0".parse().unwrap(),
            settings,
            targets,
            smoke: false,
            migrate: false,
        };
        let placement = |text: &&str| {
            let placement = Placement {
                cluster: self.clusters[&name(text)],
                release: ReleaseAt { namespace: "boats".to_owned(), name: "boats".to_owned() },
                installed: true,
                adopts: false,
                beside: None,
            };
            (name(text), placement)
        };
        Rollout {
            id,
            operator: self.operator,
            state: State::new(spec, waves, now()),
            placements: clusters.iter().map(placement).collect(),
            previous_version: Some("v1.13.0".parse().unwrap()),
            starter: Starter { person: Some(Uuid::from_u128(4)), name: "bob".to_owned() },
            emergency: None,
            may_delete: vec!["Service boats/old".to_owned()],
            trace: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned()),
            created_at: now(),
            started_at: None,
            ended_at: None,
            version: 1,
        }
    }

    pub(crate) async fn write(&self, write: RolloutWrite) -> Result<(), StoreError> {
        self.store().commit(Changeset::new().write(write)).await
    }

    pub(crate) async fn begin(&self, rollout: &Rollout) -> Result<(), StoreError> {
        self.write(begin(rollout)).await
    }

    pub(crate) async fn decide(&self, rollout: &Rollout, news: &[&str]) -> Result<(), StoreError> {
        let news = news
            .iter()
            .map(|text| Happened { kind: "said".into(), cluster: None, text: (*text).to_owned() })
            .collect();
        self.write(RolloutWrite::Decide { rollout: Box::new(rollout.clone()), news }).await
    }

    /// Brings it to a status, as if that was decided.
    pub(crate) async fn becomes(&self, id: RolloutId, status: Status) -> Result<(), StoreError> {
        let mut rollout = self.read(id).await;
        rollout.state.status = status;
        if status.is_end() {
            rollout.state.phase = Phase::Over;
            rollout.ended_at = Some(self.store().time().await.unwrap());
        }
        self.decide(&rollout, &[]).await
    }

    pub(crate) async fn read(&self, id: RolloutId) -> Rollout {
        self.store().rollout(id).await.unwrap().unwrap()
    }

    /// Who holds what, by the cluster's name.
    pub(crate) async fn held(&self) -> BTreeMap<Name, RolloutId> {
        let ids: Vec<ClusterId> = self.clusters.values().copied().collect();
        let held = self.store().reservations(self.operator, &ids).await.unwrap();
        let called = |id| self.clusters.iter().find(|(_, known)| **known == id).unwrap().0.clone();
        held.into_iter().map(|(cluster, rollout)| (called(cluster), rollout)).collect()
    }
}

pub(crate) fn begin(rollout: &Rollout) -> RolloutWrite {
    RolloutWrite::Begin { rollout: Box::new(rollout.clone()), values: Sealed(b"sealed".to_vec()) }
}

pub(crate) fn key(cluster: &str, kind: StepKind, attempt: u32) -> ActKey {
    ActKey { cluster: name(cluster), kind, attempt }
}

/// Has a step under way in the state.
pub(crate) fn under_way(rollout: &mut Rollout, key: &ActKey) {
    let cluster = rollout.state.clusters.get_mut(&key.cluster).unwrap();
    let deadline = now() + jiff::SignedDuration::from_mins(5);
    cluster.step = Some(Step { kind: key.kind, attempt: key.attempt, since: now(), deadline });
}
