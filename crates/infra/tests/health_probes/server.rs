//! A webhook server of a test's own: HTTPS on loopback, registered by its address.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::{SignedDuration, Timestamp};
use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A running server; it ends when dropped.
pub(crate) struct Server {
    address: SocketAddr,
    certificate: String,
    pub(crate) state: Arc<Behaviour>,
    stop: tokio::sync::oneshot::Sender<()>,
    task: tokio::task::JoinHandle<()>,
}

/// How it behaves, and how often it was called.
#[derive(Default)]
pub(crate) struct Behaviour {
    pub(crate) calls: AtomicU32,
    pub(crate) refusing: AtomicU32,
    pub(crate) delay_ms: AtomicU64,
}

impl Server {
    /// With a certificate that began and ends so many days from now.
    pub(crate) async fn start(began: i64, ends: i64) -> Self {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let date = |days: i64| {
            let day = (Timestamp::now() + SignedDuration::from_hours(24 * days))
                .to_zoned(jiff::tz::TimeZone::UTC)
                .date();
            rcgen::date_time_ymd(
                day.year().into(),
                u8::try_from(day.month()).unwrap(),
                u8::try_from(day.day()).unwrap(),
            )
        };
        params.not_before = date(began);
        params.not_after = date(ends);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let private = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = tcp.local_addr().unwrap();
        let state = Arc::new(Behaviour::default());
        let router = Router::new()
            .route("/admit", post(admit))
            .route("/convert", post(convert))
            .with_state(Arc::clone(&state));
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let until_stopped = async {
            let _ = stopped.await;
        };
        let task = tokio::spawn(async move {
            axum::serve(Tls { tcp, acceptor }, router).with_graceful_shutdown(until_stopped).await.unwrap();
        });
        Self { address, certificate: certificate.pem(), state, stop, task }
    }

    /// How it is registered.
    pub(crate) fn client_config(&self, path: &str) -> Value {
        json!({"url": format!("https://{}/{path}", self.address), "caBundle": BASE64.encode(&self.certificate)})
    }

    /// Ends it: connections are closed, and the port refuses new ones from now on.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.unwrap();
    }
}

struct Tls {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for Tls {
    type Io = tokio_rustls::server::TlsStream<tokio::net::TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, peer)) = self.tcp.accept().await else { continue };
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

async fn admit(State(state): State<Arc<Behaviour>>, Json(review): Json<Value>) -> Json<Value> {
    state.calls.fetch_add(1, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(state.delay_ms.load(Ordering::SeqCst))).await;
    let allowed = state.refusing.load(Ordering::SeqCst) == 0;
    Json(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": allowed, "status": {"message": "too wide"}}}))
}

async fn convert(State(state): State<Arc<Behaviour>>, Json(review): Json<Value>) -> Json<Value> {
    state.calls.fetch_add(1, Ordering::SeqCst);
    let wanted = &review["request"]["desiredAPIVersion"];
    let objects = review["request"]["objects"].as_array().unwrap().iter().map(|object| {
        let mut object = object.clone();
        object["apiVersion"] = wanted.clone();
        object
    });
    Json(json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": {
        "uid": review["request"]["uid"], "result": {"status": "Success"},
        "convertedObjects": objects.collect::<Vec<_>>()}}))
}
