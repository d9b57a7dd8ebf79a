//! What a chart makes on one cluster, rendered against it as it is: lookups, capabilities and the revision are
//! live. What is rendered here is judged by preflight and applied by the release, and nothing else is.

mod capabilities;
mod parse;

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use slipway_helm::{Capabilities, LiveTemplate, Moving};
use slipway_orchestrator::ports::fleet::Subject;

use super::api::Api;
use super::digest::Plan;
use super::fault::Fault;
use super::site::{Site, made};
use super::{bundles, colours, replicas, revisions, values};

pub(crate) use parse::{documents, is_crd};

/// How long one rendering may take.
const DEADLINE: Duration = Duration::from_mins(1);

/// What a chart makes on one cluster.
pub(crate) struct Rendered {
    /// The objects that helm will apply, without hooks and CRDs, in the order of the chart.
    pub(crate) manifests: Vec<Manifest>,
    /// The hooks, tests included.
    pub(crate) hooks: Vec<Manifest>,
    /// The CRDs, from `crds/` and from templates. helm never gets them.
    pub(crate) crds: Vec<RenderedCrd>,
    /// What the chart tells people.
    pub(crate) notes: Option<String>,
    /// The values that it was rendered with, secrets filled in: for checking, never for showing or keeping.
    pub(crate) values: Map<String, Value>,
    /// The same with references in place of secrets: what helm keeps.
    pub(crate) given: Map<String, Value>,
    /// Of all of it, without what differs from one rendering to the next (random values, the revision): the
    /// digest of the plan. A preflight has exactly this one.
    pub(crate) digest: String,
}

/// One object.
#[derive(Debug, Clone)]
pub(crate) struct Manifest {
    /// As it goes to helm.
    pub(crate) text: String,
    /// The same, read.
    pub(crate) value: Value,
}

/// A CRD of a chart.
#[derive(Debug, Clone)]
pub(crate) struct RenderedCrd {
    /// The definition, `caBundle`s as the chart has them.
    pub(crate) value: Value,
}

/// Renders the chart of a subject for its cluster, with the values of all its layers.
pub(crate) async fn render(site: &Site, subject: &Subject) -> Result<Rendered, Fault> {
    let api = Api::new(site.client.clone(), subject.cluster.as_str(), Instant::now() + 3 * DEADLINE);
    let given = values::merged(subject);
    let filled = values::filled(&api, subject, &given).await?;
    let newest = revisions::newest(&api, made(subject)).await?;
    let revision = newest.map_or(1, |record| record.number.saturating_add(1));
    let mut capabilities = capabilities::of(&site.client).await?;
    let once = Once { site, subject, values: &filled };
    let mut first = once.render(&capabilities, revision).await?;
    // The chart's own CRDs will be there by the time it is released, and charts ask for that.
    if capabilities::add(&mut capabilities, first.parts.crds.iter().map(|crd| &crd.value)) {
        first = once.render(&capabilities, revision).await?;
    }
    let second = match first.moving {
        Moving::Never => None,
        Moving::Perhaps => Some(once.render(&capabilities, revision.saturating_add(1)).await?.parts),
    };
    let Drawn { mut parts, notes, .. } = first;
    for manifest in &mut parts.manifests {
        let mut changed = bundles::settle(&api, site.helm.major(), &mut manifest.value).await?;
        changed |= colours::prepare(subject, &mut manifest.value);
        if changed {
            manifest.text = manifest.value.to_string();
        }
    }
    let digest = digest(subject, &given, &parts, second.as_ref());
    let parse::Parts { mut manifests, hooks, crds } = parts;
    // After the digest: how many pods an autoscaler wants at this moment is no part of a plan.
    let mut values: Vec<Value> = manifests.iter().map(|manifest| manifest.value.clone()).collect();
    for at in replicas::carry_over(&api, &made(subject).namespace, &mut values).await? {
        manifests[at] = Manifest { text: values[at].to_string(), value: values[at].clone() };
    }
    Ok(Rendered { manifests, hooks, crds, notes, values: filled, given, digest })
}

/// One rendering.
struct Once<'a> {
    site: &'a Site,
    subject: &'a Subject,
    values: &'a Map<String, Value>,
}

struct Drawn {
    parts: parse::Parts,
    notes: Option<String>,
    moving: Moving,
}

impl Once<'_> {
    async fn render(&self, capabilities: &Capabilities, revision: u32) -> Result<Drawn, Fault> {
        let Self { site, subject, values } = *self;
        let release = made(subject);
        let template = LiveTemplate {
            archive: &subject.archive.bytes,
            chart: &subject.chart,
            release: &release.name,
            namespace: &release.namespace,
            values,
            // As it was when the rollout began: a first attempt that failed does not change what is meant.
            upgrade: subject.placement.installed && subject.placement.beside.is_none(),
            revision,
            capabilities,
            deadline: DEADLINE,
        };
        let live = site.helm.live_template(&site.kubeconfig().await?, template).await?;
        let (text, notes, moving) = (live.text, live.notes, live.moving);
        let parts = tokio::task::spawn_blocking(move || parse::parts(&text));
        let parts = parts.await.map_err(|_| Fault::Hiccup("reading the chart was broken off".to_owned()))?;
        let parts = parts.map_err(|why| Fault::Failed(format!("what the chart renders is wrong: {why}")))?;
        Ok(Drawn { parts, notes, moving })
    }
}

fn digest(
    subject: &Subject,
    given: &Map<String, Value>,
    parts: &parse::Parts,
    second: Option<&parse::Parts>,
) -> String {
    let mut plan = Plan::default();
    let release = made(subject);
    plan.fact("chart", &json!(subject.archive.digest));
    plan.fact("release", &json!([release.namespace, release.name]));
    plan.fact("values", &Value::Object(given.clone()));
    let of = |manifests: &[Manifest]| manifests.iter().map(|it| it.value.clone()).collect::<Vec<_>>();
    let all = |parts: &parse::Parts| {
        let crds = parts.crds.iter().map(|crd| crd.value.clone()).collect();
        [("manifest", of(&parts.manifests)), ("hook", of(&parts.hooks)), ("crd", crds)]
    };
    let again = second.map(all);
    for (at, (name, objects)) in all(parts).iter().enumerate() {
        let objects: Vec<&Value> = objects.iter().collect();
        let again: Option<Vec<&Value>> = again.as_ref().map(|again| again[at].1.iter().collect());
        plan.objects(name, &objects, again.as_deref());
    }
    plan.digest()
}
