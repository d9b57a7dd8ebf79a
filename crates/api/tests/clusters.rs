//! Clusters, approvals and health from the client to a real control plane and PostgreSQL: the real router and
//! guard.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "clusters/approvals.rs"]
mod approvals;
#[path = "clusters/health.rs"]
mod health;
#[path = "../../infra/tests/clusters/server.rs"]
mod server;
#[path = "../../infra/tests/support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use slipway_api::{App, Options, router};
use slipway_client::{Client, ClientError, Token};
use slipway_contract::clusters::{
    ClusterEnvironment, ClusterHealthStatus, ClustersQuery, Confidential, RegisterCluster, RotateCluster,
    UpdateCluster,
};
use slipway_domain::access::{Actor, ActorKind, Environment, Permission, Role};
use slipway_domain::id::UserId;
use slipway_http::guard::Authenticator;
use slipway_infra::kubernetes::enrol::{Rights, enrol};
use slipway_orchestrator::error::permit;
use slipway_orchestrator::{Code, Error, Manager};
use slipway_testkit::ControlPlane;
use uuid::Uuid;

/// Knows a token for each role, by the role's name.
struct Doorkeeper;

#[async_trait]
impl Authenticator for Doorkeeper {
    async fn authenticate(&self, bearer: &str) -> Result<Actor, Error> {
        let role: Role = bearer.parse().map_err(|_| Error::new(Code::Unauthorized, "log in first"))?;
        let id = UserId(Uuid::from_u128(role as u128 + 1));
        let actor = Actor { kind: ActorKind::User { id }, name: bearer.to_owned(), ..Actor::anonymous() };
        Ok(Actor { role: Some(role), environments: vec![Environment::Production], ..actor })
    }

    async fn admit(&self, actor: &Actor, permission: Permission, _: &str) -> Result<(), Error> {
        permit(actor, permission)
    }
}

struct Served {
    address: String,
    manager: Manager,
    _stored: support::Stored,
}

impl Served {
    async fn start() -> Self {
        let stored = support::database().await;
        let manager = server::Server::new(&stored.store).manager;
        Self::with(stored, manager).await
    }

    async fn with(stored: support::Stored, manager: Manager) -> Self {
        let store = Arc::new(stored.store.clone());
        let app = App::new(manager.clone(), Arc::new(Doorkeeper), store.clone(), store, Vec::new());
        let service = router(app, Options::default()).into_make_service_with_connect_info::<SocketAddr>();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, service).await });
        Self { address, manager, _stored: stored }
    }

    /// What `/metrics` says.
    async fn figures(&self) -> String {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

        let mut stream =
            tokio::net::TcpStream::connect(self.address.trim_start_matches("http://")).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        assert!(reply.starts_with("HTTP/1.0 200"), "{reply}");
        reply
    }

    fn client(&self, role: Role) -> Client {
        let client = Client::builder(&self.address).build().unwrap();
        client.set_token(Some(Token::new(role.to_string(), None)));
        client
    }
}

fn refused(error: ClientError) -> (u16, String, String) {
    match error {
        ClientError::Refused { status, body } => (status, body.code, body.message),
        other => panic!("{other}"),
    }
}

fn uploaded(name: &str, kubeconfig: &str) -> RegisterCluster {
    RegisterCluster {
        name: name.to_owned(),
        kubeconfig: Some(Confidential::new(STANDARD.encode(kubeconfig))),
        ..RegisterCluster::default()
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn a_cluster_lives_from_its_registration_to_its_removal() {
    let (served, plane) = (Served::start().await, ControlPlane::start().await.unwrap());
    let (admin, viewer) = (served.client(Role::Admin), served.client(Role::Viewer));
    let enrolment = enrol(&plane.client().await.unwrap(), &Rights::Documented).await.unwrap();
    let config: Value = serde_json::from_str(plane.kubeconfig()).unwrap();
    let authority = config.pointer("/clusters/0/cluster/certificate-authority-data").unwrap();
    let request = RegisterCluster {
        name: "prod-eu".to_owned(),
        environment: ClusterEnvironment::Production,
        labels: BTreeMap::from([("team".to_owned(), "core".to_owned())]),
        api_server_url: Some(plane.server().to_owned()),
        ca_data: authority.as_str().map(str::to_owned),
        token: Some(Confidential::new(enrolment.token.as_str())),
        ..RegisterCluster::default()
    };
    let made = admin.register_cluster(&request).await.unwrap();
    assert_eq!((made.name.as_str(), made.health_status), ("prod-eu", ClusterHealthStatus::Healthy));
    let made = serde_json::to_value(&made).unwrap();
    for key in [
        "clusterId",
        "name",
        "environment",
        "apiServerUrl",
        "kubernetesVersion",
        "nodeCount",
        "healthStatus",
        "registeredAt",
    ] {
        assert!(keys(&made).contains(&key), "{key}");
    }

    let query = ClustersQuery {
        environment: Some(ClusterEnvironment::Production),
        health_status: Some(ClusterHealthStatus::Healthy),
        label: Some("team=core".to_owned()),
        ..ClustersQuery::default()
    };
    let list = viewer.clusters(&query).await.unwrap();
    assert_eq!((list.clusters.len(), list.page.total, list.page.has_more), (1, 1, false));
    let other = ClustersQuery { label: Some("team=edge".to_owned()), ..ClustersQuery::default() };
    assert_eq!(viewer.clusters(&other).await.unwrap().page.total, 0);
    let health = serde_json::to_value(viewer.cluster_health("prod-eu").await.unwrap()).unwrap();
    for key in [
        "clusterName",
        "healthStatus",
        "kubernetesVersion",
        "nodeCount",
        "nodeHealth",
        "apiServerReachable",
        "apiServerLatencyMs",
        "deployedOperators",
        "lastCheckedAt",
    ] {
        assert!(keys(&health).contains(&key), "{key}");
    }

    let read = viewer.cluster("prod-eu").await.unwrap();
    let change = UpdateCluster { description: Some("the old world".to_owned()), ..UpdateCluster::default() };
    let changed = admin.update_cluster("prod-eu", &change, read.tag.as_deref()).await.unwrap();
    assert_eq!(changed.description.as_deref(), Some("the old world"));
    assert_eq!(changed.labels.len(), 1, "what is left out stays");
    let late = UpdateCluster { description: Some("later".to_owned()), ..UpdateCluster::default() };
    let stale = admin.update_cluster("prod-eu", &late, read.tag.as_deref()).await.unwrap_err();
    assert_eq!(refused(stale).0, 412);

    assert!(!admin.disable_cluster("prod-eu").await.unwrap().is_enabled);
    assert!(admin.enable_cluster("prod-eu").await.unwrap().is_enabled);
    let rotated = admin.rotate_cluster("prod-eu", &RotateCluster::default()).await.unwrap();
    assert!(rotated.previous_revoked);
    let replies = format!("{made} {health} {list:?} {read:?} {rotated:?}");
    assert!(!replies.contains(enrolment.token.rsplit('.').next().unwrap()));

    admin.remove_cluster("prod-eu", false).await.unwrap();
    let gone = refused(viewer.cluster("prod-eu").await.unwrap_err());
    assert_eq!((gone.0, gone.1.as_str()), (404, "CLUSTER_NOT_FOUND"));
}

#[tokio::test]
async fn what_is_wrong_is_told_with_its_code() {
    let (served, plane) = (Served::start().await, ControlPlane::start().await.unwrap());
    let admin = served.client(Role::Admin);
    admin.register_cluster(&uploaded("dev-1", plane.kubeconfig())).await.unwrap();
    let taken = refused(admin.register_cluster(&uploaded("dev-1", plane.kubeconfig())).await.unwrap_err());
    assert_eq!((taken.0, taken.1.as_str()), (409, "CLUSTER_ALREADY_EXISTS"));
    let exec = json!({
        "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": plane.server()}}],
        "users": [{"name": "a", "user": {"exec": {"command": "sh"}}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    });
    let bad = refused(admin.register_cluster(&uploaded("dev-2", &exec.to_string())).await.unwrap_err());
    assert_eq!((bad.0, bad.1.as_str()), (400, "INVALID_KUBECONFIG"));
    assert!(bad.2.contains("kubeconfig.user.exec") && bad.2.contains("slipway cluster add"), "{}", bad.2);
    let nothing = RegisterCluster { name: "dev-3".to_owned(), ..RegisterCluster::default() };
    let nothing = refused(admin.register_cluster(&nothing).await.unwrap_err());
    assert_eq!((nothing.0, nothing.1.as_str()), (400, "VALIDATION_ERROR"));
    let operator = served.client(Role::Operator);
    let denied = refused(operator.register_cluster(&uploaded("dev-4", "")).await.unwrap_err());
    assert_eq!((denied.0, denied.1.as_str()), (403, "FORBIDDEN"));
    let query = ClustersQuery { limit: Some(101), ..ClustersQuery::default() };
    assert_eq!(refused(admin.clusters(&query).await.unwrap_err()).0, 400);
    assert_eq!(admin.clusters(&ClustersQuery::default()).await.unwrap().page.total, 1);
}
