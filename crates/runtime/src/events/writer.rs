//! The task that writes events, one after the other.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Error};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::note::SEVERITY_ANNOTATION;
use super::recorder::{Hopeless, Waiting};
use super::series::{AllSeries, Occurrence, Write};

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(10);
/// Pauses before another try, when the API server is not well.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// Who says it.
#[derive(Debug, Clone)]
pub(super) struct Reporter {
    pub(super) controller: String,
    pub(super) instance: String,
}

pub(super) struct Writer {
    client: Client,
    reporter: Reporter,
    hopeless: Option<Hopeless>,
    waiting: Arc<Waiting>,
    series: AllSeries,
    forbidden: HashSet<String>,
    last_name: i128,
}

/// What became of a write.
enum Outcome {
    Written,
    /// The event that should be counted is gone.
    Gone,
    Dropped,
}

impl Writer {
    pub(super) fn new(
        client: Client,
        reporter: Reporter,
        hopeless: Option<Hopeless>,
        waiting: Arc<Waiting>,
    ) -> Self {
        Self {
            client,
            reporter,
            hopeless,
            waiting,
            series: AllSeries::default(),
            forbidden: HashSet::new(),
            last_name: 0,
        }
    }

    pub(super) async fn run(mut self) {
        loop {
            while let Some(event) = self.waiting.next() {
                if let Some(write) = self.series.happened(event, Instant::now()) {
                    self.write(write).await;
                }
            }
            for write in self.series.due(Instant::now()) {
                self.write(write).await;
            }
            if self.waiting.ending.load(Ordering::Acquire) {
                for write in self.series.rest(Instant::now()) {
                    self.write(write).await;
                }
                return;
            }
            match self.series.next_due() {
                Some(due) => tokio::select! {
                    () = self.waiting.changed.notified() => {}
                    () = sleep_until(due) => {}
                },
                None => self.waiting.changed.notified().await,
            }
        }
    }

    async fn write(&mut self, write: Write) {
        match write {
            Write::Create { key, event } => {
                let at = event.at;
                let event = self.event(*event);
                let namespace = event.metadata.namespace.clone().unwrap_or_default();
                let name = event.metadata.name.clone().unwrap_or_default();
                let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
                let outcome = self
                    .attempt("create", &namespace, || {
                        let (api, event) = (api.clone(), event.clone());
                        async move { api.create(&PostParams::default(), &event).await.map(drop) }
                    })
                    .await;
                if matches!(outcome, Outcome::Written) {
                    self.series.created(key, namespace, name, at, Instant::now());
                }
            }
            Write::Count { key, namespace, name, count, last } => {
                let api: Api<Event> = Api::namespaced(self.client.clone(), &namespace);
                let patch = json!({ "series": { "count": count, "lastObservedTime": MicroTime(last) } });
                let outcome = self
                    .attempt("patch", &namespace, || {
                        let (api, name, patch) = (api.clone(), name.clone(), Patch::Merge(patch.clone()));
                        async move { api.patch(&name, &PatchParams::default(), &patch).await.map(drop) }
                    })
                    .await;
                if matches!(outcome, Outcome::Gone) {
                    self.series.forget(&key);
                }
            }
        }
    }

    fn event(&mut self, occurrence: Occurrence) -> Event {
        let Occurrence { regarding, note, at } = occurrence;
        // Two events of one object in one microsecond need two names.
        self.last_name = at.as_nanosecond().max(self.last_name + 1);
        let object = regarding.name.clone().unwrap_or_else(|| self.reporter.controller.clone());
        // The whole name is a DNS subdomain of at most 253 characters.
        let object: String = object.chars().take(220).collect();
        let namespace = regarding.namespace.clone().filter(|namespace| !namespace.is_empty());
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{object}.{:x}", self.last_name)),
                namespace: Some(namespace.unwrap_or_else(|| "default".to_owned())),
                annotations: Some(BTreeMap::from([(
                    SEVERITY_ANNOTATION.to_owned(),
                    note.severity.as_str().to_owned(),
                )])),
                ..ObjectMeta::default()
            },
            action: Some(note.action),
            reason: Some(note.reason),
            note: Some(note.message),
            type_: Some(note.severity.core_type().as_str().to_owned()),
            event_time: Some(MicroTime(microseconds(at))),
            regarding: Some(regarding),
            related: note.related,
            reporting_controller: Some(self.reporter.controller.clone()),
            reporting_instance: Some(self.reporter.instance.chars().take(128).collect()),
            ..Event::default()
        }
    }

    /// Tries a request again while the API server is unwell; everything else ends here, quietly.
    async fn attempt<F: Future<Output = Result<(), Error>>>(
        &mut self,
        verb: &str,
        namespace: &str,
        request: impl Fn() -> F,
    ) -> Outcome {
        let mut pauses = PAUSES.iter();
        loop {
            let again = match timeout(REQUEST, request()).await {
                Ok(Ok(())) => return Outcome::Written,
                Ok(Err(error)) => match self.judge(verb, namespace, &error) {
                    Some(outcome) => return outcome,
                    None => error.to_string(),
                },
                Err(_) => format!("no answer within {} s", REQUEST.as_secs()),
            };
            let Some(pause) = pauses.next() else {
                tracing::debug!(verb, namespace, "an event was not written: {again}");
                return Outcome::Dropped;
            };
            sleep(*pause).await;
        }
    }

    /// What an error means; none if another try may help.
    fn judge(&mut self, verb: &str, namespace: &str, error: &Error) -> Option<Outcome> {
        if self.hopeless.as_ref().is_some_and(|hopeless| hopeless(error)) {
            return Some(Outcome::Dropped);
        }
        let Error::Api(status) = error else { return None };
        match status.code {
            429 | 500..=599 => None,
            404 if verb == "patch" => Some(Outcome::Gone),
            // Nobody reads events of a namespace that goes or is gone.
            404 => Some(Outcome::Dropped),
            403 if is_terminating(status) => Some(Outcome::Dropped),
            403 => {
                if self.forbidden.insert(format!("{verb} {namespace}")) {
                    tracing::warn!(
                        namespace,
                        "events cannot be written; to allow it, add this rule to the role of the operator: \
                         {{apiGroups: [\"events.k8s.io\"], resources: [\"events\"], verbs: [\"create\", \"patch\"]}} \
                         ({})",
                        status.message
                    );
                }
                Some(Outcome::Dropped)
            }
            409 if verb == "create" => Some(Outcome::Dropped),
            _ => {
                tracing::debug!(verb, namespace, "an event was refused: {error}");
                Some(Outcome::Dropped)
            }
        }
    }
}

/// A namespace that goes refuses new objects, as if it were forbidden.
fn is_terminating(status: &kube::core::Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.reason == "NamespaceTerminating")
}

/// Events keep microseconds.
fn microseconds(at: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at)
}
