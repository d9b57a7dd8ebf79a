//! Starts an operator.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use serde_json::Value;
use tokio::task::JoinSet;

use super::{Election, Informers, RuntimeBuilder, RuntimeError, Started, observers};
use crate::admin::{AdminServer, Health, LeaseView};
use crate::apply::{Applier, Requests};
use crate::cache::{Change, Informer, ObjectKey, Scope};
use crate::client::{ClientOptions, Clients, RateLimit};
use crate::controller::{Engine, Planned, Strain, Surroundings};
use crate::crd;
use crate::events::{self, EventLog, EventType, InvolvedObject, Recorder, Severity};
use crate::leader::{Elector, LeaderElection, Leadership};
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::settings::{self, InstallCrds, Settings};
use crate::webhook::{
    Certificates, Files, RunningWebhooks, SelfSigned, WebhookError, WebhookOptions, WebhookServer,
};

/// How many objects a controller works on at once, unless told.
const CONCURRENCY: usize = 8;
/// How often every object is looked at although nothing happened, unless told.
const RESYNC: Duration = Duration::from_mins(10);

pub(super) async fn start(mut builder: RuntimeBuilder) -> Result<Started, RuntimeError> {
    let settings = builder.settings.clone();
    let config = match builder.config.take() {
        Some(config) => config,
        None => kube::Config::infer().await.map_err(|error| RuntimeError::Config(Box::new(error)))?,
    };
    let metrics = builder.metrics.clone();
    let strain = Arc::new(Strain::default());
    let options = ClientOptions::default()
        .rate_limit(RateLimit { per_second: settings.api_qps, burst: settings.api_burst })
        .observer(Arc::new(observers::Requests { metrics: metrics.clone(), strain: Arc::clone(&strain) }));
    let namespace = settings.pod_namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
    let clients = Clients::new(config, options)?;

    let health = Health::new();
    let log = settings.serve_events.then(EventLog::new);
    let caches = health.readiness("caches");
    caches.not_ready("not everything was listed yet");

    install(&builder.crds, settings.install_crds, &clients).await?;
    let webhooks = serve_webhooks(&mut builder, &clients, &namespace, &health, &metrics).await?;

    let (mut workers, mut watches) = (JoinSet::new(), JoinSet::new());
    let mut elections = Elections { electors: Vec::new(), leaderships: Vec::new() };
    let shared = elections.shared(&mut builder, &clients, &namespace)?;

    let scope = if settings.watch_namespaces.is_empty() {
        Scope::Cluster
    } else {
        Scope::Namespaces(settings.watch_namespaces.clone())
    };
    let mut informers = Informers::new(scope);
    let (mut queues, mut recorders, mut engines) = (Vec::new(), Vec::new(), Vec::new());
    for mut controller in builder.controllers {
        let name = controller.name().to_owned();
        metrics.controller(&name);
        let leadership = match controller.take_election() {
            Some(election) if settings.leader_election => {
                elections.start(election, &settings, &clients, &namespace)?
            }
            _ => shared.clone(),
        };
        let observer = observers::Queue(metrics.queue(&name));
        let queue = Queue::new(controller.options().backoff, Some(Box::new(observer)));
        queues.push((name.clone(), queue.clone()));
        let plan = controller.plan(&mut informers, queue);
        if let Some(log) = &log {
            record_changes(&mut informers, &plan, log);
        }
        let (around, recorder) =
            surroundings(&plan, clients.fenced(&leadership), &settings, &metrics, log.as_ref());
        recorders.push(recorder);
        watches.spawn(observers::resources(metrics.clone(), Arc::clone(&plan.primary)));
        engines.push(Arc::new(Engine {
            concurrency: settings.concurrency.or(plan.options.concurrency).unwrap_or(CONCURRENCY),
            strain: Arc::clone(&strain),
            resync: settings.resync.or(plan.options.resync).unwrap_or(RESYNC),
            around: Arc::new(around),
            leadership,
            waiting: Mutex::default(),
            plan,
        }));
    }
    for leadership in &elections.leaderships {
        let lease = leadership.state().lease.map(|lease| lease.name).unwrap_or_default();
        watches.spawn(observers::leadership(metrics.clone(), lease, leadership.clone()));
    }

    let admin = admin(&builder.name, &builder.version, &settings, &builder.crds)
        .health(health.clone())
        .metrics(metrics.clone())
        .leader(leaders(&elections.leaderships))
        .queues(snapshots(&queues));
    let admin = match log {
        Some(log) => admin.events(log, clients.raw()),
        None => admin,
    };
    let admin = admin.start().await?;
    tracing::info!(name = builder.name, admin = %admin.local_addr(), "started");

    if let Some(follow) = builder.follow.take() {
        watches.spawn(follow(clients.clone()));
    }
    let known = informers.all();
    informers.start(&clients.raw(), &mut watches);
    watches.spawn(announce_synced(known.clone(), caches));
    for engine in engines {
        workers.spawn(engine.run());
    }
    Ok(Started {
        admin,
        health,
        metrics,
        webhooks,
        electors: elections.electors,
        leaderships: elections.leaderships,
        recorders,
        queues,
        informers: known,
        workers,
        watches,
        drain: settings.drain,
        linger: if settings.pod_name.is_some() { builder.linger } else { Duration::ZERO },
    })
}

/// The elections of an operator: one for all, and those that controllers have for themselves.
struct Elections {
    electors: Vec<Elector>,
    leaderships: Vec<Leadership>,
}

impl Elections {
    fn shared(
        &mut self,
        builder: &mut RuntimeBuilder,
        clients: &Clients,
        namespace: &str,
    ) -> Result<Leadership, RuntimeError> {
        let settings = builder.settings.clone();
        if !settings.leader_election {
            let leadership = Leadership::always();
            self.leaderships.push(leadership.clone());
            return Ok(leadership);
        }
        let election = match std::mem::replace(&mut builder.election, Election::Default) {
            Election::Given(election) => *election,
            Election::Default => LeaderElection::named(format!("{}-leader", builder.name)),
        };
        let election = match &settings.lease_name {
            Some(name) => election.renamed(name),
            None => election,
        };
        self.start(election, &settings, clients, namespace)
    }

    fn start(
        &mut self,
        election: LeaderElection,
        settings: &Settings,
        clients: &Clients,
        namespace: &str,
    ) -> Result<Leadership, RuntimeError> {
        let mut election = election.namespace(settings.lease_namespace.as_deref().unwrap_or(namespace));
        if let Some(group) = &settings.group {
            election = election.group(group.clone());
        }
        if settings.standby {
            election = election.standby(true);
        }
        let (elector, leadership) = election.start(clients.raw())?;
        self.electors.push(elector);
        self.leaderships.push(leadership.clone());
        Ok(leadership)
    }
}

/// Installs the CRDs that the operator brings, if it was told to.
async fn install(
    crds: &[CustomResourceDefinition],
    policy: InstallCrds,
    clients: &Clients,
) -> Result<(), RuntimeError> {
    let policy = match policy {
        InstallCrds::Never => return Ok(()),
        InstallCrds::Safe => crd::Policy::Safe,
        InstallCrds::Force => crd::Policy::Force,
    };
    for crd in crds {
        let installed = crd::install(clients.raw(), crd, policy)
            .await
            .map_err(|source| RuntimeError::Crd { name: crd.name_any(), source: Box::new(source) })?;
        tracing::info!(crd = crd.name_any(), ?installed, "installed");
    }
    Ok(())
}

async fn serve_webhooks(
    builder: &mut RuntimeBuilder,
    clients: &Clients,
    namespace: &str,
    health: &Health,
    metrics: &Metrics,
) -> Result<Option<RunningWebhooks>, RuntimeError> {
    let set = std::mem::take(&mut builder.webhooks);
    if !builder.settings.webhooks || set.is_empty() {
        return Ok(None);
    }
    let certificates = match builder.certificates.take() {
        Some(make) => make(clients.raw())?,
        None => certificates(&builder.name, &builder.settings, clients, namespace)?,
    };
    let mut options = WebhookOptions::new(builder.settings.webhook_address, certificates)
        .observer(Arc::new(observers::Webhooks(metrics.clone())));
    if !builder.injection.is_empty() {
        options = options.injection(clients.raw(), builder.injection.clone());
        if let Some(service) = &builder.settings.webhook_service {
            options = options.service(namespace, service);
        }
    }
    let webhooks = WebhookServer::start(set, options).await?;
    let (flag, readiness) = (health.readiness("webhooks"), webhooks.readiness());
    tokio::spawn(async move {
        loop {
            if readiness.ready() {
                flag.ready();
            } else {
                flag.not_ready("no valid certificate to serve with yet");
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    Ok(Some(webhooks))
}

fn certificates(
    name: &str,
    settings: &Settings,
    clients: &Clients,
    namespace: &str,
) -> Result<Certificates, WebhookError> {
    match settings.certificates {
        settings::Certificates::Files => {
            Ok(Certificates::files(Files::in_directory(&settings.certificate_dir)))
        }
        settings::Certificates::SelfSigned => {
            let service = settings.webhook_service.clone().unwrap_or_else(|| format!("{name}-webhook"));
            let secret = settings.ca_secret.clone().unwrap_or_else(|| format!("{name}-ca"));
            Certificates::self_signed(clients.raw(), SelfSigned::for_service(namespace, &service, &secret))
        }
    }
}

/// What a controller works with; it writes with this client.
pub(crate) fn surroundings(
    plan: &Planned,
    client: kube::Client,
    settings: &Settings,
    metrics: &Metrics,
    log: Option<&EventLog>,
) -> (Surroundings, Recorder) {
    let manager = plan.options.manager.clone().unwrap_or_else(|| plan.name.clone());
    let requests = Requests::new(client.clone(), &manager);
    let owned =
        plan.owned.iter().map(|informer| (informer.options().api.clone(), Arc::clone(informer.store())));
    let labels: BTreeMap<_, _> = plan.options.child_labels.clone();
    let applier = Applier::new(requests.clone(), owned, labels);
    let counted = metrics.clone();
    let mut recorder = Recorder::builder(client.clone(), plan.name.clone()).observed(Arc::new(
        move |kind: EventType, severity: Severity| counted.event(kind.as_str(), severity.as_str()),
    ));
    if let Some(pod) = &settings.pod_name {
        recorder = recorder.instance(pod.clone());
    }
    if let Some(log) = log {
        recorder = recorder.log(log.clone());
    }
    let recorder = recorder.hopeless(crate::client::is_not_leader);
    let recorder = recorder.start();
    let stores: HashMap<_, _> = plan
        .informers()
        .map(|informer| {
            let api = &informer.options().api;
            ((api.group.clone(), api.kind.clone()), Arc::clone(informer.store()))
        })
        .collect();
    let around = Surroundings {
        client,
        requests,
        applier,
        stores,
        recorder: recorder.clone(),
        metrics: metrics.clone(),
    };
    (around, recorder)
}

/// Notes what happens to a controller's own objects, for those who ask this process.
fn record_changes(informers: &mut Informers, plan: &Planned, log: &EventLog) {
    let (log, api, source) = (log.clone(), plan.api.clone(), plan.name.clone());
    informers.listen(&plan.primary, move |change: &Change| {
        if change.listed && change.before.is_some() {
            return;
        }
        let Some(held) = change.latest() else { return };
        let kind = match (&change.before, &change.after) {
            (None, _) => events::Change::Added,
            (_, None) => events::Change::Deleted,
            _ => events::Change::Modified,
        };
        let meta = held.meta();
        let involved = InvolvedObject {
            api_version: api.api_version.clone(),
            kind: api.kind.clone(),
            namespace: meta.key.namespace.as_deref().unwrap_or_default().to_owned(),
            name: meta.key.name.to_string(),
            uid: Some(meta.uid.to_string()),
        };
        let failed = meta.phase.as_deref() == Some("Failed");
        log.observed(kind, involved, &source, failed, || held.decode().unwrap_or_default());
    });
}

fn admin(
    name: &str,
    version: &str,
    settings: &Settings,
    crds: &[CustomResourceDefinition],
) -> crate::admin::AdminBuilder {
    let crds: Vec<Value> = crds.iter().filter_map(|crd| serde_json::to_value(crd).ok()).collect();
    AdminServer::builder(settings.admin_address).info(name, version).crds(move || crds.clone())
}

fn leaders(leaderships: &[Leadership]) -> impl Fn() -> Vec<crate::admin::Leadership> + Send + Sync + 'static {
    let leaderships = leaderships.to_vec();
    move || leaderships.iter().map(view).collect()
}

fn snapshots(queues: &[(String, Queue<ObjectKey>)]) -> impl Fn() -> Value + Send + Sync + 'static {
    let queues = queues.to_vec();
    move || {
        let shown = queues.iter().map(|(name, queue)| (name.clone(), serde_json::json!(queue.snapshot())));
        Value::Object(shown.collect())
    }
}

fn view(leadership: &Leadership) -> crate::admin::Leadership {
    let state = leadership.state();
    crate::admin::Leadership {
        is_leader: leadership.is_leader(),
        identity: state.identity,
        lease: LeaseView {
            name: state.lease.as_ref().map(|lease| lease.name.clone()).unwrap_or_default(),
            namespace: state.lease.map(|lease| lease.namespace).unwrap_or_default(),
            holder_identity: state.leader,
            acquire_time: state.acquired_at,
            renew_time: state.renewed_at,
            lease_transitions: Some(state.transitions),
        },
    }
}

async fn announce_synced(informers: Vec<Arc<Informer>>, caches: crate::admin::ReadyFlag) {
    for informer in &informers {
        informer.synced().await;
    }
    caches.ready();
    std::future::pending::<()>().await;
}
