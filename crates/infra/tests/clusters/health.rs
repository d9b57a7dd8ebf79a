//! Looking at clusters again and again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::PostParams;
use slipway_domain::cluster::{HealthStatus, State};
use slipway_domain::id::ClusterId;
use slipway_domain::problem::Problems;
use slipway_orchestrator::clusters::access::ClusterAccess;
use slipway_orchestrator::clusters::{CLUSTER_HEALTH, ClusterHealthWorker};
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::Clusters;
use slipway_orchestrator::ports::clusters::{Binding, ClusterError, GivenAccess, Seen};
use slipway_orchestrator::ports::store::{
    AuditFilter, AuditRows as _, ClusterRows as _, EventRows as _, WorkRows as _,
};
use slipway_orchestrator::workers::{Next, Worker as _};
use slipway_orchestrator::{Error, Manager};
use slipway_testkit::{ControlPlane, until};

use crate::server::{Server, admin, keyring, registration, uploaded};
use crate::support::database;

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_cluster_that_is_gone_is_unhealthy_with_the_reason_until_it_is_back() {
    let stored = database().await;
    let plane = ControlPlane::builder().own_etcd().start().await.unwrap();
    let server = Server::new(&stored.store);
    let id = server.add("dev-1", &plane).await.id;
    let worker = ClusterHealthWorker::new(server.manager.clone());
    let look = async || {
        let next = server.work(&worker, id).await.unwrap();
        assert!(matches!(next, Next::After(wait) if wait >= MINUTE * 9 / 10 && wait <= MINUTE * 11 / 10));
        stored.store.cluster(id).await.unwrap().unwrap().health
    };
    assert_eq!(look().await.status, HealthStatus::Healthy);
    let healthy = look().await;
    plane.kill("kube-apiserver").await.unwrap();
    let gone = look().await;
    assert_eq!(gone.status, HealthStatus::Unhealthy);
    assert!(!gone.reachable && gone.latency_ms.is_none());
    assert!(gone.reason.as_ref().unwrap().contains("connection refused"), "{:?}", gone.reason);
    assert_eq!(gone.kubernetes_version, healthy.kubernetes_version, "what was known stays known");
    assert_eq!(look().await.since, gone.since, "the episode goes on");
    plane.start_part("kube-apiserver").await.unwrap();
    // The same client finds its way back.
    until("the cluster to be healthy", MINUTE, async || {
        (look().await.status == HealthStatus::Healthy).then_some(())
    })
    .await
    .unwrap();

    let events = stored.store.events_after(0, 100).await.unwrap();
    let told: Vec<_> = events
        .iter()
        .filter(|record| record.event.kind == "healthChanged")
        .map(|record| record.event.data["healthStatus"].as_str().unwrap())
        .collect();
    assert_eq!(told.first(), Some(&"Unhealthy"));
    assert_eq!(told.last(), Some(&"Healthy"));
    let history = stored.store.cluster_history(id, 100).await.unwrap();
    assert_eq!(
        history.last().map(|sample| (sample.status, sample.changed)),
        Some((HealthStatus::Healthy, true))
    );
    assert_eq!(history.iter().filter(|sample| sample.changed).count(), 1 + told.len());
    let filter = AuditFilter { action: Some("cluster.access".to_owned()), ..AuditFilter::default() };
    let noted = stored.store.audit(&filter, Window::new(None, None).unwrap()).await.unwrap();
    assert_eq!(noted.total, 1, "many looks on one day are one entry");
}

#[tokio::test]
async fn nodes_that_are_not_ready_degrade_a_cluster() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let id = server.add("dev-1", &plane).await.id;
    let node: Node = serde_json::from_value(serde_json::json!({"metadata": {"name": "lost"}})).unwrap();
    Api::all(plane.client().await.unwrap()).create(&PostParams::default(), &node).await.unwrap();
    server.work(&ClusterHealthWorker::new(server.manager.clone()), id).await.unwrap();
    let health = stored.store.cluster(id).await.unwrap().unwrap().health;
    assert_eq!(health.status, HealthStatus::Degraded);
    assert_eq!(health.reason.as_deref(), Some("1 of 1 nodes is not ready (lost)"));
}

#[tokio::test]
async fn another_cluster_at_the_same_address_is_not_taken_for_it() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let id = server.add("dev-1", &plane).await.id;
    sqlx::query("UPDATE clusters SET uid = 'of another'").execute(stored.store.pool()).await.unwrap();
    server.work(&ClusterHealthWorker::new(server.manager.clone()), id).await.unwrap();
    let health = stored.store.cluster(id).await.unwrap().unwrap().health;
    assert_eq!(health.status, HealthStatus::Unhealthy);
    assert!(health.reason.unwrap().contains("another cluster answers"));
}

#[tokio::test]
async fn a_cluster_that_is_disabled_is_not_looked_at() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let id = server.add("dev-1", &plane).await.id;
    server.manager.set_cluster_state(&admin(), "dev-1", State::Disabled).await.unwrap();
    assert_eq!(stored.store.next_due(CLUSTER_HEALTH).await.unwrap(), None);
    let worker = ClusterHealthWorker::new(server.manager.clone());
    assert_eq!(server.work(&worker, id).await.unwrap(), Next::Ended, "what was due by mistake ends itself");
    assert_eq!(stored.store.next_due(CLUSTER_HEALTH).await.unwrap(), None);
    server.manager.set_cluster_state(&admin(), "dev-1", State::Enabled).await.unwrap();
    assert_eq!(stored.store.next_due(CLUSTER_HEALTH).await.unwrap(), Some(Duration::ZERO));
}

#[tokio::test]
async fn samples_are_kept_for_a_day_and_changes_for_good() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let id = server.add("dev-1", &plane).await.id;
    let worker = ClusterHealthWorker::new(server.manager.clone());
    server.work(&worker, id).await.unwrap();
    assert_eq!(stored.store.cluster_history(id, 9).await.unwrap().len(), 2);
    sqlx::query("UPDATE cluster_health_history SET at = at - interval '25 hours'")
        .execute(stored.store.pool())
        .await
        .unwrap();
    server.work(&worker, id).await.unwrap();
    let kept = stored.store.cluster_history(id, 9).await.unwrap();
    assert_eq!(kept.iter().map(|sample| sample.changed).collect::<Vec<_>>(), [false, true]);
}

/// Counts who looks at what at the same time, over all servers.
#[derive(Default)]
struct Looks {
    now: BTreeMap<ClusterId, u32>,
    all: BTreeMap<ClusterId, u32>,
    together: u32,
}

struct Watched {
    inner: Arc<dyn Clusters>,
    looks: Arc<Mutex<Looks>>,
}

#[async_trait]
impl Clusters for Watched {
    fn read(&self, given: &GivenAccess) -> Result<ClusterAccess, Problems> {
        self.inner.read(given)
    }

    async fn look(&self, access: &ClusterAccess) -> Seen {
        self.inner.look(access).await
    }

    async fn look_at(&self, id: ClusterId) -> Result<Seen, Error> {
        {
            let mut looks = self.looks.lock().unwrap();
            let now = looks.now.entry(id).or_default();
            *now += 1;
            let now = *now;
            looks.together = looks.together.max(now);
            *looks.all.entry(id).or_default() += 1;
        }
        let seen = self.inner.look_at(id).await;
        *self.looks.lock().unwrap().now.entry(id).or_default() -= 1;
        seen
    }

    async fn renew(&self, access: &ClusterAccess, binding: Binding) -> Result<ClusterAccess, ClusterError> {
        self.inner.renew(access, binding).await
    }

    async fn revoke(&self, old: &ClusterAccess, new: &ClusterAccess) -> Result<bool, ClusterError> {
        self.inner.revoke(old, new).await
    }

    async fn retire(&self, access: &ClusterAccess) -> Result<bool, ClusterError> {
        self.inner.retire(access).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_share_the_looking_and_each_cluster_is_looked_at_by_one_at_a_time() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let looks = Arc::new(Mutex::new(Looks::default()));
    let around = |inner| Arc::new(Watched { inner, looks: Arc::clone(&looks) }) as Arc<dyn Clusters>;
    let (one, two) = (stored.store.clone(), stored.another("two").await);
    let servers = [one, two].map(|store| Server::with(&store, keyring(1), Duration::ZERO, around));
    let mut ids = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        let mut wanted = registration(name, uploaded(plane.kubeconfig()));
        wanted.duplicate = true;
        ids.push(servers[0].manager.register_cluster(&admin(), wanted).await.unwrap().id);
    }
    sqlx::query("UPDATE work SET due_at = now()").execute(stored.store.pool()).await.unwrap();
    let serve = |server: &Server| {
        let (store, manager): (_, Manager) = (server.store.clone(), server.manager.clone());
        tokio::spawn(async move {
            let worker = ClusterHealthWorker::new(manager);
            let mut mine = 0;
            let until = Timestamp::now() + Duration::from_mins(1);
            while Timestamp::now() < until {
                let claims = store.claim(CLUSTER_HEALTH, 1, Duration::from_secs(30)).await.unwrap();
                for claim in &claims {
                    worker.work(claim).await.unwrap();
                    // Due again at once, so that both want all of them all the time.
                    store.release(claim, Duration::ZERO).await.unwrap();
                    mine += 1;
                }
                if mine >= 20 {
                    break;
                }
            }
            mine
        })
    };
    let (first, second) = tokio::join!(serve(&servers[0]), serve(&servers[1]));
    assert!(first.unwrap() >= 20 && second.unwrap() >= 20, "both work");
    let looks = looks.lock().unwrap();
    assert_eq!(looks.together, 1);
    assert_eq!(looks.all.len(), ids.len(), "none is forgotten");
}
