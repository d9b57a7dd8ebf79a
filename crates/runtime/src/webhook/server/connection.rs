//! Connections: accepted, encrypted, served, and let go when the server stops.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::answer::Answerer;
use super::{Limits, Slot};
use crate::webhook::error::WebhookError;

/// After a failed accept, most likely for want of file descriptors, others must end first.
const BREATHER: Duration = Duration::from_millis(100);

/// Accepts connections and serves them.
pub(super) struct Acceptor {
    tls: TlsAcceptor,
    http: auto::Builder<TokioExecutor>,
    answerer: Arc<Answerer>,
    limits: Limits,
    stopping: watch::Receiver<bool>,
}

impl Acceptor {
    pub(super) fn new(
        slot: Arc<Slot>,
        answerer: Arc<Answerer>,
        limits: Limits,
        stopping: watch::Receiver<bool>,
    ) -> Result<Self, WebhookError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(WebhookError::Tls)?
            .with_no_client_auth()
            .with_cert_resolver(slot);
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut http = auto::Builder::new(TokioExecutor::new());
        http.http1().timer(TokioTimer::new()).header_read_timeout(limits.headers);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(limits.streams)
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(20));
        Ok(Self { tls: TlsAcceptor::from(Arc::new(tls)), http, answerer, limits, stopping })
    }

    /// Serves until told to stop, then until the last connection is done.
    pub(super) async fn run(self, listener: TcpListener, serving: Arc<AtomicBool>) {
        let room = Arc::new(Semaphore::new(self.limits.connections));
        let mut connections = JoinSet::new();
        let mut stopping = self.stopping.clone();
        let this = Arc::new(self);
        loop {
            while connections.try_join_next().is_some() {}
            let accepted = tokio::select! {
                _ = stopping.wait_for(|stop| *stop) => break,
                accepted = async {
                    let permit = Arc::clone(&room).acquire_owned().await.ok()?;
                    Some((permit, listener.accept().await))
                } => accepted,
            };
            match accepted {
                Some((permit, Ok((stream, _)))) => {
                    let this = Arc::clone(&this);
                    connections.spawn(async move {
                        this.serve(stream).await;
                        drop(permit);
                    });
                }
                Some((_, Err(error))) => {
                    tracing::warn!("could not accept a webhook connection: {error}");
                    tokio::time::sleep(BREATHER).await;
                }
                None => break,
            }
        }
        serving.store(false, Ordering::Release);
        drop(listener);
        while connections.join_next().await.is_some() {}
    }

    async fn serve(&self, stream: TcpStream) {
        // Reviews are small and waited for; nothing is gained by gathering packets.
        let _ = stream.set_nodelay(true);
        let stream = match tokio::time::timeout(self.limits.headers, self.tls.accept(stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!("a webhook connection was not established: {error}");
                return;
            }
            Err(_) => return,
        };
        let answerer = Arc::clone(&self.answerer);
        let service = service_fn(move |request| {
            let answerer = Arc::clone(&answerer);
            async move { Ok::<_, Infallible>(answerer.answer(request).await) }
        });
        let connection = self.http.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut stopping = self.stopping.clone();
        let told = async {
            let _ = stopping.wait_for(|stop| *stop).await;
        };
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = told => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!("a webhook connection broke: {error}");
        }
    }
}
