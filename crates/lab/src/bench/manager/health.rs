//! How long looks at an operator take, and the parts of them, from the spans that the manager makes.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::bail;
use async_trait::async_trait;
use kube::Client;
use slipway_domain::health::{HealthRules, Look};
use slipway_domain::id::ClusterId;
use slipway_infra::kubernetes::probes::{Clients, KubeProbes};
use slipway_orchestrator::ports::Probes as _;
use slipway_orchestrator::ports::probes::{Freshness, Manner, ReleaseAt, Target};
use tracing::instrument::WithSubscriber as _;
use tracing::span::{Attributes, Id};
use tracing::{Dispatch, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use super::super::seen::Seen;
use super::fleet::{CRD, Harbour, OPERATOR};

/// The span of a whole look, and those of its parts, with what people call them.
pub(super) const PARTS: [(&str, &str); 4] = [
    ("pod.healthcheck", "pods"),
    ("webhook.healthcheck", "webhooks"),
    ("crd.reconciliation.check", "reconciliation"),
    ("operator.healthcheck", "all of it"),
];

/// How long each part took, by its span.
pub(super) type Parts = BTreeMap<&'static str, Seen>;

/// Those of planes as people have them, and those of the one with many objects.
pub(super) struct Looks {
    pub(super) usual: Parts,
    pub(super) many: Parts,
}

/// Looks again and again, one plane after the other, while the server does the same by itself.
pub(super) async fn measure(harbour: &Harbour, rounds: usize) -> anyhow::Result<Looks> {
    let mut clients = HashMap::new();
    let mut targets = Vec::new();
    for plane in harbour.occupied() {
        let cluster = ClusterId::from(uuid::Uuid::new_v4());
        clients.insert(cluster, plane.client().await?);
        targets.push(Target {
            cluster,
            cluster_name: plane.server().to_owned(),
            operator_name: OPERATOR.to_owned(),
            releases: vec![ReleaseAt { namespace: OPERATOR.to_owned(), name: OPERATOR.to_owned() }],
            crds: vec![CRD.to_owned()],
            rules: HealthRules::default(),
        });
    }
    let probes = KubeProbes::new(Arc::new(Known(clients)));
    let stopwatch = Stopwatch::default();
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(stopwatch.clone()));
    let many = targets.split_off(targets.len() - 1);
    // The first look makes the connections.
    look(&probes, &targets, 1, &dispatch).await?;
    look(&probes, &many, 1, &dispatch).await?;
    stopwatch.take();
    look(&probes, &targets, rounds, &dispatch).await?;
    let usual = stopwatch.take();
    look(&probes, &many, rounds, &dispatch).await?;
    Ok(Looks { usual, many: stopwatch.take() })
}

async fn look(
    probes: &KubeProbes,
    targets: &[Target],
    rounds: usize,
    times: &Dispatch,
) -> anyhow::Result<()> {
    for _ in 0..rounds {
        for target in targets {
            let manner = Manner {
                at: jiff::Timestamp::now(),
                freshness: Freshness::Now,
                within: Duration::from_secs(30),
                smoke: false,
            };
            let seen = probes.look(target, manner).with_subscriber(times.clone()).await;
            // A look that saw nothing would be quick.
            let (Look::Seen(pods), Look::Seen(hooks), Look::Seen(kinds)) =
                (&seen.workloads, &seen.webhooks, &seen.resources)
            else {
                bail!("{}: not everything could be seen: {seen:?}", target.cluster_name);
            };
            if pods.is_empty() || hooks.is_empty() || kinds.is_empty() {
                bail!("{}: something is missing: {seen:?}", target.cluster_name);
            }
        }
    }
    Ok(())
}

struct Known(HashMap<ClusterId, Client>);

#[async_trait]
impl Clients for Known {
    async fn client(&self, cluster: ClusterId) -> Result<Client, String> {
        self.0.get(&cluster).cloned().ok_or_else(|| "there is no such cluster".to_owned())
    }
}

/// Measures spans from their beginning to their end.
#[derive(Debug, Clone, Default)]
struct Stopwatch(Arc<Mutex<BTreeMap<&'static str, Vec<Duration>>>>);

impl Stopwatch {
    fn take(&self) -> Parts {
        let taken = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        taken.into_iter().map(|(name, took)| (name, Seen::new(took))).collect()
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Stopwatch {
    fn on_new_span(&self, _: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Instant::now());
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(began) = span.extensions().get::<Instant>().copied() else { return };
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.entry(span.name()).or_default().push(began.elapsed());
    }
}
