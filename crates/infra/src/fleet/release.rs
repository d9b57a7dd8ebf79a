//! Running helm: the version comes, in place of the old one or beside it.

use serde_json::{Map, Value};
use slipway_domain::rollout::Outcome;
use slipway_helm::{HelmError, Upgrade};
use slipway_orchestrator::ports::fleet::{Act, Acted};
use slipway_orchestrator::ports::probes::ReleaseAt;

use super::api::Api;
use super::attempt::{self, Attempt, Before, LABEL};
use super::fault::Fault;
use super::site::{Site, made};
use super::{generated, keep, lease, pull, render};

/// Does the step.
pub(super) async fn run(site: &Site, act: &Act) -> Result<Acted, Fault> {
    let api = Api::of_act(site.client.clone(), act);
    let release = made(&act.subject);
    let outcome = match attempt::look(site, &api.patient(), act, release).await? {
        Before::Over(outcome) => outcome,
        Before::Free => change(site, act, &api).await?,
    };
    if matches!(outcome, Outcome::Done(_)) {
        pull::before_switch(&api, act).await?;
    }
    Ok(outcome.into())
}

async fn change(site: &Site, act: &Act, api: &Api) -> Result<Outcome, Fault> {
    let release = made(&act.subject);
    let rendered = render::render(site, &act.subject).await?;
    if act.digest.as_ref().is_some_and(|digest| *digest != rendered.digest) {
        return Err(Fault::Hiccup(
            "the plan changed: what the chart renders on this cluster is not what was judged any more"
                .to_owned(),
        ));
    }
    keep::crds(api, release).await?;
    lease::before_change(api, &act.subject, &rendered.given).await?;
    let chart = generated::of_rendered(&act.subject, &rendered)?;
    let change = Change { chart, values: &rendered.given, hooks: true };
    let outcome = change.run(site, api, act, release).await?;
    if matches!(outcome, Outcome::Done(_)) {
        lease::after_change(api, &act.subject, &rendered.given).await?;
    }
    Ok(outcome)
}

/// A change of a release with helm.
pub(super) struct Change<'a> {
    /// The packed chart.
    pub(super) chart: Vec<u8>,
    /// The values that helm keeps.
    pub(super) values: &'a Map<String, Value>,
    /// Whether hooks run.
    pub(super) hooks: bool,
}

impl Change<'_> {
    /// Does it under the name of an attempt, with a credential that ends with it.
    pub(super) async fn run(
        self,
        site: &Site,
        api: &Api,
        act: &Act,
        release: &ReleaseAt,
    ) -> Result<Outcome, Fault> {
        let attempt = Attempt::of(act);
        let cluster = site.lend(&attempt.secret).await?;
        let upgrade = Upgrade {
            archive: &self.chart,
            release: &release.name,
            namespace: &release.namespace,
            values: self.values,
            description: &attempt.description,
            labels: &[(LABEL, attempt.label.as_str())],
            hooks: self.hooks,
            // What others wrote and shall keep is in the chart as it is, or not at all: every conflict that is left
            // was decided beforehand, and shown by preflight. helm 3 never asks.
            force_conflicts: true,
            deadline: api.left(),
        };
        let ended = site.helm.upgrade(&cluster, upgrade).await;
        let api = api.patient();
        // helm is gone, so this only tidies up; whoever comes next does it otherwise.
        let taken = site.take_back(&attempt.secret).await;
        if let Err(fault) = &taken {
            tracing::warn!(%fault, secret = attempt.secret, "the credential of an attempt could not be ended");
        }
        match (ended, taken) {
            (Ok(()), _) => attempt::made(&api, act, release).await,
            // helm waited for a cluster that went away; what it says of that says nothing about the version.
            (Err(_), Err(away @ Fault::Unreachable(_))) => Err(away),
            // What was said on the way is more than what the record says.
            (Err(error @ HelmError::Failed { .. }), _) => Ok(Fault::from(error).outcome()),
            (Err(error), _) => Err(error.into()),
        }
    }
}
