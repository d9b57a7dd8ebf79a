//! Runs a controller: opens its queue while this process leads, and takes turns.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::core::ApiResource;
use serde_json::{Value, json};
use tracing::Instrument;

use super::context::reference;
use super::{Outcome, Planned, Strain, failure, status};
use crate::apply::{Applier, Parent, Part, Requests};
use crate::cache::{Held, Meta, ObjectKey, Store};
use crate::client::in_term;
use crate::error::{Category, Error};
use crate::events::{Note, Recorder, Severity};
use crate::leader::Leadership;
use crate::metrics::{Metrics, ReconcileResult};
use crate::queue::{Done, Trigger};

/// What a controller works with.
pub(crate) struct Surroundings {
    pub(crate) client: Client,
    pub(crate) requests: Requests,
    pub(crate) applier: Applier,
    pub(crate) stores: HashMap<(String, String), Arc<Store>>,
    pub(crate) recorder: Recorder,
    pub(crate) metrics: Metrics,
}

impl Surroundings {
    /// What is known of a kind.
    pub(crate) fn store(&self, api: &ApiResource) -> Option<&Arc<Store>> {
        self.stores.get(&(api.group.clone(), api.kind.clone()))
    }

    /// Tells something about an object to whoever looks at it.
    pub(crate) fn tell(&self, regarding: &ObjectReference, note: Note) {
        self.recorder.publish(regarding, note);
    }
}

/// A controller at work.
pub(crate) struct Engine {
    pub(crate) plan: Planned,
    pub(crate) around: Arc<Surroundings>,
    pub(crate) leadership: Leadership,
    pub(crate) concurrency: usize,
    pub(crate) strain: Arc<Strain>,
    pub(crate) resync: Duration,
    pub(crate) waiting: Mutex<HashMap<ObjectKey, Instant>>,
}

impl Engine {
    /// Works until the queue is closed. Dropping the future leaves turns unfinished.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut workers = tokio::task::JoinSet::new();
        for index in 0..self.concurrency {
            let engine = Arc::clone(&self);
            workers.spawn(async move { engine.work(index).await });
        }
        tokio::select! {
            () = self.conduct() => {}
            () = async { while workers.join_next().await.is_some() {} } => {}
        }
    }

    /// Opens the queue while this process leads and everything is known.
    async fn conduct(&self) {
        let name = &self.plan.name;
        loop {
            let term = self.leadership.acquired().await;
            for informer in self.plan.informers() {
                tokio::select! {
                    () = informer.synced() => {}
                    () = self.leadership.lost(term) => {}
                }
            }
            if self.leadership.leading() != Some(term) {
                continue;
            }
            self.plan.queue.open();
            self.everything();
            tracing::info!(controller = name, objects = self.plan.primary.store().len(), "reconciling");
            loop {
                tokio::select! {
                    () = self.leadership.lost(term) => break,
                    () = tokio::time::sleep(self.resync) => self.everything(),
                }
            }
            self.plan.queue.shut();
            tracing::info!(controller = name, "not leading any more, reconciling stopped");
        }
    }

    fn everything(&self) {
        for key in self.plan.primary.store().keys() {
            self.plan.queue.add(&key, Trigger::Resync);
        }
    }

    async fn work(&self, index: usize) {
        loop {
            self.strain.admit(index, self.concurrency).await;
            let Some(key) = self.plan.queue.next().await else { return };
            let done = match self.leadership.leading() {
                Some(term) => in_term(term, self.turn(&key)).await.0,
                None => Done::Dropped,
            };
            self.plan.queue.done(&key, done);
        }
    }

    /// One turn of one object: what becomes of it, and why if it failed.
    pub(crate) async fn turn(&self, key: &ObjectKey) -> (Done, Option<Error>) {
        let Some(held) = self.plan.primary.store().get(key) else {
            self.patience(|waiting| waiting.remove(key));
            return (Done::Settled, None);
        };
        let started = Instant::now();
        let span = tracing::info_span!(
            "reconcile",
            controller = self.plan.name,
            kind = self.plan.api.kind,
            object = %key,
            generation = held.meta().generation,
        );
        async {
            let limit = self.plan.options.timeout;
            let result = match tokio::time::timeout(limit, self.attempt(Arc::clone(&held))).await {
                Ok(result) => result,
                Err(_) => Err(Error::transient(format!("the turn took longer than {} s", limit.as_secs()))
                    .reason("TimedOut")),
            };
            let (done, told, failure) = match result {
                Ok(done @ Done::After(_)) => (done, ReconcileResult::Requeue, None),
                Ok(done) => (done, ReconcileResult::Success, None),
                Err(error) => (self.failed(&held, &error).await, told(&error), Some(error)),
            };
            self.around.metrics.reconciled(&self.plan.name, told, started.elapsed());
            tracing::debug!(?done, elapsed = ?started.elapsed(), "turn taken");
            (done, failure)
        }
        .instrument(span)
        .await
    }

    async fn attempt(&self, held: Arc<Held>) -> Result<Done, Error> {
        let parent = self.parent(&held);
        if held.meta().deleting {
            return self.goodbye(held, parent).await;
        }
        let held = self.keep(held).await?;
        let outcome = self.plan.driver.reconcile(Arc::clone(&held), parent, Arc::clone(&self.around)).await?;
        let Outcome { status, again_after } = outcome;
        let mut look = again_after;
        if let Some(status) = status {
            let later = self.show(held.meta(), self.plan.options.status_pace, |_| status).await?;
            look = [look, later].into_iter().flatten().min();
        }
        Ok(look.map_or(Done::Settled, Done::After))
    }

    fn parent(&self, held: &Held) -> Parent {
        Parent { api: self.plan.api.clone(), key: held.key().clone(), uid: held.meta().uid.clone() }
    }

    /// Sees to it that the object does not go before it was cleaned up.
    async fn keep(&self, held: Arc<Held>) -> Result<Arc<Held>, Error> {
        let Some(finalizer) = &self.plan.options.finalizer else { return Ok(held) };
        let meta = held.meta();
        if meta.finalizers.iter().any(|known| **known == **finalizer) {
            return Ok(held);
        }
        // What cannot be read cannot be cleaned up either, and must not be kept from going.
        self.plan.driver.check(&held)?;
        let names: Vec<&str> =
            meta.finalizers.iter().map(|name| &**name).chain([finalizer.as_str()]).collect();
        let change = json!({"metadata": {"finalizers": names}});
        let reply = self.around.requests.merge(&self.plan.api, meta, Part::Main, change).await;
        let held = reply.map_err(|error| Error::kube(format!("adding the finalizer {finalizer}"), error))?;
        Ok(self.plan.primary.store().wrote(held))
    }

    /// Cleans up, then lets the object go.
    async fn goodbye(&self, held: Arc<Held>, parent: Parent) -> Result<Done, Error> {
        let Some(finalizer) = &self.plan.options.finalizer else { return Ok(Done::Settled) };
        if !held.meta().finalizers.iter().any(|known| **known == **finalizer) {
            return Ok(Done::Settled);
        }
        self.plan.driver.cleanup(Arc::clone(&held), parent, Arc::clone(&self.around)).await?;
        let meta = held.meta();
        let left: Vec<&str> =
            meta.finalizers.iter().map(|name| &**name).filter(|name| name != finalizer).collect();
        let change = json!({"metadata": {"finalizers": left}});
        match self.around.requests.merge(&self.plan.api, meta, Part::Main, change).await {
            Ok(held) => {
                self.plan.primary.store().wrote(held);
                Ok(Done::Settled)
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Done::Settled),
            Err(error) => Err(Error::kube(format!("removing the finalizer {finalizer}"), error)),
        }
    }

    /// Writes a status, if it says anything new. Where the news are counts and wording only, they wait for
    /// a moment in which more may come; it says for how long.
    async fn show(
        &self,
        of: &Meta,
        pace: Duration,
        make: impl FnOnce(Option<&Value>) -> Value,
    ) -> Result<Option<Duration>, Error> {
        let key = &of.key;
        // The object as it is now: a write of this turn may have made it newer.
        let Some(held) = self.plan.primary.store().get(key).filter(|held| held.meta().uid == of.uid) else {
            return Ok(None);
        };
        let shown: Shown = held
            .decode()
            .map_err(|error| Error::transient("reading the object's status").caused_by(error))?;
        let old = shown.status.as_ref().filter(|status| status.is_object());
        let new = status::settled(old, make(old), of.generation, jiff::Timestamp::now());
        let Some(change) = status::change(old, &new) else {
            self.patience(|waiting| waiting.remove(key));
            return Ok(None);
        };
        if status::is_wording(old, &new) {
            let since = self.patience(|waiting| *waiting.entry(key.clone()).or_insert_with(Instant::now));
            let left = pace.saturating_sub(since.elapsed());
            if !left.is_zero() {
                return Ok(Some(left));
            }
        }
        self.patience(|waiting| waiting.remove(key));
        match self.around.requests.merge(&self.plan.api, held.meta(), Part::Status, change).await {
            Ok(held) => {
                self.plan.primary.store().wrote(held);
                Ok(None)
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(Error::kube("writing the status", error)),
        }
    }

    /// Since when the status of an object waits to be written.
    fn patience<T>(&self, ask: impl FnOnce(&mut HashMap<ObjectKey, Instant>) -> T) -> T {
        ask(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn failed(&self, held: &Arc<Held>, error: &Error) -> Done {
        let category = error.category();
        if category == Category::NotLeader {
            tracing::debug!("the turn ended: another process leads");
            return Done::Dropped;
        }
        self.around.metrics.error(&self.plan.name, category.as_str());
        if category == Category::Conflict {
            tracing::debug!(%error, "trying again on fresh data");
            return self.refreshed(held.key()).await;
        }
        let failures = self.plan.queue.failures(held.key()) + 1;
        if category != Category::NotReady {
            let source = std::error::Error::source(error).map(ToString::to_string);
            tracing::warn!(category = category.as_str(), failures, cause = source, "{error}");
        }
        if failure::is_told(error) {
            self.around.tell(
                &reference(&self.parent(held)),
                Note::new(severity(error), error.reason_word(), error.to_string()),
            );
            let author = self.plan.driver.on_failure(held, error);
            // At once: it may be long before anybody comes back to tell it.
            let status = |old: Option<&Value>| failure::status(old, error, &author);
            let told = self.show(held.meta(), Duration::ZERO, status).await;
            if let Err(told) = told {
                tracing::debug!(error = %told, "the failure could not be told in the status");
                // Nobody would come back to an object that failed for good.
                match (category, told.category()) {
                    (Category::Permanent, Category::Conflict) => return self.refreshed(held.key()).await,
                    (Category::Permanent, Category::Transient) => return failure::done(&told),
                    _ => {}
                }
            }
        }
        let done = failure::done(error);
        if done == Done::Failed && failures == self.plan.options.backoff.quick() + 1 {
            tracing::warn!(failures, "keeps failing; from now on it is tried at the slow pace");
        }
        done
    }

    /// Reads the object afresh, so that the next turn does not judge on what is old.
    async fn refreshed(&self, key: &ObjectKey) -> Done {
        let store = self.plan.primary.store();
        match self.around.requests.get(&self.plan.api, key).await {
            Ok(Some(object)) => match Held::from_reply(&object) {
                Ok(held) => {
                    store.wrote(held);
                    Done::Again
                }
                Err(_) => Done::Failed,
            },
            Ok(None) => {
                store.lost(key);
                Done::Settled
            }
            Err(error) => failure::done(&Error::kube("reading the object afresh", error)),
        }
    }
}

/// The status of any object.
#[derive(serde::Deserialize)]
struct Shown {
    #[serde(default)]
    status: Option<Value>,
}

fn told(error: &Error) -> ReconcileResult {
    match error.category() {
        Category::NotReady => ReconcileResult::Requeue,
        Category::NotLeader => ReconcileResult::Skipped,
        _ => ReconcileResult::Error,
    }
}

fn severity(error: &Error) -> Severity {
    match error.category() {
        Category::Permanent | Category::Forbidden => Severity::Error,
        _ => Severity::Warning,
    }
}
