//! Operators from the client to PostgreSQL: the real router and guard, a real chart repository.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "../../infra/tests/support/mod.rs"]
mod support;

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use slipway_api::{App, Options, router};
use slipway_client::{Client, ClientError, Token};
use slipway_contract::operators::{
    AdoptRelease, OperatorsQuery, RegisterOperator, RepositoryCredentials, UpdateOperator,
};
use slipway_domain::access::{Actor, ActorKind, Permission, Role};
use slipway_domain::id::UserId;
use slipway_http::guard::Authenticator;
use slipway_infra::charts::{ChartRepositories, HelmPrograms};
use slipway_infra::clock::SystemClock;
use slipway_infra::identity::Identities;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::{AddressRules, Connections, KubernetesClusters};
use slipway_infra::notifier::Notifiers;
use slipway_infra::releases::HelmReleases;
use slipway_orchestrator::error::permit;
use slipway_orchestrator::ports::Keyring;
use slipway_orchestrator::{Code, Error, Manager, Parts, Settings};
use slipway_testkit::charts::{Chart, ChartBuilder, ChartRepository};
use uuid::Uuid;

/// Knows a token for each role, by the role's name.
struct Doorkeeper;

#[async_trait]
impl Authenticator for Doorkeeper {
    async fn authenticate(&self, bearer: &str) -> Result<Actor, Error> {
        let role: Role = bearer.parse().map_err(|_| Error::new(Code::Unauthorized, "log in first"))?;
        let id = UserId(Uuid::from_u128(role as u128 + 1));
        let actor = Actor { kind: ActorKind::User { id }, name: bearer.to_owned(), ..Actor::anonymous() };
        Ok(Actor { role: Some(role), ..actor })
    }

    async fn admit(&self, actor: &Actor, permission: Permission, _: &str) -> Result<(), Error> {
        permit(actor, permission)
    }
}

struct Served {
    address: String,
    _stored: support::Stored,
}

impl Served {
    async fn start() -> Self {
        let stored = support::database().await;
        let store = Arc::new(stored.store.clone());
        let key = zeroize::Zeroizing::new("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".to_owned());
        let keyring: Arc<dyn Keyring> = Arc::new(AesKeyring::load(&KeySource::Text(key)).unwrap());
        let connections = Arc::new(Connections::new(store.clone(), Arc::clone(&keyring)));
        let guardian = slipway_testkit::guardian::guardian().unwrap().to_owned();
        let parts = Parts {
            store: store.clone(),
            clusters: Arc::new(KubernetesClusters::new(Arc::clone(&connections), AddressRules::default())),
            charts: Arc::new(ChartRepositories::new(HelmPrograms { guardian, helm: None })),
            releases: Arc::new(HelmReleases::new(connections)),
            probes: Arc::new(slipway_orchestrator::ports::probes::Blind),
            fleet: Arc::new(slipway_orchestrator::ports::fleet::NoFleet),
            keyring,
            notifier: Arc::new(Notifiers::default()),
            identity: Arc::new(Identities::new(Vec::new()).unwrap()),
            clock: Arc::new(SystemClock),
        };
        let manager = Manager::new(parts, Settings::default());
        let app = App::new(manager, Arc::new(Doorkeeper), store.clone(), store, Vec::new());
        let service = router(app, Options::default()).into_make_service_with_connect_info::<SocketAddr>();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, service).await });
        Self { address, _stored: stored }
    }

    fn client(&self, role: Role) -> Client {
        let client = Client::builder(&self.address).build().unwrap();
        client.set_token(Some(Token::new(role.to_string(), None)));
        client
    }
}

fn chart(version: &str) -> Chart {
    ChartBuilder::new("greeter", version)
        .metadata("home", json!("https://example.com/greeter"))
        .build()
        .unwrap()
}

fn greeter(repository: &ChartRepository) -> RegisterOperator {
    RegisterOperator {
        name: "greeter".to_owned(),
        namespace: "greetings".to_owned(),
        chart_repository: repository.url(),
        chart_name: "greeter".to_owned(),
        current_version: Some("1.9.0".to_owned()),
        crd_names: vec!["greetings.example.com".to_owned()],
        ..RegisterOperator::default()
    }
}

fn refused(error: ClientError) -> (u16, String, String) {
    match error {
        ClientError::Refused { status, body } => (status, body.code, body.message),
        other => panic!("{other}"),
    }
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[tokio::test]
async fn an_operator_lives_from_registration_to_removal_over_rest() {
    let served = Served::start().await;
    let repository = ChartRepository::start().await.unwrap();
    for version in ["1.9.0", "1.10.0", "2.0.0-rc.1"] {
        repository.add(&chart(version));
    }
    let client = served.client(Role::Operator);
    let registered = client.register_operator(&greeter(&repository)).await.unwrap();
    assert_eq!(registered.latest_version.as_deref(), Some("1.10.0"));
    assert!(registered.has_update && registered.deployed_cluster_count == 0);
    let (status, code, _) = refused(client.register_operator(&greeter(&repository)).await.unwrap_err());
    assert_eq!((status, code.as_str()), (409, "CONFLICT"));

    let viewer = served.client(Role::Viewer);
    let listed = viewer
        .operators(&OperatorsQuery { has_update: Some(true), ..OperatorsQuery::default() })
        .await
        .unwrap();
    let listed = serde_json::to_value(&listed).unwrap();
    assert_eq!(keys(&listed), ["hasMore", "limit", "nextOffset", "offset", "operators", "total"]);
    assert_eq!(
        keys(&listed["operators"][0]),
        [
            "createdAt",
            "currentVersion",
            "deployedClusterCount",
            "hasUpdate",
            "latestVersion",
            "name",
            "namespace",
            "operatorId"
        ]
    );
    let versions = serde_json::to_value(viewer.operator_versions("greeter").await.unwrap()).unwrap();
    assert_eq!(versions["operatorName"], "greeter");
    assert_eq!(versions["currentVersion"], "1.9.0");
    assert_eq!(versions["versions"][0]["version"], "1.10.0");
    assert_eq!(versions["versions"][0]["isLatest"], true);
    assert_eq!(versions["versions"][0]["releaseDate"], "2024-01-01T00:00:00Z");
    assert_eq!(versions["versions"][0]["changelogUrl"], "https://example.com/greeter");
    assert_eq!(versions["versions"][1]["isLatest"], false);
    assert_eq!(versions["preReleases"][0]["version"], "2.0.0-rc.1");

    let shown = viewer.operator("greeter").await.unwrap();
    assert_eq!(shown.value.crd_names, ["greetings.example.com"]);
    let change = UpdateOperator { description: Some("says hello".to_owned()), ..UpdateOperator::default() };
    let changed = client.update_operator("greeter", &change, shown.tag.as_deref()).await.unwrap();
    assert_eq!(changed.value.description.as_deref(), Some("says hello"));
    assert_ne!(changed.tag, shown.tag);
    let stale = client.update_operator("greeter", &change, shown.tag.as_deref()).await.unwrap_err();
    assert_eq!(refused(stale).0, 412);
    let moved = UpdateOperator {
        chart_repository: Some("https://other.example.com".to_owned()),
        ..UpdateOperator::default()
    };
    let (status, code, message) = refused(client.update_operator("greeter", &moved, None).await.unwrap_err());
    assert_eq!((status, code.as_str()), (400, "VALIDATION_ERROR"));
    assert!(message.contains("cannot be changed after registration"), "{message}");

    let profile = client.operator_profile("greeter").await.unwrap();
    assert_eq!((profile.origin.as_str(), &profile.profile["handover"]), ("default", &json!("cold")));
    let own = UpdateOperator { profile: Some(json!({"handover": "warm"})), ..UpdateOperator::default() };
    let (status, _, message) = refused(client.update_operator("greeter", &own, None).await.unwrap_err());
    assert_eq!(status, 400);
    assert!(message.starts_with("profile.handover is \"warm\""), "{message}");
    let own = UpdateOperator {
        profile: Some(json!({"upgrade": {"path": "noSkippedMinor"}})),
        ..UpdateOperator::default()
    };
    client.update_operator("greeter", &own, None).await.unwrap();
    assert_eq!(client.operator_profile("greeter").await.unwrap().origin, "own");
    let reset = UpdateOperator { profile: Some(Value::Null), ..UpdateOperator::default() };
    client.update_operator("greeter", &reset, None).await.unwrap();
    assert_eq!(client.operator_profile("greeter").await.unwrap().origin, "default");

    repository.add(&chart("1.11.0"));
    assert_eq!(client.refresh_operator("greeter").await.unwrap().versions[0].version, "1.11.0");
    assert_eq!(refused(client.remove_operator("greeter").await.unwrap_err()).0, 403);
    served.client(Role::Admin).remove_operator("greeter").await.unwrap();
    let (status, code, _) = refused(viewer.operator("greeter").await.unwrap_err());
    assert_eq!((status, code.as_str()), (404, "OPERATOR_NOT_FOUND"));
    let asked = AdoptRelease { cluster_name: "prod-eu".to_owned(), release: None };
    assert_eq!(refused(client.adopt("greeter", &asked).await.unwrap_err()).1, "OPERATOR_NOT_FOUND");
    assert_eq!(refused(viewer.installations("prod-eu").await.unwrap_err()).1, "CLUSTER_NOT_FOUND");
    assert_eq!(refused(client.discover("prod-eu").await.unwrap_err()).1, "CLUSTER_NOT_FOUND");
}

#[tokio::test]
async fn what_cannot_be_registered_is_a_400_that_names_everything() {
    let served = Served::start().await;
    let client = served.client(Role::Admin);
    let port = slipway_testkit::free_port();
    let repository = ChartRepository::start().await.unwrap();
    let nowhere =
        RegisterOperator { chart_repository: format!("http://127.0.0.1:{port}"), ..greeter(&repository) };
    let (status, code, message) = refused(client.register_operator(&nowhere).await.unwrap_err());
    assert_eq!((status, code.as_str()), (400, "VALIDATION_ERROR"));
    assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");
    let half = RepositoryCredentials { username: Some("reader".to_owned()), password: None, token: None };
    let half = RegisterOperator { credentials: Some(half), ..greeter(&repository) };
    let (status, _, message) = refused(client.register_operator(&half).await.unwrap_err());
    assert_eq!(
        (status, message.as_str()),
        (400, "credentials have to be a username with a password, or a token")
    );
    let bad = RegisterOperator { name: "A".to_owned(), namespace: "B".to_owned(), ..greeter(&repository) };
    let ClientError::Refused { body, .. } = client.register_operator(&bad).await.unwrap_err() else {
        panic!()
    };
    let places: Vec<&str> = body.details.iter().filter_map(|detail| detail.path.as_deref()).collect();
    assert_eq!(places, ["name", "namespace"]);
    let query =
        OperatorsQuery { label: Some("team".to_owned()), limit: Some(0), ..OperatorsQuery::default() };
    let ClientError::Refused { body, .. } = client.operators(&query).await.unwrap_err() else { panic!() };
    assert_eq!(body.details.len(), 2);
}
