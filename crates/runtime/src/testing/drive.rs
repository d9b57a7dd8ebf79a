//! Single turns of a controller.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Request;
use kube::api::{DynamicObject, ListParams};
use kube::client::Body;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tower::service_fn;

use super::journal::{Journal, Sent};
use crate::cache::{Held, Informer, ObjectKey, Scope};
use crate::controller::{AnyController, ControllerSpec, Engine};
use crate::error::Error;
use crate::events::{EventLog, EventQuery, LoggedEvent};
use crate::leader::Leadership;
use crate::metrics::Metrics;
use crate::queue::{Done, Queue};
use crate::runtime::{Informers, surroundings};
use crate::settings::Settings;

/// Takes single turns of a controller, against a [`FakeServer`](super::FakeServer) or a real API server.
///
/// A turn is what a running operator does when the queue hands it an object: the finalizer, the author's
/// `reconcile` or `cleanup`, the children, the status, and what becomes of an error. Before it, everything
/// that the controller watches is read afresh, so that a test sees no stale cache.
pub struct Drive {
    engine: Engine,
    client: Client,
    journal: Journal,
    log: EventLog,
    metrics: Metrics,
}

impl fmt::Debug for Drive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drive").field("controller", &self.engine.plan.name).finish_non_exhaustive()
    }
}

/// What a turn did.
#[derive(Debug)]
#[non_exhaustive]
pub struct Turn {
    /// When the object would come up again.
    pub done: Done,
    /// Why the turn failed, if it did.
    pub failure: Option<Error>,
    /// What it sent to the API server, in order; Events are told by [`Drive::events`] instead.
    pub requests: Vec<Sent>,
}

impl Turn {
    /// What it asked the API server to change.
    pub fn writes(&self) -> impl Iterator<Item = &Sent> {
        self.requests.iter().filter(|sent| sent.is_write())
    }
}

/// Why there was no turn.
#[derive(Debug, thiserror::Error)]
#[error("reading every {kind} before the turn")]
pub struct DriveError {
    /// The kind that could not be read.
    pub kind: String,
    /// Why not.
    #[source]
    pub source: Box<kube::Error>,
}

impl Drive {
    /// Drives this controller with this client. It belongs to the tokio runtime this is called in.
    pub fn new<K>(controller: ControllerSpec<K>, client: Client) -> Self
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        let (journal, log, metrics) = (Journal::default(), EventLog::new(), Metrics::new());
        let queue = Queue::new(controller.options().backoff, None);
        let plan = Box::new(controller).plan(&mut Informers::new(Scope::Cluster), queue);
        let recorded = recorded(client.clone(), journal.clone());
        let (around, _) = surroundings(&plan, recorded, &Settings::default(), &metrics, Some(&log));
        let engine = Engine {
            plan,
            around: Arc::new(around),
            leadership: Leadership::always(),
            concurrency: 1,
            strain: Arc::default(),
            resync: Duration::MAX,
            waiting: Mutex::default(),
        };
        Self { engine, client, journal, log, metrics }
    }

    /// Takes one turn of one object. An object that does not exist is settled at once.
    pub async fn reconcile(&self, key: &ObjectKey) -> Result<Turn, DriveError> {
        for informer in self.engine.plan.informers() {
            self.read(informer).await?;
        }
        self.journal.take();
        let (done, failure) = self.engine.turn(key).await;
        Ok(Turn { done, failure, requests: self.journal.take() })
    }

    /// What was told about objects in all turns, the newest first. What is told again is counted.
    pub fn events(&self) -> Vec<LoggedEvent> {
        self.log.query(&EventQuery::default())
    }

    /// What was counted in all turns, with the author's own metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    async fn read(&self, informer: &Informer) -> Result<(), DriveError> {
        let options = informer.options();
        let apis = match &options.scope {
            Scope::Cluster => vec![Api::<DynamicObject>::all_with(self.client.clone(), &options.api)],
            Scope::Namespaces(namespaces) => namespaces
                .iter()
                .map(|namespace| Api::namespaced_with(self.client.clone(), namespace, &options.api))
                .collect(),
        };
        let params = ListParams { label_selector: options.labels.clone(), ..ListParams::default() };
        let failed = |source| DriveError { kind: options.api.kind.clone(), source: Box::new(source) };
        let mut seen = HashSet::new();
        for api in apis {
            for object in api.list(&params).await.map_err(failed)? {
                let held =
                    Held::from_reply(&object).map_err(|error| failed(kube::Error::SerdeError(error)))?;
                seen.insert(held.key().clone());
                informer.store().wrote(held);
            }
        }
        for key in informer.store().keys() {
            if !seen.contains(&key) {
                informer.store().lost(&key);
            }
        }
        Ok(())
    }
}

/// A client that sends with another one, and keeps what it sends.
fn recorded(client: Client, journal: Journal) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let (client, journal) = (client.clone(), journal.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            let mut sent = Sent::new(&parts.method, parts.uri.path(), parts.uri.query(), &body);
            let answer = client.send(Request::from_parts(parts, Body::from(body.to_vec()))).await;
            sent.status = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
            journal.add(sent);
            answer
        }
    });
    Client::new(service, namespace)
}
