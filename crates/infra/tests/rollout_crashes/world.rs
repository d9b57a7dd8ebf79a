//! The world of one case: its clusters, and people who always agree.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::Timestamp;
use slipway_domain::name::Name;
use slipway_domain::rollout::{
    Before, Consent, Decision, Found, Gate, Measurement, Observation, Outcome, Revision, Seen, StepKind,
};
use slipway_domain::settings::Window;
use slipway_infra::postgres::PostgresStore;
use slipway_orchestrator::ports::fleet::Acted;
use slipway_orchestrator::ports::store::{Rollout, RolloutRows as _, RolloutWrite, Sealed, StepRow};
use slipway_orchestrator::rollouts::World;
use slipway_orchestrator::{Changeset, Error};

use crate::case::{Case, Fault, When};
use crate::plans::Plan;
use crate::site::{Credentials, NEW, Site};

/// The world of one case.
pub(crate) struct Clusters {
    pub(crate) store: PostgresStore,
    pub(crate) case: Arc<Case>,
    pub(crate) plan: Plan,
    pub(crate) sites: Mutex<BTreeMap<Name, Site>>,
    pub(crate) credentials: Mutex<Credentials>,
}

impl Clusters {
    /// What was kept of a cluster, as it is in the database.
    async fn kept(&self, rollout: &Rollout, cluster: &Name) -> Option<Before> {
        let sealed = self.store.snapshot(rollout.id, cluster).await.unwrap()?;
        Some(serde_json::from_slice(&sealed.0).unwrap())
    }

    async fn act_once(&self, rollout: &Rollout, step: &StepRow, resumed: bool) -> Outcome {
        let key = &step.key;
        let credential = self.credentials.lock().unwrap().take(key, resumed);
        let Some(credential) = credential else {
            self.case.wrong(format!("{key} was begun by two servers, and the second was not told"));
            return Outcome::Failed { reason: "two at once".to_owned() };
        };
        let kept = self.kept(rollout, &key.cluster).await;
        self.case.at(key.to_string(), When::Begun).await;
        let outcome = {
            let mut sites = self.sites.lock().unwrap();
            if self.credentials.lock().unwrap().holds(key, credential) {
                sites.get_mut(&key.cluster).unwrap().act(key, self.plan.is_beside(), kept.as_ref())
            } else {
                Outcome::Lost { reason: "the credential was revoked".to_owned() }
            }
        };
        self.case.at(key.to_string(), When::Acted).await;
        outcome
    }
}

#[async_trait]
impl World for Clusters {
    async fn windows(&self) -> Result<Vec<(String, Window)>, Error> {
        Ok(Vec::new())
    }

    async fn consent(&self, _rollout: &Rollout) -> Result<Consent, Error> {
        Ok(Consent::Granted)
    }

    async fn tell(&self, _: &Rollout, _: &Decision, changes: Changeset) -> Result<Changeset, Error> {
        Ok(changes)
    }

    async fn act(
        &self,
        rollout: &Rollout,
        step: &StepRow,
        _now: Timestamp,
        resumed: bool,
    ) -> Result<Acted, Error> {
        let mut outcome = self.act_once(rollout, step, resumed).await;
        if self.case.fault == Fault::Twice {
            outcome = self.act_once(rollout, step, true).await;
        }
        Ok(outcome.into())
    }

    async fn acted(
        &self,
        rollout: &Rollout,
        step: &StepRow,
        acted: &Acted,
        changes: Changeset,
    ) -> Result<Changeset, Error> {
        match (step.key.kind, &acted.outcome) {
            (StepKind::Snapshot, Outcome::Done(Found::Kept(before))) => {
                let snapshot = Sealed(serde_json::to_vec(before).unwrap());
                let cluster = step.key.cluster.clone();
                Ok(changes.write(RolloutWrite::Keep { rollout: rollout.id, cluster, snapshot }))
            }
            _ => Ok(changes),
        }
    }

    async fn look(
        &self,
        _rollout: &Rollout,
        cluster: &Name,
        revision: Option<&Revision>,
        now: Timestamp,
    ) -> Result<Observation, Error> {
        let sites = self.sites.lock().unwrap();
        let site = &sites[cluster];
        let green = revision.is_some_and(|revision| revision.0.starts_with("green"));
        let new = site.version(green) == Some(NEW);
        let works = !green || site.switched;
        let health = if new && works && self.plan.fails_on(cluster) { Seen::Failed } else { Seen::Passed };
        Ok(Observation { at: now, revision: site.revision(green), health, text: "seen".to_owned() })
    }

    async fn measure(&self, _gate: &Gate, now: Timestamp) -> Result<Measurement, Error> {
        Ok(Measurement { at: now, health: Seen::Passed, text: "well".to_owned() })
    }
}
