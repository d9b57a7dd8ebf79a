//! Connections, within limits.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// How long a client may take to say what it wants.
const HEADERS: Duration = Duration::from_secs(10);
/// How long to wait when no connection can be accepted, as when files run out.
const BREATH: Duration = Duration::from_millis(100);

/// Serves until it is told to end and the open requests are answered.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    connections: usize,
    mut ending: watch::Receiver<bool>,
) {
    let free = Arc::new(Semaphore::new(connections));
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            // A failure means that whoever could say so is gone.
            _ = ending.wait_for(|end| *end) => break,
            Some(_) = open.join_next() => continue,
            accepted = accept(&listener, &free) => accepted,
        };
        match accepted {
            Ok((stream, turn)) => {
                let (router, ending) = (router.clone(), ending.clone());
                open.spawn(async move {
                    connection(stream, router, ending).await;
                    drop(turn);
                });
            }
            Err(error) => {
                tracing::debug!("a connection could not be accepted: {error}");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}

/// The next connection, once there is room for it.
async fn accept(
    listener: &TcpListener,
    free: &Arc<Semaphore>,
) -> std::io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let turn = Arc::clone(free).acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, turn))
}

async fn connection(stream: TcpStream, router: Router, mut ending: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(router.into_service::<hyper::body::Incoming>());
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => Some(ended),
        _ = ending.wait_for(|end| *end) => None,
    };
    if let Some(ended) = ended {
        log(ended);
    } else {
        connection.as_mut().graceful_shutdown();
        log(connection.await);
    }
}

fn log(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::trace!("a connection broke: {error}");
    }
}
