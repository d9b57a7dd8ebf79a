//! People, gates and clusters, as the engine meets them.
//!
//! This is also what the engine expects of those who change clusters. Whoever comes says under which epoch
//! (the step's `begun`), and a cluster refuses whoever comes with an older one than it has seen. An attempt that
//! ended leaves its outcome there; whoever comes under the same key takes that for its own. One that another
//! server may still be at is over when its token was revoked long enough ago, or when its deadline has passed;
//! nothing is reported of it before, not even that the cluster cannot be reached.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use slipway_domain::name::Name;
use slipway_domain::rollout::{
    ActKey, Consent, Decision, Found, Gate, Measurement, Observation, Outcome, Revision, StepKind,
};
use slipway_domain::settings::Window;

use super::cluster::{Cluster, Helm, REVOKED};
use super::site::{Defect, Event, Inner, Site};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::ports::fleet::Acted;
use crate::ports::store::{Rollout, RolloutWrite, Sealed, StepRow};
use crate::rollouts::World;

fn hiccup(reason: &str) -> Outcome {
    Outcome::Hiccup { reason: reason.to_owned() }
}

/// Somebody else was at it, or somebody who is gone: that says nothing about the cluster.
fn gone(reason: &str) -> Outcome {
    Outcome::Lost { reason: reason.to_owned() }
}

fn unreachable() -> Outcome {
    Outcome::Unreachable { reason: "no route to host".to_owned() }
}

/// Somebody is at a cluster. When they go, whatever the reason, the guardian ends their helm.
struct Presence<'a> {
    site: &'a Site,
    cluster: Name,
    run: u64,
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        let Some(mut inner) = self.site.lock_anyway() else { return };
        let cluster = inner.fleet.get_mut(&self.cluster).unwrap();
        cluster.acting.remove(&self.run);
        if cluster.helm.as_ref().is_some_and(|helm| helm.run == self.run) {
            cluster.helm = None;
        }
    }
}

/// One attempt at a step.
struct Attempt<'a> {
    key: &'a ActKey,
    epoch: i64,
    end: Timestamp,
    resumed: bool,
}

impl Site {
    async fn change(&self, presence: &Presence<'_>, attempt: &Attempt<'_>) -> Outcome {
        let name = &attempt.key.cluster;
        loop {
            self.latency(20, 400).await;
            let (away, now) = {
                let inner = self.lock();
                (inner.fleet[name].is_away(inner.now), inner.now)
            };
            if !away {
                break;
            }
            // What another server may still be at is over with its deadline, and not before.
            if !attempt.resumed || now >= attempt.end {
                return unreachable();
            }
            self.sleep(SignedDuration::from_secs(5)).await;
        }
        let wait = {
            let mut inner = self.lock();
            let now = inner.now;
            let cluster = inner.fleet.get_mut(name).unwrap();
            if attempt.epoch < cluster.fence {
                return gone("a newer server was here");
            }
            if attempt.epoch > cluster.fence {
                cluster.fence = attempt.epoch;
                cluster.fenced_at = now;
            }
            if let Some(outcome) = cluster.stamps.get(attempt.key) {
                return outcome.clone();
            }
            let over = if cluster.revokes { now + REVOKED } else { attempt.end.max(now + REVOKED) };
            let half_made = cluster.pending.is_some() || cluster.helm.is_some();
            (attempt.resumed || half_made).then(|| over.duration_since(now))
        };
        if let Some(wait) = wait {
            self.sleep(wait).await;
            let mut inner = self.lock();
            let (now, key) = (inner.now, attempt.key);
            let cluster = inner.fleet.get_mut(name).unwrap();
            if attempt.epoch < cluster.fence {
                return gone("a newer server was here");
            }
            if let Some(outcome) = cluster.stamps.get(key) {
                return outcome.clone();
            }
            // Whatever still runs has no token any more; what it left half-made is cleared away.
            cluster.helm = None;
            cluster.pending = None;
            if now >= attempt.end {
                return gone("the server was lost, and the attempt is over");
            }
        }
        if self.lock().now >= attempt.end {
            return gone("the attempt was over before it began");
        }
        match attempt.key.kind {
            StepKind::Release | StepKind::Restore => self.helm(presence, attempt).await,
            _ => self.calls(attempt).await,
        }
    }

    async fn helm(&self, presence: &Presence<'_>, attempt: &Attempt<'_>) -> Outcome {
        let name = &attempt.key.cluster;
        let wait = {
            let mut inner = self.lock();
            let (now, faults) = (inner.now, inner.faults);
            let slow = inner.chance.per_mille(faults.slow);
            let span = inner.chance.millis(5_000, 25_000) * if slow { 10 } else { 1 };
            let killed = inner.chance.per_mille(faults.killed);
            let span = if killed { span / 2 } else { span };
            let late = now + span > attempt.end;
            let early = match () {
                () if killed && !late => Some(hiccup("helm was killed")),
                () if late && attempt.resumed => Some(gone("the rest of the time was too short")),
                () if late => Some(Outcome::Failed { reason: "helm: the deadline passed".to_owned() }),
                () => None,
            };
            let cluster = inner.fleet.get_mut(name).unwrap();
            if attempt.epoch < cluster.fence {
                return gone("a newer server was here");
            }
            assert!(
                cluster.helm.is_none(),
                "two helms at once on {name}: {:?} and {}",
                cluster.helm,
                attempt.key
            );
            cluster.pending = Some(attempt.key.clone());
            cluster.helm =
                Some(Helm { key: attempt.key.clone(), run: presence.run, epoch: attempt.epoch, early });
            let ends = (now + span).min(attempt.end);
            inner.at(ends, Event::HelmEnds(name.clone(), presence.run));
            ends.duration_since(now)
        };
        self.sleep(wait).await;
        let mut inner = self.lock();
        let said = inner.fleet.get_mut(name).unwrap().ended.remove(&presence.run);
        // Somebody newer cleared it away.
        said.unwrap_or_else(|| gone("helm lost its token"))
    }

    /// A few calls; the cluster is changed by one of them.
    async fn calls(&self, attempt: &Attempt<'_>) -> Outcome {
        self.latency(50, 1_500).await;
        {
            let mut inner = self.lock();
            let now = inner.now;
            let often = inner.faults.hiccups;
            let (fails, lost) = (inner.chance.per_mille(often), inner.chance.per_mille(300));
            let cluster = inner.fleet.get_mut(&attempt.key.cluster).unwrap();
            if attempt.epoch < cluster.fence {
                return gone("a newer server was here");
            }
            let away = cluster.is_away(now);
            if (away || fails) && !lost {
                return if away { unreachable() } else { hiccup("the API server was busy") };
            }
            if attempt.key.kind == StepKind::SwitchBack && cluster.restore_fails > 0 {
                cluster.restore_fails -= 1;
                return Outcome::Failed { reason: "the API server says no".to_owned() };
            }
            let found = inner.effect(attempt.key);
            if away || fails {
                // It was done, and the answer was lost.
                return if away { unreachable() } else { hiccup("the API server was busy") };
            }
            let cluster = inner.fleet.get_mut(&attempt.key.cluster).unwrap();
            cluster.stamps.insert(attempt.key.clone(), Outcome::Done(found));
        }
        self.latency(50, 1_500).await;
        self.lock().fleet[&attempt.key.cluster].stamps[attempt.key].clone()
    }

    /// Preflight and snapshot read only.
    async fn reads(&self, key: &ActKey) -> Outcome {
        self.latency(100, 3_000).await;
        let mut inner = self.lock();
        let (now, often) = (inner.now, inner.faults.hiccups);
        let fails = inner.chance.per_mille(often);
        let cluster = &inner.fleet[&key.cluster];
        match key.kind {
            _ if cluster.is_away(now) => unreachable(),
            _ if fails => hiccup("the API server was busy"),
            StepKind::Snapshot => Outcome::Done(Found::Kept(cluster.before())),
            _ if cluster.refuses => {
                Outcome::Done(Found::Refused { reasons: vec!["Argo CD manages it".to_owned()] })
            }
            _ => {
                let one_way = cluster.one_way.then(|| super::cluster::NEW.parse().unwrap());
                Outcome::Done(Found::Fits { digest: "change".to_owned(), one_way })
            }
        }
    }
}

impl Inner {
    /// Changes a cluster.
    fn effect(&mut self, key: &ActKey) -> Found {
        self.check_effect(key);
        let now = self.now;
        let kept = self.rows.snapshots.get(&key.cluster).map(Vec::as_slice);
        let cluster = self.fleet.get_mut(&key.cluster).unwrap();
        cluster.does(key.kind, now, kept)
    }

    /// helm ends on a cluster, whether its server listens or not.
    pub(super) fn helm_ends(&mut self, name: &Name, run: u64) {
        let now = self.now;
        let often = self.faults.hiccups;
        let (fails, lost) = (self.chance.per_mille(often), self.chance.per_mille(300));
        let cluster = self.fleet.get_mut(name).unwrap();
        if cluster.helm.as_ref().is_none_or(|helm| helm.run != run) {
            return;
        }
        let Some(helm) = cluster.helm.take() else { return };
        let away = cluster.is_away(now);
        let back = helm.key.kind == StepKind::Restore;
        let outcome = if let Some(outcome) = helm.early {
            outcome
        } else if !cluster.trusts(helm.epoch, now) {
            gone("helm lost its token")
        } else if (away || fails) && !lost {
            if away { unreachable() } else { hiccup("helm: the API server was busy") }
        } else if (cluster.helm_fails && !back) || (cluster.restore_fails > 0 && back) {
            cluster.restore_fails = cluster.restore_fails.saturating_sub(u32::from(back));
            cluster.pending = None;
            let outcome = Outcome::Failed { reason: "helm: UPGRADE FAILED".to_owned() };
            cluster.stamps.insert(helm.key.clone(), outcome.clone());
            outcome
        } else {
            cluster.pending = None;
            let done = Outcome::Done(self.effect(&helm.key));
            let cluster = self.fleet.get_mut(name).unwrap();
            cluster.stamps.insert(helm.key.clone(), done.clone());
            match () {
                () if away => unreachable(),
                () if fails => hiccup("helm: the API server was busy"),
                () => done,
            }
        };
        let cluster: &mut Cluster = self.fleet.get_mut(name).unwrap();
        cluster.ended.insert(run, outcome);
    }
}

#[async_trait]
impl World for Site {
    async fn windows(&self) -> Result<Vec<(String, Window)>, Error> {
        self.travel().await?;
        Ok(self.lock().windows.clone())
    }

    async fn consent(&self, rollout: &Rollout) -> Result<Consent, Error> {
        self.travel().await?;
        let mut inner = self.lock();
        let now = inner.database_time();
        let asked = *inner.asked.entry(rollout.state.asks).or_insert(now);
        let (after, consent) = inner.consent.clone();
        let answers = asked + after;
        if now >= answers {
            return Ok(consent);
        }
        Ok(Consent::Pending {
            waits_for: "ada".to_owned(),
            expires_at: asked + SignedDuration::from_hours(4),
        })
    }

    async fn tell(
        &self,
        _before: &Rollout,
        _decision: &Decision,
        changes: Changeset,
    ) -> Result<Changeset, Error> {
        Ok(changes)
    }

    async fn act(
        &self,
        _rollout: &Rollout,
        step: &StepRow,
        now: Timestamp,
        mut resumed: bool,
    ) -> Result<Acted, Error> {
        let (run, end) = {
            let mut inner = self.lock();
            resumed &= inner.defect != Some(Defect::NotResumed);
            inner.check_act(step, resumed);
            if inner.chance.per_mille(2) {
                return Err(Error::new(Code::Unavailable, "the values could not be read"));
            }
            inner.runs += 1;
            let hasty = inner.defect == Some(Defect::Hasty);
            let deadline = if hasty { inner.rows.steps[&step.key].deadline } else { step.deadline };
            let (run, end) = (inner.runs, inner.now + deadline.duration_since(now));
            let cluster = inner.fleet.get_mut(&step.key.cluster).unwrap();
            cluster.acting.insert(run, (step.key.clone(), step.begun.unwrap_or_default()));
            (run, end)
        };
        let presence = Presence { site: self, cluster: step.key.cluster.clone(), run };
        if !step.key.kind.changes() {
            return Ok(self.reads(&step.key).await.into());
        }
        let epoch = step.begun.expect("it was begun under an epoch");
        let attempt = Attempt { key: &step.key, epoch, end, resumed };
        Ok(self.change(&presence, &attempt).await.into())
    }

    async fn acted(
        &self,
        rollout: &Rollout,
        step: &StepRow,
        acted: &Acted,
        changes: Changeset,
    ) -> Result<Changeset, Error> {
        let Outcome::Done(Found::Kept(before)) = &acted.outcome else { return Ok(changes) };
        let version = before.version.as_ref().map(ToString::to_string).unwrap_or_default();
        Ok(changes.write(RolloutWrite::Keep {
            rollout: rollout.id,
            cluster: step.key.cluster.clone(),
            snapshot: Sealed(version.into_bytes()),
        }))
    }

    async fn look(
        &self,
        _rollout: &Rollout,
        cluster: &Name,
        revision: Option<&Revision>,
        now: Timestamp,
    ) -> Result<Observation, Error> {
        self.latency(50, 2_000).await;
        let mut inner = self.lock();
        let often = inner.faults.flaps;
        let flaps = inner.chance.per_mille(often);
        let at = inner.now;
        Ok(inner.fleet[cluster].look(now, at, revision, flaps))
    }

    async fn measure(&self, _gate: &Gate, now: Timestamp) -> Result<Measurement, Error> {
        self.latency(50, 2_000).await;
        Ok(Measurement { at: now, health: self.lock().watch.gate, text: "measured".to_owned() })
    }
}
