//! The world of the engine in a server: the manager's people, settings and clusters.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::access::Actor;
use slipway_domain::document::Kind;
use slipway_domain::name::Name;
use slipway_domain::operator::{InstallationState, Manager as Managed, Seen as Found};
use slipway_domain::rollout::{
    Consent, Decision, Gate, Measurement, Observation, Outcome, Phase, Revision, Status, StepKind,
};
use slipway_domain::settings::{Setting, Window};

use super::world::World;
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::operators::discovery;
use crate::ports::StoreError;
use crate::ports::fleet::{Act, Acted, FleetError};
use crate::ports::store::{HealthWrite, OperatorWrite, Place, Rollout, RolloutWrite, StepRow};

#[async_trait]
impl World for Manager {
    async fn windows(&self) -> Result<Vec<(String, Window)>, Error> {
        let stored = self.store().settings(Some(Kind::Window)).await?;
        let windows = stored.into_iter().filter_map(|stored| match stored.setting {
            Setting::Window(window) => Some((stored.name, window)),
            _ => None,
        });
        Ok(windows.collect())
    }

    async fn consent(&self, rollout: &Rollout) -> Result<Consent, Error> {
        self.plan_consent(rollout).await
    }

    async fn tell(
        &self,
        before: &Rollout,
        decision: &Decision,
        changes: Changeset,
    ) -> Result<Changeset, Error> {
        self.rollout_news_of(before, decision, changes).await
    }

    async fn follow_up(&self, before: &Rollout, after: &Rollout) -> Result<(), Error> {
        let ended = after.state.status.is_end() && before.state.status != after.state.status;
        if ended {
            let because = format!("the deployment is {}", after.state.status);
            self.lapse_approvals(&Actor::system("rollouts"), after.id, &because).await?;
            self.metrics.rollout_ended(after);
        }
        if after.state.status == Status::Completed {
            self.note_current_version(after).await?;
        }
        Ok(())
    }

    async fn act(
        &self,
        rollout: &Rollout,
        step: &StepRow,
        now: Timestamp,
        resumed: bool,
    ) -> Result<Acted, Error> {
        let cluster = &step.key.cluster;
        let subject = match self.subject(rollout, cluster).await {
            Ok(subject) => subject,
            // What is ours and passes is tried again; what the chart or its repository says is an outcome.
            Err(error) if matches!(error.code, Code::Unavailable | Code::InternalError) => return Err(error),
            Err(error) => return Ok(Outcome::Hiccup { reason: error.to_string() }.into()),
        };
        if step.key.kind == StepKind::Preflight {
            return Ok(match self.parts.fleet.preflight(&subject, now).await {
                Ok(found) => Acted { outcome: found.outcome(), snapshot: None, preflight: Some(found) },
                Err(FleetError::Unreachable(reason)) => Outcome::Unreachable { reason }.into(),
                Err(error) => Outcome::Hiccup { reason: error.to_string() }.into(),
            });
        }
        let state = rollout.state.clusters.get(cluster);
        let act = Act {
            key: step.key.clone(),
            deadline: step.deadline,
            now,
            resumed,
            digest: state.and_then(|state| state.fit.as_ref()).map(|fit| fit.digest.clone()),
            snapshot: self.snapshot(rollout.id, cluster).await?,
            down_migrate: matches!(&rollout.state.phase, Phase::Back(back) if back.down_migrate),
            subject,
        };
        let mut acted = self.parts.fleet.act(&act).await;
        if step.key.kind == StepKind::Snapshot
            && let Some(snapshot) = &mut acted.snapshot
            && act.subject.placement.installed
        {
            // A baseline that cannot be taken excuses nothing: health is then judged as it is.
            snapshot.baseline = self.baseline_for(rollout, cluster).await;
        }
        Ok(acted)
    }

    async fn acted(
        &self,
        rollout: &Rollout,
        step: &StepRow,
        acted: &Acted,
        changes: Changeset,
    ) -> Result<Changeset, Error> {
        let (id, cluster) = (rollout.id, &step.key.cluster);
        let took = self.now().duration_since(step.intended_at);
        self.metrics.stepped(&step.key, &acted.outcome, Duration::try_from(took).unwrap_or_default());
        let mut changes = changes;
        if let Some(preflight) = &acted.preflight {
            let preflight = Box::new(preflight.clone());
            changes =
                changes.write(RolloutWrite::Preflight { rollout: id, cluster: cluster.clone(), preflight });
        }
        let Some(placement) = rollout.placements.get(cluster) else { return Ok(changes) };
        if let Some(snapshot) = &acted.snapshot {
            if let (StepKind::Snapshot, Some(baseline)) = (step.key.kind, &snapshot.baseline) {
                let place = Place { cluster: placement.cluster, operator: rollout.operator };
                // A baseline belongs to a place that is watched, which one that was installed a moment ago is not yet.
                changes = self
                    .check_soon(changes, place)
                    .write(HealthWrite::Baseline(place, Box::new(baseline.clone())));
            }
            let sealed = self.seal_snapshot(id, cluster, snapshot)?;
            changes =
                changes.write(RolloutWrite::Keep { rollout: id, cluster: cluster.clone(), snapshot: sealed });
        }
        if step.key.kind == StepKind::Release && matches!(acted.outcome, Outcome::Done(_)) {
            changes = self.managed_from_now(rollout, cluster, changes).await?;
        }
        if step.key.kind.changes() {
            // What is installed there is looked up at once, rather than at the next round.
            changes = changes.due(discovery(placement.cluster), self.now());
        }
        Ok(changes)
    }

    async fn look(
        &self,
        rollout: &Rollout,
        cluster: &Name,
        _revision: Option<&Revision>,
        now: Timestamp,
    ) -> Result<Observation, Error> {
        self.look_for_rollout(rollout, cluster, now).await
    }

    async fn measure(&self, gate: &Gate, now: Timestamp) -> Result<Measurement, Error> {
        Ok(self.parts.fleet.measure(gate, now).await)
    }
}

impl Manager {
    async fn baseline_for(
        &self,
        rollout: &Rollout,
        cluster: &Name,
    ) -> Option<slipway_domain::health::Baseline> {
        let (cluster, operator) =
            self.cluster_and_operator(cluster.as_str(), rollout.state.spec.operator.as_str()).await.ok()?;
        match self.look_for_baseline(&cluster, &operator).await {
            Ok(baseline) => Some(baseline),
            Err(error) => {
                tracing::info!(%error, cluster = %cluster.name, "no baseline was taken");
                None
            }
        }
    }

    /// A release that Slipway made or changed is Slipway's from then on.
    async fn managed_from_now(
        &self,
        rollout: &Rollout,
        cluster: &Name,
        changes: Changeset,
    ) -> Result<Changeset, Error> {
        let Some(placement) = rollout.placements.get(cluster) else { return Ok(changes) };
        let at = placement.beside.as_ref().map_or(&placement.release, |beside| &beside.release);
        let known = self.store().installations(Some(placement.cluster), None).await?;
        let here = |seen: &Found| seen.namespace == at.namespace && seen.release == at.name;
        let known = known.into_iter().find(|installation| here(&installation.seen));
        let now = self.now();
        let Some(known) = known else {
            let operator = self.operator_of(rollout).await?;
            let seen = Found {
                namespace: at.namespace.clone(),
                release: at.name.clone(),
                chart: operator.chart.chart.to_string(),
                version: rollout.state.spec.version.to_string(),
                app_version: None,
                revision: 0,
                state: InstallationState::Deployed,
                managed_by: Managed::Slipway,
                manager_reference: None,
                deployed_at: Some(now),
            };
            return Ok(changes.write(OperatorWrite::Seen {
                cluster: placement.cluster,
                operator: Some(rollout.operator),
                seen: Box::new(seen),
                values: None,
                at: now,
            }));
        };
        if known.seen.managed_by != Managed::Helm {
            return Ok(changes);
        }
        Ok(changes.write(OperatorWrite::Adopt {
            cluster: placement.cluster,
            namespace: at.namespace.clone(),
            release: at.name.clone(),
            operator: rollout.operator,
            by: rollout.starter.name.clone(),
            at: now,
        }))
    }

    /// The version that the fleet is meant to be on is the one that was completed last.
    async fn note_current_version(&self, rollout: &Rollout) -> Result<(), Error> {
        let Some(operator) = self.store().operator(rollout.operator).await? else { return Ok(()) };
        let version = &rollout.state.spec.version;
        if operator.current_version.as_ref() == Some(version) || rollout.state.replaced_by.is_some() {
            return Ok(());
        }
        let revision = operator.revision;
        let changed = slipway_domain::operator::Operator {
            current_version: Some(version.clone()),
            updated_at: self.now(),
            revision: revision + 1,
            ..operator
        };
        let write = OperatorWrite::Change { operator: Box::new(changed), revision, credentials: None };
        match self.store().commit(Changeset::new().write(write)).await {
            // Somebody changed it at this moment; the next decision about this rollout comes by here again.
            Ok(()) | Err(StoreError::Stale { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
