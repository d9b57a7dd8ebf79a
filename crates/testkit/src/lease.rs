//! A test's hold on something that the broker started for it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use serde::de::DeserializeOwned;

use crate::broker::{self, Answer, Order, Wanted};

/// Held as long as what was leased is needed; closing the connection gives it back.
#[derive(Debug, Clone)]
pub struct Lease {
    connection: Arc<Mutex<BufReader<UnixStream>>>,
}

impl Lease {
    /// Asks for something, and waits until it is there.
    pub async fn take<T: DeserializeOwned + Send + 'static>(wanted: Wanted) -> anyhow::Result<(Self, T)> {
        tokio::task::spawn_blocking(move || {
            let path = broker::socket()?;
            let stream = UnixStream::connect(path)
                .with_context(|| format!("reaching the broker at {}", path.display()))?;
            let lease = Self { connection: Arc::new(Mutex::new(BufReader::new(stream))) };
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
        connection.get_mut().write_all(&line).context("speaking to the broker")?;
        let mut answer = String::new();
        if connection.read_line(&mut answer).context("hearing from the broker")? == 0 {
            bail!("the broker ended");
        }
        match serde_json::from_str(&answer).context("understanding the broker")? {
            Answer::Done(value) => Ok(value),
            Answer::Failed(reason) => bail!("{reason}"),
        }
    }
}
