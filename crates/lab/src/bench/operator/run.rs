//! The measurement of one operator, from its start on an empty cluster to the last deletion.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::{Api, Client, ResourceExt};
use slipway_testkit::until;

use super::cluster::{Cluster, NAMESPACE};
use super::contestant::{Contestant, Place};
use super::figures::{Deletion, Figures, Idle, Large, Work};
use super::latency::{Percentiles, between};
use super::load::{self, FIRST_IMAGE, SECOND_IMAGE};
use super::probe;
use super::process::Process;
use super::sight::Sight;

/// Nothing is looked at again by the clock while other things are measured.
const NO_RESYNC: Duration = Duration::from_hours(10);
/// Looked at again by the clock several times while that is measured.
const RESYNC: Duration = Duration::from_secs(20);
const IDLE: Duration = Duration::from_mins(1);
const PATIENCE: Duration = Duration::from_mins(20);

/// An operator under measurement, and the cluster it works on.
///
/// The cluster comes last: what looks at it must be gone before it.
struct Run {
    contestant: Contestant,
    process: Process,
    sight: Sight,
    cluster: Cluster,
}

/// Measures one operator.
pub(super) async fn measure(
    contestant: Contestant,
    objects: usize,
    large: Option<usize>,
) -> anyhow::Result<Figures> {
    let program = contestant.program()?;
    println!("{}: starting a cluster …", contestant.name());
    let cluster = Cluster::start().await?;
    let kubernetes = cluster.version().await?;
    let sight = Sight::begin(&cluster.client);
    let canary = ["canary".to_owned()];
    load::create(&cluster.client, &canary, 1).await?;

    let place = Place::new(&cluster.kubeconfig(), cluster.certificates());
    let process = Process::start(contestant, &program, place, NO_RESYNC)?;
    let mut run = Run { contestant, process, sight, cluster };
    let (ready, first_reconcile) = tokio::try_join!(run.process.ready(), run.held("canary"))?;
    run.say(&format!("ready in {ready:.2?}, first reconcile after {first_reconcile:.2?}"));
    run.sight.all_done(&canary, PATIENCE).await.with_context(|| run.process.last_words())?;
    run.cluster.install_webhooks(run.process.webhook_urls()).await?;
    load::delete(&run.cluster.client, &canary).await?;
    run.all_gone().await?;
    let empty = run.idle(Duration::from_secs(10)).await?;

    let names = load::names("app", objects);
    let created = run.work(&names, async |client| load::create(client, &names, 2).await).await?;
    run.say(&format!("created {objects} in {:.1?}", created.converged));
    let updated =
        run.work(&names, async |client| load::change_image(client, &names, SECOND_IMAGE).await).await?;
    run.say(&format!("changed {objects} from {FIRST_IMAGE} to {SECOND_IMAGE} in {:.1?}", updated.converged));
    let idle = run.idle(IDLE).await?;
    run.say("idle");

    let [validate, mutate] = run.process.webhook_urls();
    let authority = run.cluster.authority.certificate();
    let validate = probe::webhook(&validate, authority).await.context("asking the validating webhook")?;
    let mutate = probe::webhook(&mutate, authority).await.context("asking the defaulting webhook")?;
    let dry_run = probe::dry_run(&run.cluster.client).await?;
    run.say("webhooks asked");

    let mut run = run.restart(&program, RESYNC).await?;
    let restarted = run.process.ready().await?;
    let resynced = run.idle(IDLE).await?;
    run.say("resynced");
    let deleted = run.delete(&names).await?;
    run.say(&format!("deleted in {:.1?}, {} left", deleted.gone, deleted.left.len()));

    let large = match large {
        Some(count) => {
            run = run.restart(&program, NO_RESYNC).await?;
            run.process.ready().await?;
            Some(run.large(count).await?)
        }
        None => None,
    };
    run.process.stop().await;
    Ok(Figures {
        contestant,
        objects,
        kubernetes,
        ready,
        first_reconcile,
        restarted,
        empty,
        created,
        updated,
        idle,
        resynced,
        validate,
        mutate,
        dry_run,
        deleted,
        large,
    })
}

impl Run {
    fn say(&self, what: &str) {
        println!("  {}: {what}", self.contestant.name());
    }

    /// Waits until the operator took charge of an Application, and gives the time from its start.
    async fn held(&self, name: &str) -> anyhow::Result<Duration> {
        let started = Instant::now();
        while !self.sight.is_held(name) {
            if started.elapsed() > Duration::from_mins(1) {
                bail!("no reconcile in a minute: {}", self.process.last_words());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(self.process.age())
    }

    async fn restart(self, program: &std::path::Path, resync: Duration) -> anyhow::Result<Self> {
        let Self { contestant, cluster, sight, process } = self;
        let place = process.stop().await;
        let process = Process::start(contestant, program, place, resync)?;
        Ok(Self { contestant, process, sight, cluster })
    }

    /// Does something to all Applications, and measures until each is as it should be and nothing more is written.
    async fn work(
        &mut self,
        names: &[String],
        change: impl AsyncFnOnce(&Client) -> anyhow::Result<()>,
    ) -> anyhow::Result<Work> {
        self.cluster.audit.take()?;
        let metrics = self.process.metrics().await?;
        let processor = self.process.processor_time()?;
        self.sight.forget();
        let started = Instant::now();
        change(&self.cluster.client).await?;
        let sent = started.elapsed();
        let done = self.sight.all_done(names, PATIENCE).await.with_context(|| self.process.last_words())?;
        let tally = self.cluster.audit.take_when_quiet(Duration::from_mins(2)).await?;
        let processor = self.process.processor_time()?.saturating_sub(processor);
        let reconciles =
            between(&metrics, &self.process.metrics().await?, self.contestant.reconcile_histogram());
        Ok(Work {
            objects: names.len(),
            sent,
            converged: done.duration_since(started),
            processor,
            tally,
            reconciles: reconciles.as_ref().map_or(0.0, |histogram| histogram.count),
            reconcile: reconciles.as_ref().and_then(Percentiles::estimated),
        })
    }

    /// Leaves the operator alone, and measures what it does nevertheless.
    async fn idle(&mut self, length: Duration) -> anyhow::Result<Idle> {
        let mut tally = self.cluster.audit.take_when_quiet(Duration::from_secs(30)).await?;
        let metrics = self.process.metrics().await?;
        let processor = self.process.processor_time()?;
        tokio::time::sleep(length).await;
        let processor = self.process.processor_time()?.saturating_sub(processor);
        let memory = self.process.memory()?;
        tally.join(self.cluster.audit.take()?);
        let reconciles =
            between(&metrics, &self.process.metrics().await?, self.contestant.reconcile_histogram());
        Ok(Idle {
            millicores: processor.as_secs_f64() / length.as_secs_f64() * 1000.0,
            memory,
            tally,
            reconciles: reconciles.map_or(0.0, |histogram| histogram.count),
        })
    }

    /// Deletes all, and looks for what is left behind.
    async fn delete(&mut self, names: &[String]) -> anyhow::Result<Deletion> {
        self.cluster.audit.take()?;
        let processor = self.process.processor_time()?;
        let started = Instant::now();
        load::delete(&self.cluster.client, names).await?;
        until("all Applications to be gone", PATIENCE, async || {
            (self.sight.applications() == 0).then_some(())
        })
        .await
        .with_context(|| self.process.last_words())?;
        let applications = started.elapsed();
        // What never goes is a figure, not an error.
        let _ = self.all_gone().await;
        let gone = started.elapsed();
        let left = leftovers(&self.cluster.client).await?;
        let tally = self.cluster.audit.take_when_quiet(Duration::from_mins(1)).await?;
        let processor = self.process.processor_time()?.saturating_sub(processor);
        Ok(Deletion { applications, gone, left, tally, processor })
    }

    async fn all_gone(&self) -> anyhow::Result<()> {
        until("everything to be gone", Duration::from_mins(5), async || {
            leftovers(&self.cluster.client).await.ok()?.is_empty().then_some(())
        })
        .await
    }

    /// Many more Applications, without pods: what they cost in memory.
    async fn large(&mut self, count: usize) -> anyhow::Result<Large> {
        let names = load::names("large", count);
        let work = self.work(&names, async |client| load::create(client, &names, 0).await).await?;
        let idle = self.idle(Duration::from_secs(30)).await?;
        self.say(&format!("created {count} without pods in {:.1?}", work.converged));
        Ok(Large { work, idle })
    }
}

/// What is in the namespace of the measurement that an Application, or what it made, could have left.
async fn leftovers(client: &Client) -> anyhow::Result<Vec<String>> {
    let mut left = Vec::new();
    let kinds = [
        ("apps", "v1", "Deployment", "deployments"),
        ("apps", "v1", "ReplicaSet", "replicasets"),
        ("", "v1", "Pod", "pods"),
        ("", "v1", "ConfigMap", "configmaps"),
        ("", "v1", "Service", "services"),
        ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
        ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"),
        ("cloudnative.elide.dev", "v1", "Application", "applications"),
    ];
    for (group, version, kind, plural) in kinds {
        let kind = kube::api::GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        let api = Api::<DynamicObject>::namespaced_with(client.clone(), NAMESPACE, &resource);
        let found =
            api.list_metadata(&ListParams::default()).await.with_context(|| format!("listing {plural}"))?;
        // Every namespace has this one.
        let found = found.items.iter().filter(|object| object.name_any() != "kube-root-ca.crt");
        left.extend(found.map(|object| format!("{plural}/{}", object.name_any())));
    }
    Ok(left)
}
