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
use super::{generated, keep, render};

/// Does the step.
pub(super) async fn run(site: &Site, act: &Act) -> Result<Acted, Fault> {
    let api = Api::of_act(site.client.clone(), act);
    let release = made(&act.subject);
    if let Before::Over(outcome) = attempt::look(site, &api.patient(), act, release).await? {
        return Ok(outcome.into());
    }
    let rendered = render::render(site, &act.subject).await?;
    if act.digest.as_ref().is_some_and(|digest| *digest != rendered.digest) {
        return Err(Fault::Hiccup(
            "the plan changed: what the chart renders on this cluster is not what was judged any more"
                .to_owned(),
        ));
    }
    keep::crds(&api, release).await?;
    let chart = generated::of_rendered(&act.subject, &rendered)?;
    let change = Change { chart, values: &rendered.given, hooks: true, force: false };
    Ok(change.run(site, &api, act, release).await?.into())
}

/// A change of a release with helm.
pub(super) struct Change<'a> {
    /// The packed chart.
    pub(super) chart: Vec<u8>,
    /// The values that helm keeps.
    pub(super) values: &'a Map<String, Value>,
    /// Whether hooks run.
    pub(super) hooks: bool,
    /// Whether fields of others are taken over.
    pub(super) force: bool,
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
            force_conflicts: self.force,
            deadline: api.left(),
        };
        let ended = site.helm.upgrade(&cluster, upgrade).await;
        let api = api.patient();
        // helm is gone, so this only tidies up; whoever comes next does it otherwise.
        if let Err(fault) = site.take_back(&attempt.secret).await {
            tracing::warn!(%fault, secret = attempt.secret, "the credential of an attempt could not be ended");
        }
        match ended {
            Ok(()) => attempt::made(&api, act, release).await,
            // What was said on the way is more than what the record says.
            Err(error @ HelmError::Failed { .. }) => Ok(Fault::from(error).outcome()),
            Err(error) => Err(error.into()),
        }
    }
}
