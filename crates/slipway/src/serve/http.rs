//! Listening and answering.

use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use axum_server::{Address, Handle, Server};
use hyper_util::rt::TokioTimer;
use tracing::info;

use super::signals::Stop;
use super::tls;
use crate::config::Config;

/// How long a caller may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(10);

/// How often a quiet connection is asked whether anybody is there.
const QUIET: Duration = Duration::from_secs(30);

/// Serves until `stop`; requests under way may end.
pub(super) async fn serve(config: &Config, app: Router, stop: &Stop) -> anyhow::Result<()> {
    let listener = TcpListener::bind(config.listen)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .with_context(|| format!("listening on {}", config.listen))?;
    let address = listener.local_addr().context("looking at the address that is listened on")?;
    let handle = Handle::new();
    let (ends, grace) = (stop.clone(), config.shutdown_grace);
    let ending = handle.clone();
    tokio::spawn(async move {
        ends.begins().await;
        ending.graceful_shutdown(Some(grace));
    });
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    let served = if let Some(files) = &config.tls {
        let tls = tls::config(files).await?;
        let mut server = axum_server::from_tcp_rustls(listener, tls).context("listening")?.handle(handle);
        careful(&mut server);
        info!(%address, tls = true, url = %config.public_url, "listening");
        server.serve(app).await
    } else {
        let mut server = axum_server::from_tcp(listener).context("listening")?.handle(handle);
        careful(&mut server);
        info!(%address, tls = false, url = %config.public_url, "listening");
        server.serve(app).await
    };
    served.context("serving")
}

/// Nobody holds a connection by saying nothing.
fn careful<A: Address, Acceptor>(server: &mut Server<A, Acceptor>) {
    let builder = server.http_builder();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(QUIET).keep_alive_timeout(HEAD);
}
