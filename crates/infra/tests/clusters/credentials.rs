//! Renewing, rotating and sealing credentials.

use std::time::Duration;

use slipway_domain::cluster::token::LIFETIME;
use slipway_orchestrator::Code;
use slipway_orchestrator::clusters::ClusterTokenWorker;
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::store::{AuditFilter, AuditRows as _, ClusterRows as _};
use slipway_orchestrator::workers::Next;
use slipway_testkit::{ControlPlane, Fleet, kubeconfig, until};

use crate::server::{Server, admin, authority, enrolled, keyring, parts, registration, uploaded};
use crate::support::{Stored, database};

const MINUTE: Duration = Duration::from_mins(1);

/// Whether a control plane lets a token in.
async fn works(plane: &ControlPlane, token: &str) -> bool {
    use base64::Engine as _;
    let authority = base64::engine::general_purpose::STANDARD.decode(authority(plane)).unwrap();
    let config = kubeconfig::with_token(plane.server(), &String::from_utf8(authority).unwrap(), token);
    kubeconfig::client(&config).await.unwrap().apiserver_version().await.is_ok()
}

async fn actions(stored: &Stored, action: &str) -> u64 {
    let filter = AuditFilter { action: Some(action.to_owned()), ..AuditFilter::default() };
    stored.store.audit(&filter, Window::new(None, None).unwrap()).await.unwrap().total
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends_and_clients_follow() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let id = server.add("dev-1", &plane).await.id;
    let before = server.token(id).await;
    server.connections.client(id).await.unwrap().apiserver_version().await.unwrap();
    let early = server.work(&ClusterTokenWorker::new(server.manager.clone()), id).await.unwrap();
    assert!(matches!(early, Next::After(wait) if wait > Duration::from_hours(7)), "{early:?}");
    assert_eq!(server.token(id).await, before, "it is young");

    let third = Duration::try_from(LIFETIME).unwrap() / 3;
    let later = Server::with(&stored.store, keyring(1), third + MINUTE, |clusters| clusters);
    let version = stored.store.cluster_access_version(id).await.unwrap();
    later.work(&ClusterTokenWorker::new(later.manager.clone()), id).await.unwrap();
    let after = server.token(id).await;
    assert_ne!(after, before);
    assert!(works(&plane, &after).await);
    assert_eq!(stored.store.cluster_access_version(id).await.unwrap(), version.map(|version| version + 1));
    let facts = server.access(id).await.token_facts().unwrap();
    assert_eq!((facts.namespace.as_str(), facts.account.as_str()), ("slipway-system", "slipway-manager"));
    let client = server.connections.client(id).await.unwrap();
    client.apiserver_version().await.expect("a client with the new token");
    assert_eq!(actions(&stored, "cluster.renew").await, 1);
}

#[tokio::test]
async fn a_rotated_token_is_of_no_use_any_more() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let id = server.add("dev-1", &plane).await.id;
    let before = server.token(id).await;
    assert!(works(&plane, &before).await);
    let rotated = server.manager.rotate_cluster(&admin(), "dev-1", None).await.unwrap();
    assert!(rotated.revoked);
    let after = server.token(id).await;
    assert!(works(&plane, &after).await);
    until("the old token to be refused", MINUTE, async || (!works(&plane, &before).await).then_some(()))
        .await
        .unwrap();
    assert_eq!(actions(&stored, "cluster.rotate").await, 1);
    server.connections.client(id).await.unwrap().apiserver_version().await.unwrap();
    // And again, from what the rotation made.
    assert!(server.manager.rotate_cluster(&admin(), "dev-1", None).await.unwrap().revoked);
}

#[tokio::test]
async fn a_given_credential_has_to_be_of_the_same_cluster() {
    let stored = database().await;
    let fleet = Fleet::start(2, 0).await.unwrap().clusters;
    let server = Server::new(&stored.store);
    let id = server.add("dev-1", &fleet[0]).await.id;
    let before = server.token(id).await;
    let other = enrolled(&fleet[1]).await;
    let error = server
        .manager
        .rotate_cluster(&admin(), "dev-1", Some(parts(&fleet[1], &other.token)))
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::InvalidKubeconfig);
    assert!(error.to_string().contains("another cluster than dev-1"), "{error}");
    assert_eq!(server.token(id).await, before);
    let fresh = enrolled(&fleet[0]).await;
    let given = parts(&fleet[0], &fresh.token);
    assert!(server.manager.rotate_cluster(&admin(), "dev-1", Some(given)).await.unwrap().revoked);
    assert_eq!(server.token(id).await, *fresh.token);
}

#[tokio::test]
async fn a_certificate_cannot_be_renewed_and_the_remedy_is_told() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let server = Server::new(&stored.store);
    let wanted = registration("dev-1", uploaded(plane.kubeconfig()));
    let id = server.manager.register_cluster(&admin(), wanted).await.unwrap().id;
    let error = server.manager.rotate_cluster(&admin(), "dev-1", None).await.unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    assert!(error.to_string().contains("slipway cluster rotate dev-1 --kube-context"), "{error}");
    let worker = ClusterTokenWorker::new(server.manager.clone());
    assert_eq!(server.work(&worker, id).await.unwrap(), Next::After(Duration::from_hours(24)));
}

#[tokio::test]
async fn a_new_key_seals_what_an_old_one_had() {
    let (stored, plane) = (database().await, ControlPlane::start().await.unwrap());
    let old = Server::new(&stored.store);
    let id = old.add("dev-1", &plane).await.id;
    let token = old.token(id).await;
    let new = Server::with(&stored.store, keyring(2), Duration::ZERO, |clusters| clusters);
    assert_eq!(new.token(id).await, token, "the old key still opens");
    new.work(&ClusterTokenWorker::new(new.manager.clone()), id).await.unwrap();
    let sealed = stored.store.cluster_access(id).await.unwrap().unwrap();
    assert!(!new.keyring.is_old(&sealed.sealed));
    assert_eq!(new.token(id).await, token);
    let error = old.connections.client(id).await.err().expect("it has not the new key").to_string();
    assert!(error.contains("opening the cluster's credential"), "{error}");
    assert_eq!(actions(&stored, "cluster.reseal").await, 1);
}
