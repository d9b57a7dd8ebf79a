//! Waiting for a condition, with a deadline, instead of sleeping.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use anyhow::bail;

/// Looks again and again until there is something, and gives it; after the deadline it is an error
/// that says what was waited for.
pub async fn until<T, F: Future<Output = Option<T>>>(
    what: &str,
    deadline: Duration,
    mut look: impl FnMut() -> F,
) -> anyhow::Result<T> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(5);
    loop {
        if let Some(found) = look().await {
            return Ok(found);
        }
        if started.elapsed() >= deadline {
            bail!("waited {} s in vain for {what}", deadline.as_secs());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(200));
    }
}

/// A port on loopback that nobody listens on now. Another may take it before its user does, so
/// whoever starts a server with it tries again with another one.
pub fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .expect("loopback has free ports")
}
