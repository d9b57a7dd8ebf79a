//! Certificates, and their change while the server runs.

use std::fs;
use std::time::Duration;

use slipway_testkit::certificates::Authority;
use slipway_testkit::postgres::Postgres;
use slipway_testkit::until;

use crate::program::{LONG, Served, folder};

fn trusting(authority: &Authority) -> reqwest::Client {
    let certificate = reqwest::Certificate::from_pem(authority.certificate().as_bytes()).unwrap();
    reqwest::Client::builder().tls_certs_only([certificate]).timeout(Duration::from_mins(1)).build().unwrap()
}

#[tokio::test]
async fn a_changed_certificate_is_served_without_a_restart() {
    let folder = folder();
    let postgres = Postgres::shared().await.unwrap();
    let database = postgres.database().await.unwrap();
    let (old, new) = (Authority::new("old").unwrap(), Authority::new("new").unwrap());
    let pair = |authority: &Authority| authority.server("localhost", &["127.0.0.1"]).unwrap();
    pair(&old).write(folder.path(), "server").unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let served = Served::start(
        folder.path(),
        &[
            &format!("--database-url={}", database.url()),
            &format!("--tls-certificate-file={}", file("server.crt")),
            &format!("--tls-key-file={}", file("server.key")),
        ],
    )
    .await;
    let health = format!("{}/health", served.url);
    assert!(health.starts_with("https://"));
    let reply = trusting(&old).get(&health).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    assert!(reply.headers().contains_key("strict-transport-security"));
    trusting(&new).get(&health).send().await.expect_err("the old certificate is of another authority");

    // Half written: the old one stays.
    fs::write(folder.path().join("server.crt"), "-----BEGIN").unwrap();
    assert_eq!(trusting(&old).get(&health).send().await.unwrap().status(), 200);
    pair(&new).write(folder.path(), "server").unwrap();
    let patient = trusting(&new);
    until("the new certificate", LONG, async || patient.get(&health).send().await.ok()).await.unwrap();
    assert_eq!(served.stop().await.code(), Some(0));
}
