//! Tells an operator's own code what became of its leadership, without ever holding up the elector.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How long the end of an election waits for callbacks that have not returned.
const PATIENCE: Duration = Duration::from_secs(5);

/// What an author wants to be told.
#[derive(Default)]
pub(super) struct Callbacks {
    pub(super) started: Vec<Box<dyn Fn(u64) + Send + Sync>>,
    pub(super) stopped: Vec<Box<dyn Fn() + Send + Sync>>,
    pub(super) new_leader: Vec<NewLeader>,
    pub(super) drain: Option<Drain>,
}

/// Is told who leads.
pub(super) type NewLeader = Box<dyn Fn(&str) + Send + Sync>;

/// Lets work end before the Lease is given to another group.
pub(super) type Drain = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// Something that became of a leadership.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum News {
    /// This instance leads, in this term.
    Started(u64),
    /// This instance leads no longer.
    Stopped,
    /// Someone else, or this instance, holds the Lease.
    NewLeader(String),
}

/// The task that runs callbacks, in the order of events.
pub(super) struct Herald {
    news: mpsc::UnboundedSender<News>,
    task: JoinHandle<()>,
}

impl Herald {
    /// Starts it, and gives back what it does not run itself.
    pub(super) fn start(callbacks: Callbacks) -> (Self, Option<Drain>) {
        let Callbacks { started, stopped, new_leader, drain } = callbacks;
        let (news, mut heard) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            while let Some(event) = heard.recv().await {
                match event {
                    News::Started(term) => started.iter().for_each(|callback| callback(term)),
                    News::Stopped => stopped.iter().for_each(|callback| callback()),
                    News::NewLeader(identity) => new_leader.iter().for_each(|callback| callback(&identity)),
                }
            }
        });
        (Self { news, task }, drain)
    }

    /// Passes an event on.
    pub(super) fn tell(&self, event: News) {
        // It fails only after a callback panicked, which has been printed.
        let _ = self.news.send(event);
    }

    /// Waits until all callbacks have returned, or patience ends.
    pub(super) async fn finish(self) {
        drop(self.news);
        if tokio::time::timeout(PATIENCE, self.task).await.is_err() {
            tracing::warn!("a callback of the leader election has not returned");
        }
    }
}
