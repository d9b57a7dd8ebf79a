//! A small server for images of tests, and the client that asks it.
//!
//! - `probe` serves HTTP on port 8080 (`/` says hello, `/healthz` is well), and with `PROBE_TLS_CERT`
//!   and `PROBE_TLS_KEY` also HTTPS on port 8443, where `/validate` is an admission webhook that
//!   refuses what carries the label or annotation `deny=true`.
//! - `probe get URL` prints what is there; anything but a success is an error.
//! - `probe crash` ends at once, as a broken program would.

use std::env;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use axum::routing::{get, post};
use axum::serve::Listener;
use axum::{Json, Router};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long a client may take to agree on encryption, or a server to answer.
const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> ExitCode {
    slipway_testkit::init();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => serve().await,
        ["get", url] => print(url).await,
        ["crash"] => {
            eprintln!("probe: crashing, as told");
            return ExitCode::from(7);
        }
        _ => Err(anyhow::anyhow!("usage: probe | probe get URL | probe crash")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("probe: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn print(url: &str) -> Result<()> {
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build()?;
    let reply = client.get(url).send().await?.error_for_status()?;
    print!("{}", reply.text().await?);
    Ok(())
}

async fn serve() -> Result<()> {
    let hello = || async { format!("hello from {}\n", env::var("HOSTNAME").unwrap_or_default()) };
    let router = Router::new().route("/", get(hello)).route("/healthz", get(|| async { "ok\n" }));
    let plain = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 8080)).await.context("listening on port 8080")?;
    println!("probe: listening on port 8080");
    let plain = axum::serve(plain, router.clone()).with_graceful_shutdown(told_to_end()).into_future();
    match (env::var_os("PROBE_TLS_CERT"), env::var_os("PROBE_TLS_KEY")) {
        (Some(certificate), Some(key)) => {
            let listener = TlsListener {
                tcp: TcpListener::bind((Ipv4Addr::UNSPECIFIED, 8443))
                    .await
                    .context("listening on port 8443")?,
                acceptor: acceptor(&fs::read(certificate)?, &fs::read(key)?)?,
            };
            println!("probe: listening on port 8443");
            let router = router.route("/validate", post(validate));
            let encrypted = axum::serve(listener, router).with_graceful_shutdown(told_to_end()).into_future();
            tokio::try_join!(plain, encrypted)?;
        }
        (None, None) => plain.await?,
        _ => bail!("PROBE_TLS_CERT and PROBE_TLS_KEY go together"),
    }
    println!("probe: ended, as asked");
    Ok(())
}

async fn told_to_end() {
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            terminate.recv().await;
        }
        // Without a handler the signal ends the process by itself.
        Err(_) => std::future::pending().await,
    }
}

/// Answers an `AdmissionReview`.
async fn validate(Json(review): Json<Value>) -> Json<Value> {
    let request = &review["request"];
    let metadata = &request["object"]["metadata"];
    let denied = ["labels", "annotations"].iter().any(|kind| metadata[*kind]["deny"] == "true");
    let mut response = json!({ "uid": request["uid"], "allowed": !denied });
    if denied {
        let name = metadata["name"].as_str().unwrap_or_default();
        let message = format!("probe refuses {name}: it carries deny=true; remove that to go on");
        response["status"] = json!({ "code": 403, "message": message });
    }
    Json(json!({ "apiVersion": review["apiVersion"], "kind": review["kind"], "response": response }))
}

fn acceptor(certificate: &[u8], key: &[u8]) -> Result<TlsAcceptor> {
    let chain = CertificateDer::pem_slice_iter(certificate)
        .collect::<Result<Vec<_>, _>>()
        .context("reading the certificate")?;
    let key = PrivateKeyDer::from_pem_slice(key).context("reading the key")?;
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, peer) = Listener::accept(&mut self.tcp).await;
            // Whoever does not finish the handshake must not keep others waiting.
            if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, self.acceptor.accept(stream)).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}
