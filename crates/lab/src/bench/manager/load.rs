//! Requests at a steady rate, whether or not the ones before were answered.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::bail;
use futures::future::join_all;

use super::super::seen::Seen;
use super::super::server::Server;

/// How often, and for how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) rate: u32,
    pub(super) length: Duration,
}

impl Load {
    /// Asks for a path, and gives how long answers took from the moment in which each was due to be asked for. One
    /// that is not a success fails the measurement.
    pub(super) async fn get(self, server: &Server, path: &str) -> anyhow::Result<Seen> {
        let pause = Duration::from_secs(1) / self.rate;
        let count = usize::try_from(self.length.as_nanos() / pause.as_nanos())?;
        let began = Instant::now() + Duration::from_millis(100);
        let mut asked = Vec::with_capacity(count);
        for number in 0..count {
            let due = began + pause * u32::try_from(number)?;
            tokio::time::sleep_until(due.into()).await;
            let request = server.get(number, path);
            asked.push(tokio::spawn(async move {
                let status = match request.send().await {
                    Ok(reply) => {
                        let status = reply.status().as_u16();
                        reply.bytes().await.map(|_| status).map_err(|error| error.to_string())
                    }
                    Err(error) => Err(error.to_string()),
                };
                (due.elapsed(), status)
            }));
        }
        let (mut took, mut failures) = (Vec::with_capacity(count), BTreeMap::<String, usize>::new());
        for answer in join_all(asked).await {
            match answer? {
                (elapsed, Ok(200)) => took.push(elapsed),
                (_, Ok(status)) => *failures.entry(format!("status {status}")).or_default() += 1,
                (_, Err(error)) => *failures.entry(error).or_default() += 1,
            }
        }
        if !failures.is_empty() {
            bail!("GET /{path} failed {failures:?} times of {count}");
        }
        Ok(Seen::new(took))
    }
}
