//! Looking at operators on clusters, through the API server and nothing else.
//!
//! It changes nothing: webhooks are asked by dry run, and only those that promise to have no side effects
//! then. The one exception is the smoke test, which a profile has to ask for. What is seen goes to the
//! domain as it is; what it means is decided there.

mod authority;
mod call;
mod conversion;
mod definition;
mod dry_run;
mod further;
mod handshake;
mod hook;
mod logs;
mod matching;
mod quantity;
mod release;
mod resources;
mod smoke;
mod usage;
mod webhooks;
mod workloads;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use kube::Client;
use slipway_domain::health::{Look, Observation, SmokeSeen, SmokeTest};
use slipway_domain::id::ClusterId;
use slipway_orchestrator::ports::Probes;
use slipway_orchestrator::ports::probes::{Manner, ReleaseAt, Target};
use tracing::Instrument as _;

use call::{Call, Fault};
use definition::Definition;
pub use release::{Registration, Subject, WorkloadRef};

/// Where clients of clusters come from.
#[async_trait]
pub trait Clients: Send + Sync {
    /// The client of a cluster, or why there is none.
    async fn client(&self, cluster: ClusterId) -> Result<Client, String>;
}

#[async_trait]
impl Clients for super::Connections {
    async fn client(&self, cluster: ClusterId) -> Result<Client, String> {
        self.client(cluster).await.map_err(|error| {
            tracing::warn!(%cluster, error = &error as &dyn std::error::Error, "no client of a cluster");
            format!("there is no way to the cluster: {error}")
        })
    }
}

/// Looks at operators with kube.
pub struct KubeProbes {
    clients: Arc<dyn Clients>,
    // A release's manifest is large and stays the same until its revision changes, which is another Secret.
    subjects: moka::future::Cache<(ClusterId, ReleaseAt, String), Arc<Subject>>,
}

impl std::fmt::Debug for KubeProbes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KubeProbes").finish_non_exhaustive()
    }
}

impl KubeProbes {
    /// With clients from there.
    pub fn new(clients: Arc<dyn Clients>) -> Self {
        let subjects =
            moka::future::Cache::builder().max_capacity(2_000).time_to_idle(Duration::from_mins(10)).build();
        Self { clients, subjects }
    }

    /// What the releases of a target consist of.
    async fn subject(&self, call: &Call, target: &Target) -> Result<Arc<Subject>, Fault> {
        let mut whole = Subject::default();
        for release in &target.releases {
            let newest = release::newest(call, release).await?;
            let key = (target.cluster, release.clone(), newest.uid.clone());
            let part = if let Some(part) = self.subjects.get(&key).await {
                part
            } else {
                let part = Arc::new(release::read(call, release, &newest).await?);
                self.subjects.insert(key, Arc::clone(&part)).await;
                part
            };
            if target.releases.len() == 1 {
                return Ok(part);
            }
            whole.merge(&part);
        }
        Ok(Arc::new(whole))
    }
}

#[async_trait]
impl Probes for KubeProbes {
    async fn look(&self, target: &Target, manner: Manner) -> Observation {
        let span = tracing::info_span!(
            "operator.healthcheck",
            cluster = target.cluster_name,
            operatorName = target.operator_name
        );
        let until = Instant::now() + manner.within;
        async {
            let client = match tokio::time::timeout(manner.within, self.clients.client(target.cluster)).await
            {
                Ok(Ok(client)) => client,
                Ok(Err(why)) => return Observation::unseen(manner.at, &why),
                Err(_) => {
                    return Observation::unseen(manner.at, &Fault::late(&target.cluster_name).to_string());
                }
            };
            let call = Call::new(client, &target.cluster_name, until);
            match self.subject(&call, target).await {
                Ok(subject) => look(&call, &subject, target, manner).await,
                // Nothing at all can be seen of a cluster that does not answer.
                Err(fault @ Fault::Lost(_)) => Observation::unseen(manner.at, &fault.to_string()),
                Err(fault) => {
                    let (definitions, _) = definition::read(&call, &target.crds).await;
                    let resources = resources::look(&call, definitions, target, manner).await;
                    Observation { resources, ..Observation::unseen(manner.at, &fault.to_string()) }
                }
            }
        }
        .instrument(span)
        .await
    }
}

/// Looks at what a release consists of.
pub async fn look_at(client: Client, subject: &Subject, target: &Target, manner: Manner) -> Observation {
    let call = Call::new(client, &target.cluster_name, Instant::now() + manner.within);
    look(&call, subject, target, manner).await
}

/// Runs a smoke test: makes its object, waits for its condition, and removes it.
pub async fn smoke_test(
    client: Client,
    cluster: &str,
    operator: &str,
    test: &SmokeTest,
    at: Timestamp,
) -> SmokeSeen {
    smoke::run(&Call::new(client, cluster, Instant::now()), operator, test, at).await
}

async fn look(call: &Call, subject: &Subject, target: &Target, manner: Manner) -> Observation {
    let mut names = target.crds.clone();
    names.extend(subject.crds.iter().cloned());
    names.sort();
    names.dedup();
    let (definitions, definitions_unread) = definition::read(call, &names).await;

    let pods = async {
        let seen = workloads::look(call, subject).await;
        let lines = match &seen {
            Ok(workloads) => logs::look(call, workloads).await,
            Err(_) => Vec::new(),
        };
        (seen, lines)
    }
    .instrument(tracing::info_span!("pod.healthcheck"));
    let hooks = async {
        let seen = webhooks::look(call, subject, target, definitions.as_slice()).await;
        let conversions = conversion::look(call, &definitions).await;
        (seen, conversions)
    }
    .instrument(tracing::info_span!("webhook.healthcheck"));
    let objects = resources::look(call, definitions.clone(), target, manner)
        .instrument(tracing::info_span!("crd.reconciliation.check"));
    let smoke = smoke(call, target, manner);
    let further = further::look(call, &target.rules.further);
    let ((workloads, logs), (webhooks, conversions), mut resources, smoke, rules) =
        futures::join!(pods, hooks, objects, smoke, further);
    if let Some(fault) = definitions_unread {
        resources = Look::Unseen(fault.to_string());
    }
    Observation {
        at: manner.at,
        workloads: seen(workloads),
        webhooks: seen(webhooks),
        conversions,
        resources,
        smoke,
        rules,
        logs,
    }
}

async fn smoke(call: &Call, target: &Target, manner: Manner) -> Option<SmokeSeen> {
    let test = target.rules.smoke.as_ref().filter(|_| manner.smoke)?;
    Some(smoke::run(call, &target.operator_name, test, manner.at).await)
}

fn seen<T>(result: Result<T, Fault>) -> Look<T> {
    match result {
        Ok(value) => Look::Seen(value),
        Err(fault) => Look::Unseen(fault.to_string()),
    }
}

/// A CRD that was asked for and is not there is said, too.
fn missing(name: &str) -> String {
    format!("there is no CRD {name}")
}

/// The definitions of a kind that were read.
type Definitions = Vec<Definition>;
