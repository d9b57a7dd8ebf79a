//! Moves single clusters on: those that become healthy or do not, those whose next step is due.

use jiff::SignedDuration;

use super::super::action::Action;
use super::super::cluster::{Runs, Stage};
use super::super::state::{Phase, after};
use super::super::step::StepKind;
use super::{Deciding, PATIENCE, SETTLE};
use crate::name::Name;

/// So often what was restored may turn out unhealthy before somebody has to look.
const ROUNDS: u32 = 3;

impl Deciding<'_> {
    /// Judges the clusters that are being looked at.
    pub(super) fn settle_clusters(&mut self) {
        let forward = matches!(self.state.phase, Phase::Wave { .. } | Phase::CatchUp);
        for name in self.which(|cluster| cluster.stage == Stage::Settling && !cluster.back) {
            self.settle(&name);
        }
        for name in self.which(|cluster| cluster.stage == Stage::Recovering) {
            self.recover(&name);
        }
        if forward {
            let watched = |stage| matches!(stage, Stage::Done | Stage::Prepared);
            for name in self.which(|cluster| watched(cluster.stage) && cluster.watch.unreachable.is_some()) {
                let since = self.state.clusters.get(&name).and_then(|cluster| cluster.watch.unreachable);
                if since.is_some_and(|since| self.reached(after(since, PATIENCE))) {
                    self.give_in(&name, "the cluster cannot be reached any more".to_owned());
                }
            }
        }
    }

    fn settle(&mut self, name: &Name) {
        let settings = &self.state.spec.settings;
        let (timeout, unchecked) = (settings.strategy.timeout(), settings.strategy.skips_checks());
        let (now, beside, smoke) = (self.now, self.is_blue_green(), self.state.spec.smoke);
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        let watch = &cluster.watch;
        let there = watch.seen.is_some() && watch.unreachable.is_none();
        if if unchecked { there } else { watch.passed.is_some() } {
            cluster.unchecked = unchecked;
            // Before a switch the new version does no work that a smoke test could see.
            cluster.settled(beside, smoke && cluster.runs == Runs::Target, now);
            let text = if unchecked { "has the version; its health was not checked" } else { "is healthy" };
            self.tell("clusterSettled", Some(name), text);
            return;
        }
        let text = watch.text.clone().unwrap_or_else(|| "nothing was seen of this revision".to_owned());
        let (bad, away, since) = (watch.is_bad(), watch.unreachable, cluster.since);
        if bad {
            self.give_in(name, format!("three failed checks in a row: {text}"));
        } else if let Some(away) = away {
            if self.reached(after(away, PATIENCE)) {
                self.give_in(name, format!("the cluster cannot be reached: {text}"));
            }
        } else if self.reached(after(since, timeout)) {
            self.give_in(name, format!("it did not become healthy within {timeout:#}: {text}"));
        }
    }

    fn recover(&mut self, name: &Name) {
        let settings = &self.state.spec.settings;
        let (timeout, unchecked) = (settings.strategy.timeout(), settings.strategy.skips_checks());
        let limit = settings.quarantine_timeout.max(PATIENCE);
        let (now, beside) = (self.now, self.is_blue_green());
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        let watch = &cluster.watch;
        let there = watch.seen.is_some() && watch.unreachable.is_none();
        if if unchecked { there } else { watch.passed.is_some() } {
            cluster.enter(if beside { Stage::RemoveGreen } else { Stage::ReturnCrds }, now);
            return;
        }
        let text = watch.text.clone().unwrap_or_else(|| "nothing was seen of it".to_owned());
        let (bad, away, since) = (watch.is_bad(), watch.unreachable, cluster.since);
        if let Some(away) = away {
            if self.reached(after(away, limit)) {
                self.stuck(name, &format!("the cluster cannot be reached: {text}"));
            }
        } else if bad || self.reached(after(since, timeout)) {
            self.again_or_stuck(name, &text);
        }
    }

    /// What was restored is not healthy: once more, a few times.
    fn again_or_stuck(&mut self, name: &Name, text: &str) {
        let now = self.now;
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        let switched = cluster.attempts.get(&StepKind::SwitchBack).copied().unwrap_or_default();
        let restored = cluster.attempts.get(&StepKind::Restore).copied().unwrap_or_default();
        if (switched + restored).is_multiple_of(ROUNDS) {
            self.stuck(name, &format!("it was restored and is not healthy: {text}"));
        } else {
            let how = if restored > 0 { Stage::Restore } else { Stage::SwitchBack };
            cluster.enter(how, now);
            self.tell("restoreAgain", Some(name), format!("is restored and not healthy: {text}; once more"));
        }
    }

    /// Begins the steps that are due, and asks for looks.
    pub(super) fn drive(&mut self) {
        if self.state.phase == Phase::Over {
            return;
        }
        let planning = matches!(
            self.state.phase,
            Phase::Preflight | Phase::Consent | Phase::Wave { .. } | Phase::CatchUp
        );
        let again = self.backs_to_retry();
        for name in self.which(|cluster| cluster.step.is_none()) {
            let Some(cluster) = self.state.clusters.get(&name) else { continue };
            let kind = match cluster.stage {
                Stage::Quarantined if planning => Some(StepKind::Preflight),
                stage if cluster.back && stage.is_forward() => None,
                stage => stage.step(),
            };
            let (retry_at, aside) = (cluster.retry_at, cluster.is_aside());
            if let Some(kind) = kind
                && if aside { again.contains(&name) } else { retry_at.is_none_or(|at| self.reached(at)) }
            {
                self.begin(&name, kind);
            }
        }
        self.looks();
        self.measurements();
    }

    fn looks(&mut self) {
        let interval = self.state.spec.settings.strategy.interval();
        let watching =
            matches!(self.state.phase, Phase::Wave { .. } | Phase::CatchUp | Phase::Watching { .. });
        let every = |stage: Stage, unchecked: bool| match stage {
            Stage::Settling | Stage::Recovering => Some(SETTLE.min(interval)),
            Stage::Done | Stage::Prepared if watching && !unchecked => Some(interval),
            _ => None,
        };
        let due: Vec<(Name, SignedDuration)> = self
            .state
            .clusters
            .iter()
            .filter_map(|(name, cluster)| Some((name.clone(), every(cluster.stage, cluster.unchecked)?)))
            .collect();
        for (name, every) in due {
            let asked = self.state.clusters.get(&name).and_then(|cluster| cluster.watch.asked);
            if asked.is_none_or(|asked| self.reached(after(asked, every))) {
                let now = self.now;
                if let Some(cluster) = self.state.clusters.get_mut(&name) {
                    cluster.watch.asked = Some(now);
                    let revision = cluster.revision.clone();
                    self.reached(after(now, every));
                    self.actions.push(Action::Look { cluster: name, revision });
                }
            }
        }
    }
}
