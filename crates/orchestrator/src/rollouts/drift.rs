//! Drift: what of a release is not as it was released any more. It is shown everywhere, and mended where the
//! operator's profile says so: by a deployment of what is there already, through the engine as every other one.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::SignedDuration;
use serde_json::json;
use slipway_domain::access::Actor;
use slipway_domain::audit::AuditEntry;
use slipway_domain::cluster::{Cluster, State};
use slipway_domain::event::{Event, Topic};
use slipway_domain::id::ClusterId;
use slipway_domain::operator::{
    Drift, Drifted, Installation, InstallationState, Manager as Managed, Operator,
};
use slipway_domain::rollout::{Consent, Status, StrategyKind};

use super::uninstall::subject;
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::page::Window;
use crate::ports::fleet::FleetError;
use crate::ports::store::{OperatorWrite, Rollout, RolloutFilter};

/// Who mends.
const MENDER: &str = "drift";

/// How often a release is compared with what was released.
pub const DRIFT_EVERY: Duration = Duration::from_mins(5);

/// What is back so soon after it was mended is written by somebody else all the time: mending fights.
const AGAIN_AFTER: SignedDuration = SignedDuration::from_hours(1);

/// What could not be mended is left for so long.
const GIVEN_UP_FOR: SignedDuration = SignedDuration::from_hours(24);

/// Which releases are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that were not looked at for a while.
    Due,
    /// All.
    All,
}

/// Whether a rollout mends: it brings what is there already.
pub(super) fn mends(rollout: &Rollout) -> bool {
    rollout.starter.person.is_none() && rollout.starter.name == Actor::system(MENDER).name
}

impl Manager {
    /// Compares the releases of a cluster with what was released there. A release that a rollout holds is left
    /// alone: it is being changed.
    pub(crate) async fn look_for_drift(&self, cluster: ClusterId, which: Which) -> Result<(), Error> {
        let Some(cluster) = self.store().cluster(cluster).await? else { return Ok(()) };
        if cluster.state != State::Enabled {
            return Ok(());
        }
        let installations = self.store().installations(Some(cluster.id), None).await?;
        let operators: BTreeSet<_> = installations.iter().filter_map(|one| one.operator_id).collect();
        for id in operators {
            let newest = installations
                .iter()
                .filter(|one| one.operator_id == Some(id))
                .filter(|one| one.seen.state != InstallationState::Uninstalled)
                .max_by_key(|one| one.seen.deployed_at);
            let Some(there) = newest.filter(|there| self.is_compared(there, which)) else { continue };
            if !self.store().reservations(id, &[cluster.id]).await?.is_empty() {
                continue;
            }
            let Some(operator) = self.store().operator(id).await? else { continue };
            self.compare_release(&cluster, &operator, there).await?;
        }
        Ok(())
    }

    fn is_compared(&self, there: &Installation, which: Which) -> bool {
        let every = SignedDuration::try_from(DRIFT_EVERY).unwrap_or(SignedDuration::MAX);
        let due = there.drift_checked_at.is_none_or(|at| self.now().duration_since(at) >= every);
        there.seen.managed_by == Managed::Slipway
            && there.seen.state == InstallationState::Deployed
            && (due || which == Which::All)
    }

    async fn compare_release(
        &self,
        cluster: &Cluster,
        operator: &Operator,
        there: &Installation,
    ) -> Result<(), Error> {
        let subject = subject(cluster, operator, there)?;
        let objects = match self.parts.fleet.drift(&subject).await {
            Ok(Some(objects)) => objects,
            Ok(None) => return Ok(()),
            // Its own health says so already; here it is only tried again.
            Err(error @ (FleetError::Unreachable(_) | FleetError::Refused(_))) => {
                tracing::debug!(%error, cluster = %cluster.name, operator = %operator.name, "drift cannot be seen");
                return Ok(());
            }
        };
        let drift = self.noted(cluster, operator, there, objects).await?;
        if let Some(drift) = drift
            && operator.effective_profile().drift.mend
        {
            self.mend(cluster, operator, there, &drift).await?;
        }
        Ok(())
    }

    /// Writes down what differs, and tells of it where that is new.
    async fn noted(
        &self,
        cluster: &Cluster,
        operator: &Operator,
        there: &Installation,
        objects: Vec<Drifted>,
    ) -> Result<Option<Drift>, Error> {
        let at = self.now();
        let since = there.drift.as_ref().map_or(at, |before| before.since);
        let drift = (!objects.is_empty()).then_some(Drift { since, objects });
        let mut changes = Changeset::new().write(OperatorWrite::Drift {
            cluster: cluster.id,
            namespace: there.seen.namespace.clone(),
            release: there.seen.release.clone(),
            revision: there.seen.revision,
            drift: drift.clone().map(Box::new),
            at,
        });
        if drift.as_ref().map(|drift| &drift.objects) != there.drift.as_ref().map(|before| &before.objects) {
            let (kind, action, words) = match &drift {
                Some(drift) => (
                    "operatorDrifted",
                    "operator.drift",
                    format!("is not as it was released: {}", drift.sentence()),
                ),
                None => ("operatorMended", "operator.mended", "is as it was released again".to_owned()),
            };
            let message = format!("{} on {} {words}", operator.name, cluster.name);
            let resource = format!("operator/{}", operator.name);
            changes = changes
                .audit(AuditEntry::done(&Actor::system(MENDER), action, resource, message))
                .tell(Event {
                    topic: Topic::Cluster,
                    subject: cluster.name.to_string(),
                    kind: kind.to_owned(),
                    data: json!({ "operator": operator.name, "drift": drift }),
                });
        }
        self.store().commit(changes).await?;
        Ok(drift)
    }

    /// Rolls out what is there once more, if that is what was rolled out there last.
    async fn mend(
        &self,
        cluster: &Cluster,
        operator: &Operator,
        there: &Installation,
        drift: &Drift,
    ) -> Result<(), Error> {
        let filter = RolloutFilter {
            operator: Some(operator.name.to_string()),
            cluster: Some(cluster.name.to_string()),
            ..RolloutFilter::default()
        };
        let all = self.store().rollouts(&filter, Window { limit: Window::MOST, offset: 0 }).await?.items;
        let not = |why: &str| {
            tracing::info!(cluster = %cluster.name, operator = %operator.name, why, "drift is not mended");
        };
        let Some(last) = all.iter().find(|rollout| !mends(rollout)) else {
            not("it was not rolled out by this manager");
            return Ok(());
        };
        if last.state.status != Status::Completed
            || last.state.spec.version.to_string() != there.seen.version
            || last.state.spec.settings.strategy.kind() == StrategyKind::BlueGreen
        {
            not("what is there is not what the last deployment brought, or is one of two colours");
            return Ok(());
        }
        let now = self.store().time().await?;
        let since = |rollout: &Rollout| now.duration_since(rollout.created_at);
        if let Some(before) = all.iter().find(|rollout| mends(rollout)) {
            let mended = before.state.status == Status::Completed;
            let rest = if mended { AGAIN_AFTER } else { GIVEN_UP_FOR };
            if since(before) < rest {
                not("it was tried a short while ago");
                return Ok(());
            }
        }
        let request = json!({
            "operatorName": operator.name, "targetVersion": there.seen.version,
            "targetClusters": [cluster.name], "strategy": "Direct", "autoRollbackEnabled": false,
        });
        match self.start_rollout(&Actor::system(MENDER), &request).await {
            Ok(rollout) => {
                tracing::info!(
                    cluster = %cluster.name, operator = %operator.name, rollout = %rollout.id,
                    what = %drift.sentence(), "drift is being mended"
                );
                Ok(())
            }
            // Somebody else is at it, or enough is under way; the next look comes.
            Err(error) if matches!(error.code, Code::Unavailable | Code::InternalError) => Err(error),
            Err(error) => {
                not(&error.to_string());
                Ok(())
            }
        }
    }

    /// What is said about the plan of a rollout that mends: people agreed to it when it was rolled out. Nothing
    /// for every other rollout.
    pub(super) async fn mending_consent(&self, rollout: &Rollout) -> Result<Option<Consent>, Error> {
        if !mends(rollout) {
            return Ok(None);
        }
        for (name, state) in &rollout.state.clusters {
            // What mended before brought the same.
            let earlier = self.store().completed_before(rollout.operator, name, rollout.id).await?;
            let earlier = match earlier {
                Some(earlier) => self.store().rollout(earlier).await?,
                None => None,
            };
            let fit = earlier.as_ref().and_then(|earlier| earlier.state.clusters.get(name)?.fit.as_ref());
            let digest = fit.map(|fit| fit.digest.clone());
            let now = state.fit.as_ref().map(|fit| fit.digest.clone());
            if digest.is_none() || digest != now {
                return Ok(Some(Consent::Rejected {
                    reason: format!(
                        "what would be released on {name} now is not what was released there: its values, its chart or what it renders changed since; deploy it"
                    ),
                }));
            }
        }
        Ok(Some(Consent::Granted))
    }
}
