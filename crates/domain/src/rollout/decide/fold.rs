//! Takes in what was recorded: outcomes of steps, looks at clusters, answers of gates.

use jiff::SignedDuration;

use super::super::cluster::{ClusterState, Fit, Runs, Stage, Watch};
use super::super::facts::Seen;
use super::super::plan::WaveKind;
use super::super::state::{Part, Phase, after};
use super::super::step::{Found, Outcome, Report, Revision, StepKind};
use super::{Deciding, PATIENCE, PROBE};
use crate::name::Name;

/// How often a cluster is tried that went away after it was touched.
const AWAY: SignedDuration = SignedDuration::from_secs(15);

/// So often a step forward may fail in a row in a way that may pass.
const HICCUPS: u32 = 5;

/// So often a step back may fail in a row; going back is tried harder.
const HICCUPS_BACK: u32 = 8;

/// So often whoever is at a step may be lost in a row before it counts against the step: servers may die of it.
const LOST: u32 = 10;

impl Deciding<'_> {
    pub(super) fn fold(&mut self) {
        for report in &self.facts.reports {
            self.report(report);
        }
        self.observations();
        let interval = self.state.spec.settings.strategy.interval();
        if let Phase::Wave { part: Part::Soaking { .. }, .. } = self.state.phase {
            for (name, seen) in &self.facts.measurements {
                // An answer from before this soak says nothing about it.
                if seen.at >= self.state.since {
                    let watch = self.state.gates.entry(name.clone()).or_default();
                    watch.take(seen.at.min(self.now), seen.health, &seen.text, interval);
                }
            }
        }
    }

    fn observations(&mut self) {
        let (now, interval) = (self.now, self.state.spec.settings.strategy.interval());
        for (name, seen) in &self.facts.observations {
            let Some(cluster) = self.state.clusters.get_mut(name) else { continue };
            let watched =
                matches!(cluster.stage, Stage::Settling | Stage::Recovering | Stage::Done | Stage::Prepared);
            if !watched || seen.at < cluster.since {
                continue;
            }
            // Only what belongs to this revision counts.
            let belongs = seen.health == Seen::Unreachable || seen.revision == cluster.revision;
            let away = cluster.watch.unreachable.is_some();
            if belongs {
                cluster.watch.take(seen.at.min(now), seen.health, &seen.text, interval);
            } else if cluster.watch.seen.is_none_or(|last| seen.at > last) {
                cluster.watch.unreachable = None;
                cluster.watch.text =
                    Some(format!("another revision is there: {}", shown(seen.revision.as_ref())));
            }
            let settles = matches!(cluster.stage, Stage::Settling | Stage::Recovering);
            if settles && away && cluster.watch.unreachable.is_none() {
                // It had no chance while it was away.
                cluster.since = now;
            }
        }
    }

    fn report(&mut self, report: &Report) {
        let name = &report.key.cluster;
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        let open = cluster.step.as_ref();
        if !open.is_some_and(|step| step.kind == report.key.kind && step.attempt == report.key.attempt) {
            return;
        }
        cluster.step = None;
        let kind = report.key.kind;
        match &report.outcome {
            Outcome::Done(found) => {
                cluster.unreachable = None;
                cluster.hiccups = 0;
                cluster.lost = 0;
                cluster.retry_at = None;
                self.done(name, kind, found);
            }
            Outcome::Unreachable { reason } => self.unreachable(name, kind, reason),
            Outcome::Hiccup { reason } => self.hiccup(name, kind, reason),
            Outcome::Lost { reason } => self.lost(name, kind, reason),
            Outcome::Failed { reason } if kind.is_back() => self.hiccup(name, kind, reason),
            Outcome::Failed { reason } => self.fail(name, kind, reason),
        }
    }

    fn done(&mut self, name: &Name, kind: StepKind, found: &Found) {
        let (now, beside) = (self.now, self.is_blue_green());
        let returns = kind == StepKind::Preflight && self.is_still_ahead(name);
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        if let Found::Noted(text) = found {
            cluster.notes.push(text.clone());
        }
        match (kind, found) {
            (StepKind::Preflight, Found::Refused { reasons }) => {
                let text = format!("preflight refused: {}", reasons.join("; "));
                self.give_in(name, text);
            }
            (StepKind::Preflight, found) => {
                let (digest, one_way) = match (found, cluster.fit.take()) {
                    // Half of the change is there already; what people agreed to is the whole of it.
                    (_, Some(fit)) if cluster.touched.is_some() => (fit.digest, fit.one_way),
                    (Found::Fits { digest, one_way }, _) => (digest.clone(), one_way.clone()),
                    _ => (String::new(), None),
                };
                cluster.fit = Some(Fit { at: now, digest, one_way });
                if cluster.stage == Stage::Quarantined && returns {
                    cluster.enter(Stage::Waiting, now);
                } else if cluster.stage == Stage::Quarantined {
                    cluster.retry_at = Some(after(now, PROBE));
                }
            }
            (StepKind::Snapshot, found) => {
                if let Found::Kept(before) = found {
                    cluster.before = Some(before.clone());
                }
                cluster.enter(Stage::Crds, now);
            }
            (StepKind::Crds, _) => cluster.enter(Stage::Release, now),
            (StepKind::Release, found) => {
                cluster.revision = revision(found);
                cluster.runs =
                    if beside && cluster.runs != Runs::Target { Runs::Before } else { Runs::Target };
                cluster.enter(Stage::Settling, now);
                cluster.watch = Watch::default();
            }
            (StepKind::Smoke, _) => cluster.settled(beside, false, now),
            (StepKind::Switch, _) => {
                cluster.runs = Runs::Target;
                cluster.enter(Stage::Settling, now);
                cluster.watch = Watch::default();
            }
            (StepKind::Restore | StepKind::SwitchBack, found) => {
                let old = cluster.before.as_ref().and_then(|before| before.revision.clone());
                cluster.runs = Runs::Before;
                cluster.revision = if kind == StepKind::Restore { revision(found) } else { old };
                cluster.watch = Watch::default();
                // Nothing runs after a first install was taken back, so there is nothing to look at.
                cluster.enter(
                    match () {
                        () if cluster.revision.is_some() => Stage::Recovering,
                        () if beside => Stage::RemoveGreen,
                        () => Stage::ReturnCrds,
                    },
                    now,
                );
            }
            (StepKind::RemoveGreen, _) => cluster.enter(Stage::ReturnCrds, now),
            (StepKind::ReturnCrds, _) => {
                cluster.enter(Stage::RolledBack, now);
                self.tell("rolledBack", Some(name), "is back on its last known good version");
            }
            (StepKind::Migrate | StepKind::RetireBlue, _) => {
                cluster.finished.insert(kind);
            }
        }
    }

    /// The cluster could not be reached: before it was touched it is set aside, afterwards it holds things up.
    fn unreachable(&mut self, name: &Name, kind: StepKind, reason: &str) {
        let (now, limit) = (self.now, self.state.spec.settings.quarantine_timeout.max(PATIENCE));
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        let since = *cluster.unreachable.get_or_insert(now);
        let gone = now.duration_since(since);
        let untouched = cluster.touched.is_none()
            && matches!(cluster.stage, Stage::Waiting | Stage::Quarantined | Stage::Snapshot);
        if untouched {
            let fresh = cluster.stage != Stage::Quarantined;
            if fresh {
                cluster.enter(Stage::Quarantined, now);
            }
            cluster.unreachable = Some(since);
            cluster.fit = None;
            cluster.retry_at = Some(after(now, PROBE));
            cluster.problem = Some(reason.to_owned());
            if fresh {
                self.shout("quarantined", Some(name), format!("cannot be reached: {reason}"));
            }
            return;
        }
        cluster.retry_at = Some(after(now, AWAY));
        cluster.problem = Some(format!("cannot be reached: {reason}"));
        if kind.is_back() && gone >= limit {
            self.stuck(name, &format!("cannot be reached: {reason}"));
        } else if !kind.is_back() && gone >= PATIENCE {
            self.fail(name, kind, &format!("the cluster cannot be reached: {reason}"));
        }
    }

    fn hiccup(&mut self, name: &Name, kind: StepKind, reason: &str) {
        let now = self.now;
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        cluster.hiccups = cluster.hiccups.saturating_add(1);
        let spent = cluster.hiccups >= if kind.is_back() { HICCUPS_BACK } else { HICCUPS };
        if !spent {
            cluster.retry_at = Some(after(now, backoff(cluster.hiccups)));
            cluster.problem = Some(reason.to_owned());
            return;
        }
        if kind == StepKind::ReturnCrds {
            // The controller is back; a newer CRD that stays is worth a word, not a failure.
            cluster.notes.push(format!("CRDs stay as they are: {reason}"));
            cluster.enter(Stage::RolledBack, now);
            self.shout("crdsStay", Some(name), format!("CRDs stay as they are: {reason}"));
        } else if kind.is_back() {
            self.stuck(name, reason);
        } else {
            self.fail(name, kind, reason);
        }
    }

    /// Whoever was at it was lost: it is tried again at once, and the cluster is not blamed.
    fn lost(&mut self, name: &Name, kind: StepKind, reason: &str) {
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        cluster.lost = cluster.lost.saturating_add(1);
        if cluster.lost >= LOST {
            self.hiccup(name, kind, reason);
        }
    }

    fn fail(&mut self, name: &Name, kind: StepKind, reason: &str) {
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        if matches!(kind, StepKind::Migrate | StepKind::RetireBlue) {
            cluster.finished.insert(kind);
            cluster.notes.push(format!("{} failed: {reason}", kind.words()));
            self.shout("aftercareFailed", Some(name), format!("{} failed: {reason}", kind.words()));
        } else {
            self.give_in(name, format!("{} failed: {reason}", kind.words()));
        }
    }

    /// The cluster failed.
    pub(super) fn give_in(&mut self, name: &Name, problem: String) {
        let now = self.now;
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        cluster.enter(Stage::Failed, now);
        cluster.problem = Some(problem.clone());
        self.shout("clusterFailed", Some(name), problem);
    }

    /// The cluster could not be taken back.
    pub(super) fn stuck(&mut self, name: &Name, problem: &str) {
        let now = self.now;
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        cluster.enter(Stage::RollbackFailed, now);
        cluster.problem = Some(problem.to_owned());
        self.shout("rollbackFailed", Some(name), format!("could not be taken back: {problem}"));
    }

    /// Whether the wave of a cluster is still to be walked.
    fn is_still_ahead(&self, name: &Name) -> bool {
        let from = match &self.state.phase {
            Phase::Preflight | Phase::Consent => 0,
            Phase::Wave { index, part: Part::Opening | Part::Walking } => *index,
            Phase::Wave { index, .. } => index + 1,
            _ => return false,
        };
        let mut ahead = self.state.waves.iter().skip(from).filter(|wave| wave.kind != WaveKind::Switch);
        ahead.any(|wave| wave.clusters.contains(name))
    }
}

impl ClusterState {
    /// It is healthy on this revision: what comes next.
    pub(super) fn settled(&mut self, beside: bool, smoke: bool, now: jiff::Timestamp) {
        let next = match (beside, self.runs) {
            _ if smoke => Stage::Smoke,
            (true, Runs::Before) => Stage::Prepared,
            _ => Stage::Done,
        };
        self.problem = None;
        self.enter(next, now);
    }
}

fn revision(found: &Found) -> Option<Revision> {
    if let Found::Released(revision) = found { Some(revision.clone()) } else { None }
}

fn shown(revision: Option<&Revision>) -> String {
    revision.map_or_else(|| "none".to_owned(), ToString::to_string)
}

/// 2, 4, 8 … seconds, a minute at most.
fn backoff(times: u32) -> SignedDuration {
    SignedDuration::from_secs((1_i64 << times.min(5)).clamp(2, 60))
}
