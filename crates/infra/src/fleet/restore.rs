//! Going back to the last known good version: a new revision from what was kept of it, so that no repository is
//! needed. A first install is brought to do nothing, and is left for whoever wants to see what was wrong.

use serde_json::Value;
use slipway_domain::profile::Handover;
use slipway_domain::rollout::{Found, Outcome};
use slipway_orchestrator::ports::fleet::{Act, Acted, KeptRelease};
use slipway_orchestrator::ports::probes::ReleaseAt;

use super::api::Api;
use super::attempt::{self, Before};
use super::fault::Fault;
use super::object::{ObjectRef, read_all};
use super::release::Change;
use super::render::is_crd;
use super::site::Site;
use super::snapshot::registration;
use super::workloads::Workload;
use super::{bundles, colours, generated, keep, lease, replicas, revisions, switch};

/// Does the step.
pub(super) async fn run(site: &Site, act: &Act) -> Result<Acted, Fault> {
    let api = Api::of_act(site.client.clone(), act);
    let release = &act.subject.placement.release;
    let kept = act.snapshot.as_ref().and_then(|snapshot| snapshot.release.as_ref());
    let Some(kept) = kept else { return still(&api, release).await };
    if let Before::Over(outcome) = attempt::look(site, &api.patient(), act, release).await? {
        return Ok(outcome.into());
    }
    if let Some(newest) = revisions::newest(&api, release).await?
        && newest.number == kept.revision
        && newest.status == "deployed"
    {
        // helm never came to it.
        return Ok(Outcome::Done(Found::Released(newest.revision(release))).into());
    }
    keep::crds(&api, release).await?;
    lease::before_change(&api, &act.subject, &kept.values).await?;
    let cold = act.subject.profile.handover == Handover::Cold;
    if cold {
        // Two controllers must not work at once.
        switch::quiet(&api, act).await?;
    }
    let chart = chart(site, &api, &release.namespace, kept).await?;
    // Hooks of the old version belong to its own upgrade; they were run then. What others wrote since goes: the
    // last known good version is known as a whole.
    let change = Change { chart, values: &kept.values, hooks: false };
    let outcome = change.run(site, &api, act, release).await?;
    if matches!(outcome, Outcome::Done(_)) {
        lease::after_change(&api, &act.subject, &kept.values).await?;
        switch::reclaim(&api, act).await?;
        if !cold {
            switch::quiet(&api, act).await?;
        }
    }
    Ok(outcome.into())
}

async fn chart(site: &Site, api: &Api, namespace: &str, kept: &KeptRelease) -> Result<Vec<u8>, Fault> {
    let mut objects = Vec::new();
    for mut object in generated::without_crds(&kept.manifest)? {
        // It may have been the second of two releases once.
        colours::awaken(&mut object);
        bundles::settle(api, site.helm.major(), &mut object).await?;
        objects.push(object);
    }
    replicas::carry_over(api, namespace, &mut objects).await?;
    let manifests: Vec<String> = objects.iter().map(Value::to_string).collect();
    generated::of_kept(kept, &manifests)
}

/// Brings a first install to do nothing. It is left where it is; the words say what.
async fn still(api: &Api, release: &ReleaseAt) -> Result<Acted, Fault> {
    let Some(newest) = revisions::newest(api, release).await? else {
        return Ok(noted("nothing was installed, so nothing was taken back".to_owned()));
    };
    let manifest = revisions::manifest(api, release, &newest).await?;
    let objects = read_all(&manifest)
        .map_err(|why| Fault::Failed(format!("the manifest of {} cannot be read: {why}", newest.secret)))?;
    let mut done = Vec::new();
    for workload in Workload::of(&objects, &release.namespace) {
        if workload.scale(api, 0).await? {
            done.push(format!("{workload} scaled to nothing"));
        }
    }
    for object in objects.iter().filter_map(ObjectRef::of) {
        let Some(path) = registration(&object) else { continue };
        if let Some(live) = api.find(&path).await?
            && fails_closed(&live)
        {
            api.delete(&path).await?;
            done.push(format!("{object} removed, since nobody answers it now"));
        }
    }
    if newest.is_pending() {
        // Whoever was at it is gone; a person's helm would refuse to touch it.
        revisions::rewrite(api, release, &newest, |stored| revisions::set_status(stored, "failed")).await?;
    }
    let left = objects.iter().filter(|object| !is_crd(object)).count();
    let done = if done.is_empty() { "nothing ran".to_owned() } else { done.join("; ") };
    Ok(noted(format!(
        "the first install was brought to rest: {done}. Left in place: the release {}/{} with {left} objects, its \
         CRDs and their custom resources; `slipway uninstall` takes the release away",
        release.namespace, release.name
    )))
}

fn noted(text: String) -> Acted {
    Outcome::Done(Found::Noted(text)).into()
}

/// Whether a registration stops requests when nobody answers.
fn fails_closed(registration: &Value) -> bool {
    let webhooks = registration.get("webhooks").and_then(Value::as_array);
    webhooks.into_iter().flatten().any(|webhook| {
        webhook.get("failurePolicy").and_then(Value::as_str).is_none_or(|policy| policy == "Fail")
    })
}
