//! The server that API servers call.

mod answer;
mod connection;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::certificates::{Bundle, Certificates, Slot};
use super::error::WebhookError;
use super::injection::{Injection, Keeper, OwnService, Targets};
use super::observer::WebhookObserver;
use super::problems::Problems;
use super::set::WebhookSet;
use answer::Answerer;
use connection::Acceptor;

/// What the server puts up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest admission review. An API server's objects have up to 3 MiB, and a review holds
    /// two; 7 MiB by default.
    pub admission_body: usize,
    /// The largest conversion review. One holds a whole list; 64 MiB by default.
    pub conversion_body: usize,
    /// How long webhooks may take: nine seconds by default, one less than API servers wait, so that
    /// they hear which webhook was slow.
    pub handler: Duration,
    /// How long a connection may take to introduce itself, and each request to send its headers; ten
    /// seconds by default.
    pub headers: Duration,
    /// How long a request may take to send its body; ten seconds by default.
    pub body: Duration,
    /// How many connections are served at once; 512 by default. More wait.
    pub connections: usize,
    /// How many requests one HTTP/2 connection may have under way; 250 by default.
    pub streams: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            admission_body: 7 << 20,
            conversion_body: 64 << 20,
            handler: Duration::from_secs(9),
            headers: Duration::from_secs(10),
            body: Duration::from_secs(10),
            connections: 512,
            streams: 250,
        }
    }
}

/// How webhooks are served.
#[must_use]
pub struct WebhookOptions {
    address: SocketAddr,
    certificates: Certificates,
    limits: Limits,
    injection: Option<(Client, Injection)>,
    service: Option<OwnService>,
    observer: Option<Arc<dyn WebhookObserver>>,
}

impl WebhookOptions {
    /// At this address, with a certificate from there.
    pub fn new(address: SocketAddr, certificates: Certificates) -> Self {
        Self {
            address,
            certificates,
            limits: Limits::default(),
            injection: None,
            service: None,
            observer: None,
        }
    }

    /// Within these limits.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Keeps the bundle in these registrations. The client must not be fenced by leadership.
    pub fn injection(mut self, client: Client, injection: Injection) -> Self {
        self.injection = Some((client, injection));
        self
    }

    /// Behind this Service: what is registered for another one does not get the bundle. Two releases that hand
    /// over to each other keep out of each other's way so.
    pub fn service(mut self, namespace: &str, name: &str) -> Self {
        self.service = Some(OwnService { namespace: namespace.to_owned(), name: name.to_owned() });
        self
    }

    /// Tells of every webhook that was asked.
    pub fn observer(mut self, observer: Arc<dyn WebhookObserver>) -> Self {
        self.observer = Some(observer);
        self
    }
}

impl fmt::Debug for WebhookOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WebhookOptions")
            .field("address", &self.address)
            .field("certificates", &self.certificates)
            .field("limits", &self.limits)
            .field("injection", &self.injection.as_ref().map(|(_, injection)| injection))
            .finish_non_exhaustive()
    }
}

/// Serves webhooks.
#[derive(Debug, Clone, Copy)]
pub struct WebhookServer;

impl WebhookServer {
    /// Listens, and serves as soon as there is a certificate. It does not wait for one: while the
    /// API server cannot be asked, the rest of the operator goes on, and `ready` says no.
    pub async fn start(set: WebhookSet, options: WebhookOptions) -> Result<RunningWebhooks, WebhookError> {
        let WebhookOptions { address, certificates, limits, injection, service, observer } = options;
        let failed = |source| WebhookError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;

        let targets =
            injection.as_ref().map(|(client, injection)| Targets::new(client, injection, service.as_ref()));
        let problems = Problems::default();
        let living = certificates.start(targets.as_ref(), &problems)?;
        let mut tasks: Vec<JoinHandle<()>> = vec![living.keeper];
        for registered in targets.map(Targets::all).unwrap_or_default() {
            let keeper =
                Keeper::new(registered, living.fresh.clone(), living.bundle.clone(), problems.clone());
            tasks.push(tokio::spawn(keeper.run()));
        }

        let (stop, stopping) = watch::channel(false);
        let answerer = Arc::new(Answerer { set, observer, limits });
        let acceptor = Acceptor::new(Arc::clone(&living.slot), answerer, limits, stopping)?;
        let serving = Arc::new(AtomicBool::new(true));
        let server = tokio::spawn(acceptor.run(listener, Arc::clone(&serving)));
        tracing::info!(%address, "serving webhooks");
        Ok(RunningWebhooks {
            address,
            slot: living.slot,
            bundle: living.bundle,
            serving,
            stop,
            server,
            problems,
            tasks,
        })
    }
}

/// Webhooks that are being served. Dropping it stops them at once.
pub struct RunningWebhooks {
    address: SocketAddr,
    slot: Arc<Slot>,
    bundle: watch::Receiver<Option<Bundle>>,
    serving: Arc<AtomicBool>,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
    problems: Problems,
    tasks: Vec<JoinHandle<()>>,
}

impl RunningWebhooks {
    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Whether requests are served with a certificate that is valid now.
    pub fn ready(&self) -> bool {
        self.readiness().ready()
    }

    /// The same question, to be asked by others.
    pub fn readiness(&self) -> WebhookReadiness {
        WebhookReadiness {
            slot: Arc::clone(&self.slot),
            serving: Arc::clone(&self.serving),
            problems: self.problems.clone(),
        }
    }

    /// The certificates that API servers shall trust, PEM; none while there are none, or where
    /// somebody else takes care of that.
    pub fn bundle(&self) -> Option<String> {
        self.bundle.borrow().as_deref().map(str::to_owned)
    }

    /// What does not work right now, in words: a missing permission with the rule to add, a file that
    /// cannot be read. The rest goes on meanwhile.
    pub fn problems(&self) -> Vec<String> {
        self.problems.all()
    }

    /// When the certificate that is shown ends, if there is one.
    pub fn certificate_expires(&self) -> Option<Timestamp> {
        self.slot.get().map(|identity| identity.validity.until)
    }

    /// Stops listening, lets requests that are under way finish for so long, and ends.
    ///
    /// Endpoints learn late that a pod is leaving, so a process that was told to end should go on
    /// serving for some seconds before it calls this.
    pub async fn stop(mut self, drain: Duration) {
        self.serving.store(false, Ordering::Release);
        self.stop.send_replace(true);
        if tokio::time::timeout(drain, &mut self.server).await.is_err() {
            tracing::warn!("webhook requests were still under way after {drain:?}; they are broken off");
        }
    }
}

/// Says whether webhooks are served.
#[derive(Clone)]
pub struct WebhookReadiness {
    slot: Arc<Slot>,
    serving: Arc<AtomicBool>,
    problems: Problems,
}

impl WebhookReadiness {
    /// Whether requests are served with a certificate that is valid now.
    pub fn ready(&self) -> bool {
        self.serving.load(Ordering::Acquire) && self.slot.valid()
    }

    /// What does not work right now, in words.
    pub fn problems(&self) -> Vec<String> {
        self.problems.all()
    }
}

impl fmt::Debug for WebhookReadiness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WebhookReadiness").field("ready", &self.ready()).finish()
    }
}

impl fmt::Debug for RunningWebhooks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RunningWebhooks")
            .field("address", &self.address)
            .field("ready", &self.ready())
            .finish_non_exhaustive()
    }
}

impl Drop for RunningWebhooks {
    fn drop(&mut self) {
        self.serving.store(false, Ordering::Release);
        self.server.abort();
        for task in &self.tasks {
            task.abort();
        }
    }
}
