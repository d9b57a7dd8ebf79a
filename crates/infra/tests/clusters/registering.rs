//! Registering, listing and describing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use slipway_domain::access::{Environment, Role};
use slipway_domain::audit::AuditResult;
use slipway_domain::cluster::{CredentialKind, HealthStatus, State};
use slipway_orchestrator::Code;
use slipway_orchestrator::clusters::Description;
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::clusters::GivenAccess;
use slipway_orchestrator::ports::store::{AuditFilter, AuditRows as _, ClusterFilter, ClusterRows as _};
use slipway_testkit::ControlPlane;
use slipway_testkit::certificates::Authority;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::server::{Server, admin, authority, enrolled, parts, person, registration, uploaded};
use crate::support::{Stored, database};

fn window(limit: i64, offset: i64) -> Window {
    Window::new(Some(limit), Some(offset)).unwrap()
}

async fn count(stored: &Stored) -> u64 {
    stored.store.clusters(&ClusterFilter::default(), window(1, 0)).await.unwrap().total
}

async fn failures(stored: &Stored) -> Vec<String> {
    let filter = AuditFilter { result: Some(AuditResult::Failure), ..AuditFilter::default() };
    let page = stored.store.audit(&filter, window(100, 0)).await.unwrap();
    page.items.into_iter().map(|record| record.message).collect()
}

#[tokio::test]
async fn a_cluster_is_registered_with_what_was_seen_of_it() {
    let (stored, plane) = (database().await, ControlPlane::builder().nodes(2).start().await.unwrap());
    let server = Server::new(&stored.store);
    let added = server.add("dev-1", &plane).await;
    let cluster = server.manager.cluster(&person(Role::Viewer), "dev-1").await.unwrap();
    assert_eq!((cluster.id, cluster.server.as_str()), (added.id, plane.server()));
    assert_eq!(cluster.health.status, HealthStatus::Healthy, "{:?}", cluster.health.reason);
    assert_eq!((cluster.health.nodes.ready, cluster.health.nodes.not_ready), (2, 0));
    assert!(cluster.health.kubernetes_version.as_ref().unwrap().starts_with("v1."));
    assert!(cluster.health.reachable && cluster.health.latency_ms.is_some() && cluster.uid.is_some());
    assert_eq!(cluster.credentials.kind, CredentialKind::ServiceAccountToken);
    assert!(cluster.credentials.expires_at.is_some(), "the token is short-lived");
    let audit = stored.store.audit(&AuditFilter::default(), window(10, 0)).await.unwrap();
    let record = &audit.items[0];
    assert_eq!((record.action.as_str(), record.resource.as_str()), ("cluster.register", "cluster/dev-1"));
    assert_eq!(record.actor, "ada");
    let kubeconfig = server.connections.kubeconfig(cluster.id).await.unwrap();
    let client = slipway_testkit::kubeconfig::client(&kubeconfig).await.unwrap();
    client.apiserver_version().await.expect("what helm gets works");
}

#[tokio::test]
async fn a_kubeconfig_with_an_embedded_certificate_is_accepted_and_a_name_is_taken_once() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let manager = &server.manager;
    let first = registration("dev-1", uploaded(plane.kubeconfig()));
    let cluster = manager.register_cluster(&admin(), first).await.unwrap();
    assert_eq!(cluster.credentials.kind, CredentialKind::ClientCertificate);
    let again = registration("dev-1", uploaded(plane.kubeconfig()));
    let error = manager.register_cluster(&admin(), again).await.unwrap_err();
    assert_eq!(error.code, Code::ClusterAlreadyExists);
    let other = registration("dev-2", uploaded(plane.kubeconfig()));
    let error = manager.register_cluster(&admin(), other).await.unwrap_err();
    assert_eq!(error.code, Code::ClusterAlreadyExists);
    assert!(error.to_string().contains("registered as dev-1"), "{error}");
    let mut wanted = registration("dev-2", uploaded(plane.kubeconfig()));
    wanted.duplicate = true;
    manager.register_cluster(&admin(), wanted).await.unwrap();
    assert_eq!(count(&stored).await, 2);
}

#[tokio::test]
async fn what_cannot_be_reached_is_not_stored_and_the_reason_is_told() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let enrolment = enrolled(&plane).await;
    let stranger = Authority::new("stranger").unwrap();
    let refuse = |access: GivenAccess| {
        let manager = server.manager.clone();
        async move { manager.register_cluster(&admin(), registration("dev-1", access)).await.unwrap_err() }
    };
    let error = refuse(parts(&plane, "wrong")).await;
    assert_eq!(error.code, Code::InvalidKubeconfig, "{error}");
    assert!(error.to_string().contains("refuses our credential (401)"), "{error}");

    let error = refuse(GivenAccess::Parts {
        server: plane.server().to_owned(),
        authority: Some(STANDARD.encode(stranger.certificate())),
        server_name: None,
        token: enrolment.token.as_str().to_owned().into(),
    })
    .await;
    assert_eq!(error.code, Code::InvalidKubeconfig);
    assert!(error.to_string().contains("cannot be trusted (TLS:"), "{error}");

    let error = refuse(GivenAccess::Parts {
        server: format!("https://127.0.0.1:{}", slipway_testkit::free_port()),
        authority: Some(authority(&plane)),
        server_name: None,
        token: enrolment.token.as_str().to_owned().into(),
    })
    .await;
    assert_eq!(error.code, Code::ClusterUnreachable);
    assert!(error.to_string().contains("connection refused"), "{error}");

    let error = refuse(GivenAccess::Parts {
        server: "https://no-such-host.invalid".to_owned(),
        authority: None,
        server_name: None,
        token: enrolment.token.as_str().to_owned().into(),
    })
    .await;
    assert_eq!(error.code, Code::ClusterUnreachable);
    assert!(error.to_string().contains("cannot be resolved"), "{error}");
    assert_eq!(count(&stored).await, 0);
    assert_eq!(failures(&stored).await.len(), 4, "each try is written down");
}

/// A server that answers everything with a redirect, over TLS.
async fn redirecting(authority: &Authority, target: String) -> (String, Arc<AtomicUsize>) {
    let pair = authority.server("redirecting", &["127.0.0.1"]).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let tls = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = tls.accept(stream).await else { continue };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            counter.fetch_add(1, Ordering::SeqCst);
            let reply = format!(
                "HTTP/1.1 302 Found\r\nlocation: {target}/version\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            let _ = stream.write_all(reply.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (address, asked)
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    slipway_testkit::init();
    let stored = database().await;
    let server = Server::new(&stored.store);
    let authority = Authority::new("redirects").unwrap();
    let target = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let contacted = Arc::new(AtomicUsize::new(0));
    let (counter, place) = (Arc::clone(&contacted), target.local_addr().unwrap());
    tokio::spawn(async move {
        while target.accept().await.is_ok() {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    let (address, asked) = redirecting(&authority, format!("https://{place}")).await;
    let access = GivenAccess::Parts {
        server: address,
        authority: Some(STANDARD.encode(authority.certificate())),
        server_name: None,
        token: "sesame".to_owned().into(),
    };
    let error = server.manager.register_cluster(&admin(), registration("dev-1", access)).await.unwrap_err();
    assert_eq!(error.code, Code::InvalidKubeconfig);
    assert!(error.to_string().contains("redirects to another address, which is not followed"), "{error}");
    assert_eq!((asked.load(Ordering::SeqCst), contacted.load(Ordering::SeqCst)), (1, 0));
    assert_eq!(count(&stored).await, 0);
}

#[tokio::test]
async fn everything_that_is_wrong_is_said_at_once_and_only_admins_may() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let mut wrong = registration("Not A Name", uploaded("kind: Nothing"));
    wrong.labels = BTreeMap::from([("a b".to_owned(), "c".to_owned())]);
    let error = server.manager.register_cluster(&admin(), wrong).await.unwrap_err();
    let places: Vec<_> = error.details.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(places, ["name", "labels.a b", "kubeconfig"]);
    for role in [Role::Viewer, Role::Operator, Role::EnvironmentOwner] {
        let wanted = registration("dev-1", uploaded(""));
        let error = server.manager.register_cluster(&person(role), wanted).await.unwrap_err();
        assert_eq!(error.code, Code::Forbidden, "{role}");
    }
    let denied = AuditFilter { result: Some(AuditResult::Denied), ..AuditFilter::default() };
    assert_eq!(stored.store.audit(&denied, window(10, 0)).await.unwrap().total, 3);
}

#[tokio::test]
async fn lists_are_filtered_paged_and_in_the_order_of_rollouts() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    for (name, environment, team) in [
        ("c", Environment::Production, "core"),
        ("b", Environment::Staging, "core"),
        ("a", Environment::Production, "edge"),
        ("d", Environment::Development, "core"),
    ] {
        let mut wanted = registration(name, uploaded(plane.kubeconfig()));
        wanted.environment = environment;
        wanted.labels = BTreeMap::from([("team".to_owned(), team.to_owned())]);
        wanted.duplicate = true;
        server.manager.register_cluster(&admin(), wanted).await.unwrap();
    }
    let list = async |filter: ClusterFilter, window: Window| {
        let page = server.manager.clusters(&person(Role::Viewer), &filter, window).await.unwrap();
        let names: Vec<_> = page.items.iter().map(|cluster| cluster.name.to_string()).collect();
        (names.join(" "), page.total, page.has_more())
    };
    let all = ClusterFilter::default;
    assert_eq!(list(all(), window(20, 0)).await, ("d b a c".to_owned(), 4, false));
    assert_eq!(list(all(), window(2, 1)).await, ("b a".to_owned(), 4, true));
    assert_eq!(list(all(), window(2, 9)).await, (String::new(), 4, false), "beyond the last one");
    let filter = ClusterFilter { environment: Some(Environment::Production), ..all() };
    assert_eq!(list(filter, window(1, 0)).await, ("a".to_owned(), 2, true));
    let filter = ClusterFilter { labels: vec![("team".to_owned(), "core".to_owned())], ..all() };
    assert_eq!(list(filter, window(20, 0)).await.0, "d b c");
    let filter = ClusterFilter { health: Some(HealthStatus::Unhealthy), ..all() };
    assert_eq!(list(filter, window(20, 0)).await.1, 0);
}

#[tokio::test]
async fn a_change_counts_only_against_what_was_read() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let first = server.add("dev-1", &plane).await;
    let labels = BTreeMap::from([("team".to_owned(), "core".to_owned())]);
    let wanted = Description {
        description: Some(" the first ".to_owned()),
        environment: Some(Environment::Staging),
        labels: Some(labels),
        revision: Some(first.revision),
    };
    let second = server.manager.describe_cluster(&admin(), "dev-1", wanted.clone()).await.unwrap();
    assert_eq!(
        (second.description.as_deref(), second.environment),
        (Some("the first"), Environment::Staging)
    );
    let error = server.manager.describe_cluster(&admin(), "dev-1", wanted.clone()).await.unwrap_err();
    assert_eq!(error.code, Code::PreconditionFailed);
    let same = Description { revision: None, ..wanted };
    let third = server.manager.describe_cluster(&admin(), "dev-1", same).await.unwrap();
    assert_eq!(third.revision, second.revision, "the same again changes nothing");
    let kept = server.manager.cluster(&admin(), "dev-1").await.unwrap();
    assert!(kept.labels.has("team", "core") && kept.revision == second.revision);
    let error = server.manager.cluster(&admin(), "dev-9").await.unwrap_err();
    assert_eq!(
        (error.code, error.to_string().as_str()),
        (Code::ClusterNotFound, "there is no cluster dev-9")
    );
    let disabled = server.manager.set_cluster_state(&admin(), "dev-1", State::Disabled).await.unwrap();
    assert_eq!((disabled.state, disabled.health.status), (State::Disabled, HealthStatus::Unknown));
    let filter = ClusterFilter { state: Some(State::Disabled), ..ClusterFilter::default() };
    assert_eq!(stored.store.clusters(&filter, window(20, 0)).await.unwrap().items[0].name.as_str(), "dev-1");
}
