//! The health of operators as people and programs see it. What is seen on clusters is given by the test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use slipway_contract::health::{Health, HistoryQuery, ReconciliationStatus, WebhookStatus};
use slipway_contract::page::PageQuery;
use slipway_domain::access::Role;
use slipway_domain::health::{
    Look, Observation, PodSeen, WebhookAnswer, WebhookKind, WebhookSeen, WorkloadSeen,
};
use slipway_domain::id::{ClusterId, OperatorId};
use slipway_domain::operator::{ChartSource, InstallationState, Manager as ManagedBy, Operator, Seen};
use slipway_infra::postgres::PostgresStore;
use slipway_orchestrator::Changeset;
use slipway_orchestrator::changes::Work;
use slipway_orchestrator::health::{HealthPlanWorker, OperatorHealthWorker};
use slipway_orchestrator::ports::Store as _;
use slipway_orchestrator::ports::probes::{Manner, Probes, Target};
use slipway_orchestrator::ports::store::{OperatorWrite, WorkRows as _};
use slipway_orchestrator::workers::Worker;
use slipway_testkit::ControlPlane;
use uuid::Uuid;

use crate::server::Server;
use crate::support::database;
use crate::{Served, keys, refused};

/// Sees a pod that is ready, or not, and a webhook.
#[derive(Default)]
struct Harbour {
    broken: Mutex<bool>,
}

#[async_trait]
impl Probes for Harbour {
    async fn look(&self, _: &Target, manner: Manner) -> Observation {
        let ready = !*self.broken.lock().unwrap();
        let pod = PodSeen {
            uid: "uid".into(),
            name: "boats-1".into(),
            ready,
            phase: "Running".into(),
            created: manner.at - SignedDuration::from_hours(1),
            trouble: None,
            containers: Vec::new(),
        };
        let webhook = WebhookSeen {
            configuration: "boats".into(),
            name: "validate.sea.dev".into(),
            kind: WebhookKind::Validating,
            endpoint: "https://boats.boats.svc:443/validate".into(),
            fails_closed: true,
            answer: WebhookAnswer::Answered,
            latency: Some(std::time::Duration::from_millis(12)),
            certificate: None,
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
            webhooks: Look::Seen(vec![webhook]),
            resources: Look::Seen(Vec::new()),
            ..Observation::unseen(manner.at, "")
        }
    }
}

async fn add_operator(store: &PostgresStore, name: &str) -> OperatorId {
    let (now, id) = (Timestamp::now(), OperatorId(Uuid::new_v4()));
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
        crd_names: Vec::new(),
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

async fn install(store: &PostgresStore, cluster: ClusterId, operator: OperatorId) {
    let seen = Seen {
        namespace: "boats".to_owned(),
        release: "boats".to_owned(),
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
        cluster,
        operator: Some(operator),
        seen: Box::new(seen),
        values: None,
        at: Timestamp::now(),
    };
    store.commit(Changeset::new().write(write)).await.unwrap();
}

/// Does a piece of work now.
async fn work(store: &PostgresStore, worker: &dyn Worker, key: &str) {
    let work = Work { kind: worker.kind(), key: key.to_owned() };
    let due = Timestamp::now() - SignedDuration::from_secs(1);
    store.commit(Changeset::new().due(work, due)).await.unwrap();
    let claims = store.claim(worker.kind(), 100, std::time::Duration::from_mins(1)).await.unwrap();
    for claim in &claims {
        worker.work(claim).await.unwrap();
        store.release(claim, std::time::Duration::from_hours(1)).await.unwrap();
    }
}

#[tokio::test]
async fn health_is_read_per_cluster_over_the_fleet_and_over_time() {
    let (stored, harbour) = (database().await, Arc::<Harbour>::default());
    let plane = ControlPlane::start().await.unwrap();
    let server = Server::looking(&stored.store, Arc::clone(&harbour) as Arc<dyn Probes>);
    let cluster = server.add("prod-eu", &plane).await.id;
    let store = stored.store.clone();
    let served = Served::with(stored, server.manager.clone()).await;
    let operator = add_operator(&store, "boats").await;
    install(&store, cluster, operator).await;
    let (viewer, deployer) = (served.client(Role::Viewer), served.client(Role::Operator));

    let before = viewer.cluster_operator_health("prod-eu", "boats", false).await.unwrap();
    assert_eq!(before.health, Health::Unknown);
    assert_eq!(before.error_message.as_deref(), Some("it was not looked at yet"));
    work(&store, &HealthPlanWorker::new(server.manager.clone()), "all").await;
    let place = format!("{cluster}/{operator}");
    let check = async || work(&store, &OperatorHealthWorker::new(server.manager.clone()), &place).await;
    check().await;

    let one = viewer.cluster_operator_health("prod-eu", "boats", false).await.unwrap();
    assert_eq!((one.health, one.controller_pods, one.fresh), (Health::Healthy, 1, false));
    assert_eq!((one.webhook_status, one.version.as_deref()), (WebhookStatus::Available, Some("1.2.3")));
    assert_eq!(one.crd_reconciliation, ReconciliationStatus::Unknown);
    let shape: Value = serde_json::to_value(&one).unwrap();
    for key in [
        "health",
        "controllerPods",
        "webhookStatus",
        "crdReconciliation",
        "lastChecked",
        "controllerPodHealth",
        "webhookHealth",
        "crdReconciliationHealth",
        "lastCheckedAt",
        "errorMessage",
        "consecutiveFailures",
    ] {
        assert!(keys(&shape).contains(&key), "{key}");
    }
    assert_eq!(shape["webhookHealth"]["latencyMs"], 12);
    assert_eq!(shape["controllerPodHealth"]["expectedPods"], 1);

    *harbour.broken.lock().unwrap() = true;
    let fresh = viewer.cluster_operator_health("prod-eu", "boats", true).await.unwrap();
    assert_eq!((fresh.health, fresh.fresh, fresh.consecutive_failures), (Health::Unhealthy, true, 0));
    let reason = &fresh.reasons[0].text;
    assert!(
        reason.starts_with("Deployment boats/boats has 0 of 1 pods ready; boats-1 is Running"),
        "{reason}"
    );
    check().await;
    let whole = viewer.operator_health("boats", false).await.unwrap();
    assert_eq!((whole.overall_health, whole.unhealthy_clusters), (Health::Unhealthy, 1));
    assert_eq!(whole.clusters[0].consecutive_failures, 1);
    let fleet = viewer.fleet_health(&PageQuery::default()).await.unwrap();
    assert_eq!((fleet.page.total, fleet.operators[0].overall_health), (1, Health::Unhealthy));
    let changes = HistoryQuery { changes: Some(true), ..HistoryQuery::default() };
    let history = viewer.operator_health_history("prod-eu", "boats", &changes).await.unwrap();
    let words: Vec<Health> = history.samples.iter().map(|sample| sample.health).collect();
    assert_eq!(words, [Health::Unhealthy, Health::Healthy]);

    let denied = refused(viewer.take_health_baseline("prod-eu", "boats").await.unwrap_err());
    assert_eq!(denied.0, 403);
    let baseline = deployer.take_health_baseline("prod-eu", "boats").await.unwrap();
    assert_eq!(baseline.workloads, ["Deployment boats/boats"]);

    let figures = served.figures().await;
    for line in ["operators_count 1", "clusters_count 1", "operators_unhealthy 1", "clusters_healthy 1"] {
        assert!(figures.lines().any(|known| known == line), "{line} is not in:\n{figures}");
    }
    let checks = "operator_healthcheck_duration_seconds_count{health=\"Healthy\"} 1";
    assert!(figures.lines().any(|known| known == checks), "{figures}");
    assert!(figures.lines().any(|known| known == "clusters_registered_total 1"), "{figures}");

    // While an operator is installed, its cluster stays.
    let admin = served.client(Role::Admin);
    let kept = refused(admin.remove_cluster("prod-eu", false).await.unwrap_err());
    assert_eq!((kept.0, kept.1.as_str()), (409, "CONFLICT"));
    assert!(kept.2.contains("boats") && kept.2.contains("--force"), "{}", kept.2);
    admin.remove_cluster("prod-eu", true).await.unwrap();
    assert_eq!(viewer.operator_health("boats", false).await.unwrap().clusters.len(), 0);
}

#[tokio::test]
async fn what_is_nowhere_has_its_code() {
    let stored = database().await;
    let server = Server::looking(&stored.store, Arc::<Harbour>::default());
    let store = stored.store.clone();
    let served = Served::with(stored, server.manager).await;
    add_operator(&store, "boats").await;
    let viewer = served.client(Role::Viewer);
    let gone = refused(viewer.operator_health("nobody", false).await.unwrap_err());
    assert_eq!((gone.0, gone.1.as_str()), (404, "OPERATOR_NOT_FOUND"));
    let gone = refused(viewer.cluster_operator_health("nowhere", "boats", false).await.unwrap_err());
    assert_eq!((gone.0, gone.1.as_str()), (404, "CLUSTER_NOT_FOUND"));
    let all = viewer.operator_health("boats", true).await.unwrap();
    assert_eq!((all.overall_health, all.clusters.len()), (Health::Unknown, 0));
    let odd = HistoryQuery { limit: Some(1_000), ..HistoryQuery::default() };
    let odd = refused(viewer.operator_health_history("nowhere", "boats", &odd).await.unwrap_err());
    assert_eq!((odd.0, odd.1.as_str()), (400, "VALIDATION_ERROR"));
}
