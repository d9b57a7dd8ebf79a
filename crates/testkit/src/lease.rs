//! A test's hold on something that the broker started for it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;

use crate::broker::{self, Answer, Order, Wanted};

/// How long giving back may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Held as long as what was leased is needed; closing the connection gives it back.
#[derive(Debug, Clone)]
pub struct Lease {
    connection: Arc<Mutex<Connection>>,
}

#[derive(Debug)]
struct Connection(BufReader<UnixStream>);

impl Drop for Connection {
    /// Waits until what was leased is gone, so that whoever comes next finds its memory free.
    fn drop(&mut self) {
        let stream = self.0.get_ref();
        let closed = stream.shutdown(Shutdown::Write).and_then(|()| stream.set_read_timeout(Some(PATIENCE)));
        if closed.is_ok() {
            let _ = self.0.read_to_end(&mut Vec::new());
        }
    }
}

impl Lease {
    /// Asks for something, and waits until it is there.
    pub async fn take<T: DeserializeOwned + Send + 'static>(wanted: Wanted) -> anyhow::Result<(Self, T)> {
        tokio::task::spawn_blocking(move || {
            let path = broker::socket()?;
            let stream = UnixStream::connect(path)
                .with_context(|| format!("reaching the broker at {}", path.display()))?;
            let lease = Self { connection: Arc::new(Mutex::new(Connection(BufReader::new(stream)))) };
            let info = lease.say(&wanted)?;
            Ok((lease, serde_json::from_value(info).context("reading what the broker leased")?))
        })
        .await?
    }

    /// Has something done with what was leased.
    pub async fn order(&self, order: Order) -> anyhow::Result<()> {
        let lease = self.clone();
        tokio::task::spawn_blocking(move || lease.say(&order).map(|_| ())).await?
    }

    fn say(&self, words: &impl serde::Serialize) -> anyhow::Result<serde_json::Value> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = serde_json::to_vec(words)?;
        line.push(b'\n');
        connection.0.get_mut().write_all(&line).context("speaking to the broker")?;
        let mut answer = String::new();
        if connection.0.read_line(&mut answer).context("hearing from the broker")? == 0 {
            bail!("the broker ended");
        }
        match serde_json::from_str(&answer).context("understanding the broker")? {
            Answer::Done(value) => Ok(value),
            Answer::Failed(reason) => bail!("{reason}"),
        }
    }
}
