//! An operator: controllers, webhooks, leadership and servers, started and stopped together.
//!
//! A replica serves webhooks and keeps its caches warm whether it leads or not; only the leader reconciles.
//! When it is asked to end it takes no new work, finishes what it has, releases the Lease, and keeps
//! answering admission requests until nobody sends any more.

mod informers;
mod observers;
mod parts;
mod signals;
mod start;
mod stop;

use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Resource;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

pub(crate) use informers::Informers;
pub use parts::{RuntimeError, Started};
pub(crate) use start::surroundings;

use crate::client::{Clients, RateLimit};
use crate::controller::{AnyController, ControllerSpec};
use crate::leader::LeaderElection;
use crate::metrics::Metrics;
use crate::settings::{Live, Settings};
use crate::webhook::{
    Certificates, Conversions, Injection, Mutate, Registration, Reviewed, Validate, WebhookSet,
};

/// An operator that is being described.
#[must_use = "an operator does nothing until it is run"]
pub struct RuntimeBuilder {
    name: String,
    version: String,
    settings: Settings,
    config: Option<kube::Config>,
    election: Election,
    controllers: Vec<Box<dyn AnyController>>,
    webhooks: WebhookSet,
    certificates: Option<MakeCertificates>,
    injection: Injection,
    crds: Vec<CustomResourceDefinition>,
    metrics: Metrics,
    linger: Duration,
    follow: Option<Follow>,
}

/// Brings what may change at run time to the clients, for as long as it is polled.
type Follow = Box<dyn FnOnce(Clients) -> BoxFuture<'static, ()> + Send>;

type MakeCertificates =
    Box<dyn FnOnce(kube::Client) -> Result<Certificates, crate::webhook::WebhookError> + Send>;

enum Election {
    /// As the settings say, on a Lease with the operator's name.
    Default,
    Given(Box<LeaderElection>),
}

impl std::fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuntimeBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

/// An operator.
#[derive(Debug)]
pub struct Runtime;

impl Runtime {
    /// Begins to describe an operator; `name` is that of its Lease, and what people read.
    pub fn builder(name: &str) -> RuntimeBuilder {
        RuntimeBuilder {
            name: name.to_owned(),
            version: String::new(),
            settings: Settings::default(),
            config: None,
            election: Election::Default,
            controllers: Vec::new(),
            webhooks: WebhookSet::new(),
            certificates: None,
            injection: Injection::default(),
            crds: Vec::new(),
            metrics: Metrics::new(),
            linger: Duration::from_secs(5),
            follow: None,
        }
    }
}

impl RuntimeBuilder {
    /// Its version, for `/` and the logs.
    pub fn version(mut self, version: &str) -> Self {
        version.clone_into(&mut self.version);
        self
    }

    /// What it was told by flags, environment and file.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The API server to talk to; found in the usual places unless told.
    pub fn client_config(mut self, config: kube::Config) -> Self {
        self.config = Some(config);
        self
    }

    /// How a leader is elected: on a Lease with the operator's name unless told. The settings still decide
    /// whether there is an election at all, and where.
    pub fn leader_election(mut self, election: LeaderElection) -> Self {
        self.election = Election::Given(Box::new(election));
        self
    }

    /// Adds a controller.
    pub fn controller<K>(mut self, controller: ControllerSpec<K>) -> Self
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + Send + Sync + 'static,
    {
        self.controllers.push(Box::new(controller));
        self
    }

    /// Adds a check of objects before they are stored.
    pub fn validate<K: Reviewed>(mut self, name: &str, validator: impl Validate<K>) -> Self {
        self.webhooks = self.webhooks.validate(name, validator);
        self
    }

    /// Adds a change of objects before they are stored.
    pub fn mutate<K: Reviewed>(mut self, name: &str, mutator: impl Mutate<K>) -> Self {
        self.webhooks = self.webhooks.mutate(name, mutator);
        self
    }

    /// Adds a webhook with rules of its own.
    pub fn webhook(mut self, registration: Registration) -> Self {
        self.webhooks = self.webhooks.register(registration);
        self
    }

    /// Converts between the versions of a kind.
    pub fn convert(mut self, conversions: Conversions) -> Self {
        self.webhooks = self.webhooks.convert(conversions);
        self
    }

    /// Where the certificate of the webhooks comes from; from the settings unless told.
    pub fn certificates(
        mut self,
        make: impl FnOnce(kube::Client) -> Result<Certificates, crate::webhook::WebhookError> + Send + 'static,
    ) -> Self {
        self.certificates = Some(Box::new(make));
        self
    }

    /// The webhook configurations and CRDs that the CA is written into.
    pub fn inject(mut self, injection: Injection) -> Self {
        self.injection = injection;
        self
    }

    /// A CRD that the operator brings; whether it installs it is up to the settings.
    pub fn crd(mut self, crd: CustomResourceDefinition) -> Self {
        self.crds.push(crd);
        self
    }

    /// The metrics that everything is counted in, for authors who add their own before the start.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// How long webhooks are served on after the end was asked for: as long as API servers may not know yet.
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// Follows settings that change while it runs: the level of logs and the pace of requests.
    pub fn follow<Extra: Send + Sync + 'static>(
        mut self,
        mut live: watch::Receiver<Live<Extra>>,
        logs: Option<slipway_telemetry::FilterHandle>,
    ) -> Self {
        self.follow = Some(Box::new(move |clients| {
            Box::pin(async move {
                while live.changed().await.is_ok() {
                    let (level, limit) = {
                        let live = live.borrow_and_update();
                        (
                            live.log_level.clone(),
                            RateLimit { per_second: live.api_qps, burst: live.api_burst },
                        )
                    };
                    if let Err(error) = clients.set_rate_limit(limit) {
                        tracing::warn!(%error, "the new pace of requests is not taken");
                    }
                    if let Some(Err(error)) = logs.as_ref().map(|logs| logs.set(&level)) {
                        tracing::warn!(%error, "the new log level is not taken");
                    }
                }
                std::future::pending::<()>().await;
            })
        }));
        self
    }

    /// Runs until the process is asked to end.
    pub async fn run(self) -> Result<(), RuntimeError> {
        let asked = signals::asked_to_end().map_err(RuntimeError::Signals)?;
        self.run_until(asked).await
    }

    /// Runs until `asked` is done, or a part of it fails.
    pub async fn run_until(self, asked: impl Future<Output = ()>) -> Result<(), RuntimeError> {
        let mut started = self.start().await?;
        tokio::select! {
            () = asked => {
                tracing::info!("asked to end");
                started.stop().await;
                Ok(())
            }
            error = started.failed() => {
                tracing::error!(%error, "a part failed; ending");
                started.stop().await;
                Err(error)
            }
        }
    }

    /// Starts it, and gives what is running.
    pub async fn start(self) -> Result<Started, RuntimeError> {
        start::start(self).await
    }
}
