//! Handing over from one release to another beside it, and back, without helm; and taking one of the two away.
//!
//! Every part sets something to what it has to be, so the same switch twice equals once.

mod registrations;

use std::time::{Duration, Instant};

use serde_json::Value;
use slipway_domain::profile::Handover;
use slipway_domain::rollout::{Found, Outcome};
use slipway_orchestrator::ports::fleet::{Act, Acted, Beside};
use slipway_orchestrator::ports::probes::ReleaseAt;

use super::api::Api;
use super::attempt::Attempt;
use super::fault::Fault;
use super::lease::{self, SharedLease};
use super::object::{annotation, read_all};
use super::site::Site;
use super::workloads::{Kind, Workload};
use super::{colours, conversion, revisions, uninstall};

use registrations::{HEARD, Registrations};

/// How often what comes or goes is looked at.
const PAUSE: Duration = Duration::from_millis(250);

/// One of the two releases.
struct Colour<'a> {
    release: &'a ReleaseAt,
    /// Its workloads, and how many pods each wants when it is at work.
    workloads: Vec<(Workload, i32)>,
    registrations: Registrations,
    /// The group that its pods elect as; none where they have none.
    group: Option<&'static str>,
}

impl<'a> Colour<'a> {
    async fn read(api: &Api, act: &Act, release: &'a ReleaseAt) -> Result<Self, Fault> {
        let records = revisions::list(api, release).await?;
        let newest = records.last().ok_or_else(|| {
            Fault::Failed(format!("there is no release {}/{}", release.namespace, release.name))
        })?;
        let stored = revisions::read(api, release, newest).await?;
        let manifest = stored.get("manifest").and_then(Value::as_str).unwrap_or_default();
        let objects = read_all(manifest).map_err(|why| {
            Fault::Failed(format!("the manifest of {} cannot be read: {why}", newest.secret))
        })?;
        let mut workloads = Vec::new();
        for workload in Workload::of(&objects, &release.namespace) {
            let kept =
                act.snapshot.as_ref().and_then(|snapshot| snapshot.replicas.get(&workload.to_string()));
            let object = objects
                .iter()
                .find(|it| Workload::of(&[(*it).clone()], &release.namespace) == [workload.clone()]);
            let noted = object.and_then(|it| annotation(it, colours::REPLICAS)?.parse().ok());
            let written = object.and_then(|it| it.pointer("/spec/replicas")?.as_i64());
            let written = written.and_then(|count| i32::try_from(count).ok());
            let wanted = kept.copied().or(noted).or(written).unwrap_or(1);
            workloads.push((workload, wanted));
        }
        let values = stored.get("config").and_then(Value::as_object);
        let group = values.and_then(|values| lease::group(&act.subject.profile, values));
        Ok(Self { release, workloads, registrations: Registrations::of(&objects), group })
    }

    /// Lets it answer and convert instead of the other, which still does so meanwhile where it is done gently.
    async fn answer(&self, api: &Api, instead_of: &Colour<'_>, gently: bool) -> Result<(), Fault> {
        let injected = instead_of.registrations.are_injected(api).await?;
        self.registrations.put(api, injected, gently).await?;
        let bundles = self.registrations.bundles(api).await?;
        conversion::hand_over(api, instead_of.release, self.release, &bundles).await?;
        instead_of.registrations.clear(api).await
    }

    /// Waits until one of its pods leads.
    async fn lead(&self, api: &Api, lease: &SharedLease) -> Result<(), Fault> {
        let begun = Instant::now();
        loop {
            let mut pods = Vec::new();
            for (workload, _) in &self.workloads {
                pods.extend(workload.pod_names(api).await?);
            }
            if lease.is_taken(api, &pods, &self.release.name, begun).await? {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn rest(&self, api: &Api) -> Result<(), Fault> {
        for (workload, _) in &self.workloads {
            workload.scale(api, 0).await?;
        }
        for (workload, _) in &self.workloads {
            while !workload.is_empty(api).await? {
                self.wait(api, &format!("pods of {workload} do not end")).await?;
            }
        }
        Ok(())
    }

    async fn work(&self, api: &Api) -> Result<(), Fault> {
        for (workload, wanted) in &self.workloads {
            let live = workload.replicas(api).await?;
            // One that has pods is left as it is: somebody, or an autoscaler, may have chosen the number.
            if workload.kind == Kind::DaemonSet || live == Some(0) {
                workload.scale(api, *wanted).await?;
            }
        }
        for (workload, _) in &self.workloads {
            while !workload.is_ready(api).await? {
                self.wait(api, &format!("{workload} does not become ready")).await?;
            }
        }
        Ok(())
    }

    async fn wait(&self, api: &Api, what: &str) -> Result<(), Fault> {
        if api.left() < 4 * PAUSE {
            return Err(Fault::Failed(format!(
                "{what} (release {}/{})",
                self.release.namespace, self.release.name
            )));
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }
}

fn beside(act: &Act) -> Result<&Beside, Fault> {
    let beside = act.subject.placement.beside.as_ref();
    beside.ok_or_else(|| Fault::Failed("there is no second release to switch to".to_owned()))
}

/// Hands over to the second release.
pub(super) async fn forth(site: &Site, act: &Act) -> Result<Acted, Fault> {
    let api = Api::of_act(site.client.clone(), act);
    let blue = Colour::read(&api, act, &act.subject.placement.release).await?;
    let green = Colour::read(&api, act, &beside(act)?.release).await?;
    hand_over(&api, act, &blue, &green).await
}

/// Hands back to the first one.
pub(super) async fn back(site: &Site, act: &Act) -> Result<Acted, Fault> {
    let api = Api::of_act(site.client.clone(), act);
    let blue = Colour::read(&api, act, &act.subject.placement.release).await?;
    let green = &beside(act)?.release;
    if revisions::newest(&api, green).await?.is_none() {
        // It never came; the first one only has to be at work.
        blue.work(&api).await?;
        blue.registrations.put(&api, false, false).await?;
        return Ok(Outcome::Done(Found::Nothing).into());
    }
    let green = Colour::read(&api, act, green).await?;
    hand_over(&api, act, &green, &blue).await
}

async fn hand_over(api: &Api, act: &Act, from: &Colour<'_>, to: &Colour<'_>) -> Result<Acted, Fault> {
    let begun = Instant::now();
    match act.subject.profile.handover {
        Handover::Standby => {
            // Both run; whoever asks is answered by one of them at every moment.
            to.work(api).await?;
            to.answer(api, from, true).await?;
            tokio::time::sleep(HEARD.min(api.left())).await;
            let lease = SharedLease::of(&act.subject);
            if let Some(lease) = &lease {
                lease.prefer(api, to.group).await?;
            }
            from.rest(api).await?;
            if let Some(lease) = &lease {
                to.lead(api, lease).await?;
            }
            Ok(Outcome::Done(Found::Nothing).into())
        }
        Handover::Cold => {
            from.rest(api).await?;
            to.work(api).await?;
            to.answer(api, from, false).await?;
            let text = format!(
                "handed over from {} to {}; nothing was reconciled for {:.1} s",
                from.release.name,
                to.release.name,
                begun.elapsed().as_secs_f64()
            );
            Ok(Outcome::Done(Found::Noted(text)).into())
        }
    }
}

/// Lets the second release rest, where there is one, so that the first can be at work.
pub(super) async fn quiet(api: &Api, act: &Act) -> Result<(), Fault> {
    let Some(beside) = &act.subject.placement.beside else { return Ok(()) };
    if revisions::newest(api, &beside.release).await?.is_none() {
        return Ok(());
    }
    let green = Colour::read(api, act, &beside.release).await?;
    green.registrations.clear(api).await?;
    green.rest(api).await
}

/// Lets the first release convert and lead again, where it was made anew beside the second.
pub(super) async fn reclaim(api: &Api, act: &Act) -> Result<(), Fault> {
    let (Some(beside), release) = (&act.subject.placement.beside, &act.subject.placement.release) else {
        return Ok(());
    };
    let blue = Colour::read(api, act, release).await?;
    let bundles = blue.registrations.bundles(api).await?;
    conversion::hand_over(api, &beside.release, release, &bundles).await?;
    if let Some(lease) = SharedLease::of(&act.subject) {
        lease.prefer(api, blue.group).await?;
    }
    Ok(())
}

/// Takes the second release away.
pub(super) async fn remove_green(site: &Site, act: &Act) -> Result<Acted, Fault> {
    remove(site, act, &beside(act)?.release).await
}

/// Takes the first release away.
pub(super) async fn retire_blue(site: &Site, act: &Act) -> Result<Acted, Fault> {
    beside(act)?;
    remove(site, act, &act.subject.placement.release).await
}

async fn remove(site: &Site, act: &Act, release: &ReleaseAt) -> Result<Acted, Fault> {
    let api = Api::of_act(site.client.clone(), act);
    let attempt = Attempt::of(act);
    // Another server may be at it: what it does is the same, and uninstalling twice equals once.
    let cluster = site.lend(&attempt.secret).await?;
    let removed = uninstall::remove(site, &api, release, cluster).await;
    if let Err(fault) = site.take_back(&attempt.secret).await {
        tracing::warn!(%fault, secret = attempt.secret, "the credential of an attempt could not be ended");
    }
    removed?;
    Ok(Outcome::Done(Found::Nothing).into())
}
