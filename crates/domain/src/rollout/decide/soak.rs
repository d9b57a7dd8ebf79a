//! Watches a wave, and judges it.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::super::action::Action;
use super::super::cluster::{ClusterState, Stage};
use super::super::state::{Part, Phase, Status, after};
use super::{Deciding, PATIENCE, list};
use crate::name::Name;

/// How a wave stands.
struct Tally {
    touched: usize,
    healthy: usize,
    open: Vec<Name>,
}

impl Deciding<'_> {
    pub(super) fn soaking(&mut self, index: usize, until: Timestamp) -> bool {
        self.take_back_single();
        if self.state.paused.is_some() || !self.reached(until) || self.moving() > 0 {
            return false;
        }
        let patient = !self.reached(after(until, PATIENCE));
        let silent = self.silent_gates();
        if !silent.is_empty() && self.state.excused != Some(index) {
            if !patient {
                return self.stop(&format!("gate {} never passed", silent.join(", ")));
            }
            return false;
        }
        let tally = self.tally(index);
        let threshold = self.state.spec.settings.strategy.threshold();
        let enough = threshold.is_none_or(|share| share.met(tally.healthy, tally.touched));
        let complete = threshold.is_some() || tally.open.is_empty();
        if !(enough && complete) && patient && !tally.open.is_empty() {
            return false;
        }
        if enough && !self.is_held(index) {
            self.pass(index, &tally);
            return true;
        }
        if patient && enough {
            return false;
        }
        let kind = self.state.spec.settings.strategy.kind();
        let title = self.state.waves.get(index).map(|wave| wave.title.clone()).unwrap_or_default();
        let silent = if tally.open.is_empty() {
            String::new()
        } else {
            format!("; nothing good is known of {}", list(&tally.open))
        };
        let (healthy, touched) = (tally.healthy, tally.touched);
        self.stop(&format!(
            "{kind} validation failed at {title}: {healthy} of {touched} clusters are healthy{silent}"
        ))
    }

    /// How the clusters that were touched so far stand; those whose failure was accepted do not count.
    fn tally(&self, index: usize) -> Tally {
        let so_far: BTreeSet<&Name> =
            self.state.waves.iter().take(index + 1).flat_map(|wave| &wave.clusters).collect();
        let mut tally = Tally { touched: 0, healthy: 0, open: Vec::new() };
        for (name, cluster) in &self.state.clusters {
            if cluster.touched.is_none() || cluster.accepted || !so_far.contains(name) {
                continue;
            }
            tally.touched += 1;
            if self.is_healthy(cluster) {
                tally.healthy += 1;
            } else if matches!(cluster.stage, Stage::Done | Stage::Prepared) && !cluster.watch.is_bad() {
                tally.open.push(name.clone());
            }
        }
        tally
    }

    /// Whether a cluster is healthy: it passed lately, and has not failed three times since. What was not
    /// seen lately is not healthy.
    pub(super) fn is_healthy(&self, cluster: &ClusterState) -> bool {
        if !matches!(cluster.stage, Stage::Done | Stage::Prepared) {
            return false;
        }
        let lately = self.lately();
        cluster.unchecked
            || (!cluster.watch.is_bad() && cluster.watch.passed.is_some_and(|passed| passed >= lately))
    }

    /// What was seen before this is old.
    fn lately(&self) -> Timestamp {
        let interval = self.state.spec.settings.strategy.interval();
        after(self.now, -(interval * 4 + SignedDuration::from_secs(15)))
    }

    fn silent_gates(&self) -> Vec<String> {
        let lately = self.lately();
        let silent = |name: &&String| {
            let passed = self.state.gates.get(*name).and_then(|watch| watch.passed);
            passed.is_none_or(|passed| passed < lately)
        };
        self.state.spec.settings.gates.iter().map(|gate| &gate.name).filter(silent).cloned().collect()
    }

    /// Asks the gates while a wave is watched.
    pub(super) fn measurements(&mut self) {
        let Phase::Wave { part: Part::Soaking { .. }, .. } = self.state.phase else { return };
        let interval = self.state.spec.settings.strategy.interval();
        let names: Vec<String> =
            self.state.spec.settings.gates.iter().map(|gate| gate.name.clone()).collect();
        for gate in names {
            let asked = self.state.gates.get(&gate).and_then(|watch| watch.asked);
            if asked.is_none_or(|asked| self.reached(after(asked, interval))) {
                self.state.gates.entry(gate.clone()).or_default().asked = Some(self.now);
                self.reached(after(self.now, interval));
                self.actions.push(Action::Measure { gate });
            }
        }
    }

    fn pass(&mut self, index: usize, tally: &Tally) {
        self.state.passed = self.state.passed.max(index + 1);
        let text = format!("wave {} passed: {} of {} healthy", index + 1, tally.healthy, tally.touched);
        self.tell("wavePassed", None, text);
        let rest = self.state.waves.get(index).map(|wave| wave.rest).filter(SignedDuration::is_positive);
        match rest {
            Some(rest) if index + 1 < self.state.waves.len() => {
                let until = after(self.now, rest);
                self.go(Phase::Wave { index, part: Part::Resting { until } }, Status::Deploying);
            }
            _ => self.next_wave(index),
        }
    }

    pub(super) fn next_wave(&mut self, index: usize) {
        if index + 1 < self.state.waves.len() {
            self.go(Phase::Wave { index: index + 1, part: Part::Opening }, Status::Deploying);
        } else {
            self.go(Phase::CatchUp, Status::Validating);
        }
    }

    /// Ends the way forward where more failed than may, or a gate does.
    pub(super) fn broke(&mut self, index: usize) -> bool {
        if self.state.paused.as_ref().is_some_and(|pause| pause.automatic) {
            return false;
        }
        let (refused, budget) = (self.refusals(), self.budget(index));
        let failures = self.failures();
        if failures + refused > budget {
            let failed = self.which(|c| !c.accepted && (c.failed() || c.back));
            let first = failed.first().and_then(|name| self.state.clusters.get(name));
            let why = first.and_then(|c| c.problem.clone().or_else(|| c.watch.text.clone()));
            let text = format!("cluster {}: {}", list(&failed), why.unwrap_or_else(|| "failed".to_owned()));
            if failures > budget || !self.state.touched() {
                return self.stop(&text);
            }
            // What refuses before it is touched says nothing against those that have the version.
            self.pause(format!("{text}; skip it, mend and retry it, or roll back"));
            return false;
        }
        let bad = self.state.gates.iter().find(|(_, watch)| watch.is_bad());
        if self.state.excused != Some(index)
            && let Some((name, watch)) = bad
        {
            let text = watch.text.clone().unwrap_or_default();
            return self.stop(&format!("gate {name} failed three times in a row: {text}"));
        }
        false
    }
}
