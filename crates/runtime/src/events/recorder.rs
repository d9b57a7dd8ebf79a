//! Where reconcilers say what happened, without waiting for anyone.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::{Client, Error};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::log::EventLog;
use super::note::{EventType, Note, Severity};
use super::series::Occurrence;
use super::writer::{Reporter, Writer};

/// Told of each event that is recorded, for metrics.
pub type Observed = Arc<dyn Fn(EventType, Severity) + Send + Sync>;

/// Whether an error makes another try senseless.
pub(super) type Hopeless = Arc<dyn Fn(&Error) -> bool + Send + Sync>;

/// How many events may wait for the API server.
const WAITING: usize = 1024;

/// Records Kubernetes Events. Clones record into the same series; a task of its own writes them.
///
/// Needs, in the namespaces of the objects (and in `default` for those of the cluster):
/// `{apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"]}`.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Waiting>,
    controller: Arc<str>,
    observed: Option<Observed>,
    log: Option<EventLog>,
    running: Arc<Running>,
}

/// The writing task; it writes what waits and ends when the last recorder is gone.
struct Running {
    waiting: Arc<Waiting>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.waiting.end();
    }
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

    fn end(&self) {
        self.ending.store(true, Ordering::Release);
        self.changed.notify_one();
    }
}

/// How a recorder is wanted.
pub struct RecorderBuilder {
    client: Client,
    reporter: Reporter,
    observed: Option<Observed>,
    log: Option<EventLog>,
    hopeless: Option<Hopeless>,
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

    /// Keeps each event in this log too.
    #[must_use]
    pub fn log(mut self, log: EventLog) -> Self {
        self.log = Some(log);
        self
    }

    /// Errors after which another try makes no sense, such as those of a client that may not write now.
    #[must_use]
    pub fn hopeless(mut self, hopeless: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        self.hopeless = Some(Arc::new(hopeless));
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
        let controller = Arc::from(self.reporter.controller.as_str());
        let writer = Writer::new(self.client, self.reporter, self.hopeless, Arc::clone(&shared));
        let task = Mutex::new(Some(tokio::spawn(writer.run())));
        let running = Arc::new(Running { waiting: Arc::clone(&shared), task });
        Recorder { shared, controller, observed: self.observed, log: self.log, running }
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
            log: None,
            hopeless: None,
            capacity: WAITING,
        }
    }

    /// Says that something happened to an object. Never waits and never fails.
    pub fn publish(&self, regarding: &ObjectReference, note: Note) {
        let note = note.fitted();
        if let Some(observed) = &self.observed {
            observed(note.severity.core_type(), note.severity);
        }
        if let Some(log) = &self.log {
            log.noted(regarding, &note, &self.controller);
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
        let task = self.running.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.shared.end();
        if let Some(mut task) = task
            && tokio::time::timeout(deadline, &mut task).await.is_err()
        {
            task.abort();
            tracing::debug!("not every event was written before the end");
        }
    }
}
