//! Where reconcilers say what happened, without waiting for anyone.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::note::{EventType, Note, Severity};
use super::series::Occurrence;
use super::writer::{Reporter, Writer};

/// Told of each event that is recorded, for metrics.
pub type Observed = Arc<dyn Fn(EventType, Severity) + Send + Sync>;

/// How many events may wait for the API server.
const WAITING: usize = 1024;

/// Records Kubernetes Events. Clones record into the same series; a task of its own writes them.
///
/// Needs, in the namespaces of the objects (and in `default` for those of the cluster):
/// `{apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"]}`.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Waiting>,
    observed: Option<Observed>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Recorder").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}

/// Events on their way to the writer.
pub(super) struct Waiting {
    queue: Mutex<VecDeque<Occurrence>>,
    capacity: usize,
    dropped: AtomicU64,
    pub(super) changed: Notify,
    pub(super) ending: AtomicBool,
}

impl Waiting {
    pub(super) fn next(&self) -> Option<Occurrence> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// How a recorder is wanted.
pub struct RecorderBuilder {
    client: Client,
    reporter: Reporter,
    observed: Option<Observed>,
    capacity: usize,
}

impl fmt::Debug for RecorderBuilder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RecorderBuilder").field("reporter", &self.reporter).finish_non_exhaustive()
    }
}

impl RecorderBuilder {
    /// Which instance of the controller this is, usually the pod's name.
    #[must_use]
    pub fn instance(mut self, instance: impl Into<String>) -> Self {
        self.reporter.instance = instance.into();
        self
    }

    /// Who is told of each event.
    #[must_use]
    pub fn observed(mut self, observed: Observed) -> Self {
        self.observed = Some(observed);
        self
    }

    /// How many events may wait; beyond it the oldest is dropped.
    #[must_use]
    pub fn capacity(mut self, events: usize) -> Self {
        self.capacity = events.max(1);
        self
    }

    /// Starts the task that writes, on the current runtime.
    pub fn start(self) -> Recorder {
        let shared = Arc::new(Waiting {
            queue: Mutex::default(),
            capacity: self.capacity,
            dropped: AtomicU64::new(0),
            changed: Notify::new(),
            ending: AtomicBool::new(false),
        });
        let writer = Writer::new(self.client, self.reporter, Arc::clone(&shared));
        let task = tokio::spawn(writer.run());
        Recorder { shared, observed: self.observed, task: Arc::new(Mutex::new(Some(task))) }
    }
}

impl Recorder {
    /// A recorder for the named controller, which writes with this client.
    pub fn builder(client: Client, controller: impl Into<String>) -> RecorderBuilder {
        let controller = controller.into();
        RecorderBuilder {
            client,
            reporter: Reporter { instance: controller.clone(), controller },
            observed: None,
            capacity: WAITING,
        }
    }

    /// Says that something happened to an object. Never waits and never fails.
    pub fn publish(&self, regarding: &ObjectReference, note: Note) {
        let note = note.fitted();
        if let Some(observed) = &self.observed {
            observed(note.severity.core_type(), note.severity);
        }
        let event = Occurrence { regarding: regarding.clone(), note, at: Timestamp::now() };
        {
            let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.len() >= self.shared.capacity {
                queue.pop_front();
                self.shared.dropped.fetch_add(1, Ordering::Relaxed);
            }
            queue.push_back(event);
        }
        self.shared.changed.notify_one();
    }

    /// How many events were dropped because the API server did not keep up.
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    /// Writes what waits and the last counts, for at most so long, and ends. What is published
    /// afterwards is not written.
    pub async fn stop(&self, deadline: Duration) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.shared.ending.store(true, Ordering::Release);
        self.shared.changed.notify_one();
        if let Some(mut task) = task
            && tokio::time::timeout(deadline, &mut task).await.is_err()
        {
            task.abort();
            tracing::debug!("not every event was written before the end");
        }
    }
}
