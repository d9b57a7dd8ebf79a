//! Looking at a cluster for a rollout: which revision is there, and how it is.

use std::time::Duration;

use jiff::Timestamp;
use slipway_domain::health::{Check, judge};
use slipway_domain::name::Name;
use slipway_domain::profile::Handover;
use slipway_domain::rollout::{Before, Observation, Revision, Runs, Seen, Stage};

use super::subject::looks_at_first;
use crate::error::Error;
use crate::health::rules;
use crate::manager::Manager;
use crate::ports::fleet::{Definitions, FleetError, Subject};
use crate::ports::probes::{Freshness, Manner, Target};
use crate::ports::store::{Place, Rollout};

/// How long a look may take.
const WITHIN: Duration = Duration::from_secs(20);

impl Manager {
    pub(super) async fn look_for_rollout(
        &self,
        rollout: &Rollout,
        cluster: &Name,
        now: Timestamp,
    ) -> Result<Observation, Error> {
        let mut subject = self.subject(rollout, cluster).await?;
        let state = rollout.state.clusters.get(cluster);
        let stage = state.map_or(Stage::Waiting, |state| state.stage);
        if looks_at_first(stage) {
            subject.placement.beside = None;
        }
        let standing = match self.parts.fleet.standing(&subject).await {
            Ok(standing) => standing,
            Err(FleetError::Unreachable(why)) => {
                return Ok(Observation { at: now, revision: None, health: Seen::Unreachable, text: why });
            }
            Err(error) => {
                return Ok(undecided(now, None, error.to_string()));
            }
        };
        let revision = standing.revision;
        let idle =
            state.is_some_and(|state| runs_nothing(&subject, stage, state.runs, state.before.as_ref()));
        if let (true, Ok(())) = (idle, &standing.arrived) {
            let text = "it is there, and runs nothing yet".to_owned();
            return Ok(Observation { at: now, revision, health: Seen::Passed, text });
        }
        let (check, crashing, text) = self.look_at_health(&subject, now).await?;
        let health = match (check, &standing.arrived) {
            (Check::Passed, Ok(())) => Seen::Passed,
            (Check::Failed, Ok(())) => Seen::Failed,
            // Not every pod is there yet; one that crashes again and again is of the new revision.
            (Check::Failed, Err(_)) if crashing => Seen::Failed,
            (_, Err(missing)) => return Ok(undecided(now, revision, missing.clone())),
            (Check::Undecided, Ok(())) => Seen::Undecided,
        };
        if health != Seen::Passed || looks_at_first(stage) {
            return Ok(Observation { at: now, revision, health, text });
        }
        match self.definitions_of(rollout, cluster, &subject).await? {
            Ok(Definitions { broken, .. }) if !broken.is_empty() => {
                Ok(Observation { at: now, revision, health: Seen::Failed, text: broken.join("; ") })
            }
            Ok(Definitions { changed, .. }) => {
                let text = [vec![text], changed].concat().join("; ");
                Ok(Observation { at: now, revision, health, text })
            }
            Err(why) => Ok(undecided(now, revision, why)),
        }
    }

    /// What became of CRDs since they were applied there, or why that cannot be told.
    async fn definitions_of(
        &self,
        rollout: &Rollout,
        cluster: &Name,
        subject: &Subject,
    ) -> Result<Result<Definitions, String>, Error> {
        let Some(snapshot) = self.snapshot(rollout.id, cluster).await? else {
            return Ok(Ok(Definitions::default()));
        };
        let found = self.parts.fleet.definitions(subject, &snapshot).await;
        Ok(found.map_err(|error| format!("CRDs cannot be read again: {error}")))
    }

    /// What a look at the operator says beyond what was broken before, whether pods crash, and a sentence.
    async fn look_at_health(
        &self,
        subject: &Subject,
        now: Timestamp,
    ) -> Result<(Check, bool, String), Error> {
        let placement = &subject.placement;
        let release = placement.beside.as_ref().map_or(&placement.release, |beside| &beside.release);
        let place = Place { cluster: placement.cluster, operator: subject.operator };
        let record = self.health_record(place).await?;
        let target = Target {
            cluster: placement.cluster,
            cluster_name: subject.cluster.to_string(),
            operator_name: subject.operator_name.to_string(),
            releases: vec![release.clone()],
            crds: subject.crds.clone(),
            rules: rules::of(&subject.profile),
        };
        let manner = Manner { at: now, freshness: Freshness::Now, within: WITHIN, smoke: false };
        let seen = self.parts.probes.look(&target, manner).await;
        let baseline = self.store().health_baseline(place).await?;
        let health = judge(&seen, &record.memory, baseline.as_ref(), &target.rules, Duration::ZERO);
        let (_, check) = health.beyond_baseline();
        let text = match (check, health.headline()) {
            (Check::Passed, _) => {
                format!("{} of {} pods ready", health.pods.ready, health.pods.expected)
            }
            (_, Some(text)) => text.to_owned(),
            (_, None) => "nothing can be said yet".to_owned(),
        };
        Ok((check, health.pods.crash_looping > 0, text))
    }
}

/// Whether nothing is meant to run there now: a first install that was taken back, or a cold green that waits.
fn runs_nothing(subject: &Subject, stage: Stage, runs: Runs, before: Option<&Before>) -> bool {
    let first_install = before.is_some_and(|before| before.version.is_none());
    if looks_at_first(stage) {
        return first_install;
    }
    let cold = subject.placement.beside.is_some() && subject.profile.handover == Handover::Cold;
    cold && runs == Runs::Before
}

fn undecided(at: Timestamp, revision: Option<Revision>, text: String) -> Observation {
    Observation { at, revision, health: Seen::Undecided, text }
}
