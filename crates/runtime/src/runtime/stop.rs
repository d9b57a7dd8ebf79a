//! Ends an operator: no new work, what is under way to its end, then the Lease, then the servers.

use std::time::Duration;

use super::{RuntimeError, Started};

impl Started {
    /// Done when a part that should run for ever ended.
    pub(super) async fn failed(&mut self) -> RuntimeError {
        tokio::select! {
            () = ended(&mut self.watches) => RuntimeError::Ended("a watch"),
            () = ended(&mut self.workers) => RuntimeError::Ended("a controller"),
        }
    }

    /// Ends it: takes no new work, finishes what it has within the time it was given, releases the Lease so
    /// that another takes over at once, and goes on answering admission requests for a while.
    pub async fn stop(mut self) {
        self.health.drain();
        for (_, queue) in &self.queues {
            queue.close();
        }
        let idle = async { while self.workers.join_next().await.is_some() {} };
        if tokio::time::timeout(self.drain, idle).await.is_err() {
            tracing::warn!(
                seconds = self.drain.as_secs(),
                "work was still under way at the end and is given up"
            );
            self.workers.abort_all();
        }
        // While it still leads: an Event is a write like any other.
        for recorder in &self.recorders {
            recorder.stop(Duration::from_secs(1)).await;
        }
        for elector in self.electors {
            elector.release().await;
        }
        self.watches.abort_all();
        if let Some(webhooks) = self.webhooks {
            tokio::time::sleep(self.linger).await;
            webhooks.stop(self.drain).await;
        }
        self.admin.stop(Duration::from_secs(1)).await;
        tracing::info!("ended");
    }
}

async fn ended(tasks: &mut tokio::task::JoinSet<()>) {
    if tasks.join_next().await.is_none() {
        // There was nothing to run.
        std::future::pending::<()>().await;
    }
}
