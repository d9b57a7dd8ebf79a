//! How a rollout ends, and what is done after.

use jiff::Timestamp;

use super::super::cluster::{Runs, Stage};
use super::super::plan::{Wave, WaveKind};
use super::super::state::{Part, Phase, Status, after};
use super::super::step::StepKind;
use super::super::strategy::Strategy;
use super::{Deciding, list};
use crate::name::Name;

/// So many clusters are cared for at once after completion.
const AFTERCARE: usize = 10;

impl Deciding<'_> {
    /// It ends.
    pub(super) fn end(&mut self, status: Status, reason: String) {
        for cluster in self.state.clusters.values_mut() {
            // What only reads may be forgotten.
            if cluster.step.as_ref().is_some_and(|step| !step.kind.changes()) {
                cluster.step = None;
            }
        }
        self.shout("ended", None, format!("{status}: {reason}"));
        self.state.reason = Some(reason);
        self.state.paused = None;
        self.go(Phase::Over, status);
    }

    /// All waves passed: clusters that could not be reached follow now, or are given up.
    pub(super) fn catch_up(&mut self) -> bool {
        if self.broke(self.state.waves.len().saturating_sub(1)) {
            return true;
        }
        self.take_back_single();
        if self.state.paused.is_some() || self.moving() > 0 {
            return false;
        }
        let missing = self.which(|c| c.stage == Stage::Quarantined);
        self.give_up(&missing);
        let there = self.which(|c| {
            c.stage == Stage::Quarantined && c.unreachable.is_none() && c.fit.is_some() && c.step.is_none()
        });
        if !there.is_empty() {
            self.tell("catchUp", None, format!("{} can be reached again", list(&there)));
            for name in &there {
                self.stage(name, Stage::Waiting);
            }
            let index = self.state.waves.len();
            self.add_waves(index, "catch up", &there);
            self.go(Phase::Wave { index, part: Part::Opening }, Status::Deploying);
            return true;
        }
        if !self.which(|c| c.stage == Stage::Quarantined).is_empty() {
            return false;
        }
        self.complete();
        true
    }

    /// Adds waves for clusters that come later, like those that they missed.
    pub(super) fn add_waves(&mut self, at: usize, title: &str, names: &[Name]) {
        let kinds: &[WaveKind] =
            if self.is_blue_green() { &[WaveKind::Prepare, WaveKind::Switch] } else { &[WaveKind::Change] };
        for (offset, kind) in kinds.iter().enumerate() {
            let like = self.state.waves.iter().rev().find(|wave| wave.kind == *kind);
            let limit = names.iter().map(|name| self.state.at_once(name)).min().unwrap_or(1);
            let wave = Wave {
                title: title.to_owned(),
                kind: *kind,
                clusters: names.to_vec(),
                at_once: limit,
                batched: true,
                soak: like.map(|wave| wave.soak).unwrap_or_default(),
                rest: jiff::SignedDuration::ZERO,
            };
            self.state.waves.insert((at + offset).min(self.state.waves.len()), wave);
        }
    }

    fn complete(&mut self) {
        let missing = self.which(|c| c.stage != Stage::Done || c.runs != Runs::Target || c.failed());
        if !missing.is_empty() {
            let told: Vec<String> = missing
                .iter()
                .filter_map(|name| Some((name, self.state.clusters.get(name)?)))
                .take(8)
                .map(|(name, c)| match c.problem.as_ref().or(c.watch.text.as_ref()) {
                    Some(problem) => format!("{name} ({problem})"),
                    None => format!("{name} ({:?})", c.stage),
                })
                .collect();
            let more = missing.len().saturating_sub(told.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            self.end(Status::Failed, format!("not on the version: {}{more}", told.join(", ")));
            return;
        }
        self.state.completed = Some(self.now);
        self.state.reason = None;
        self.shout("ended", None, "Completed: every cluster is on the version");
        let settings = &self.state.spec.settings;
        let until = if settings.auto_rollback_enabled && !settings.strategy.skips_checks() {
            after(self.now, settings.auto_rollback_window)
        } else {
            self.now
        };
        self.go(Phase::Watching { until }, Status::Completed);
    }

    /// For a while after completion three failed checks in a row take it back.
    pub(super) fn watching(&mut self, until: Timestamp) -> bool {
        if self.state.replaced_by.is_some() {
            self.go(Phase::Over, Status::Completed);
            return true;
        }
        let failed = self.which(|c| c.failed() && !c.accepted);
        if let Some(first) = failed.first() {
            let text = self.state.clusters.get(first).and_then(|c| c.watch.text.clone());
            let text = format!("cluster {}: {}", list(&failed), text.unwrap_or_default());
            if self.stop(&text) {
                return true;
            }
            // It cannot be taken back by itself: people were told, once.
            self.state.paused = None;
            for name in failed {
                if let Some(cluster) = self.state.clusters.get_mut(&name) {
                    cluster.accepted = true;
                }
            }
        }
        if !self.reached(until) {
            return false;
        }
        let retire_at = match (&self.state.spec.settings.strategy, self.state.completed) {
            (Strategy::BlueGreen(switch), Some(at)) => Some(after(at, switch.retention_period)),
            _ => None,
        };
        self.go(Phase::Aftercare { retire_at }, Status::Completed);
        true
    }

    /// Stored objects are migrated, then blue is removed.
    pub(super) fn aftercare(&mut self, retire_at: Option<Timestamp>) -> bool {
        let busy = self.state.clusters.values().filter(|c| c.step.is_some()).count();
        if self.state.replaced_by.is_some() {
            // The newer one takes care; what runs is let finish.
            if busy == 0 {
                self.go(Phase::Over, Status::Completed);
            }
            return busy == 0;
        }
        if self.state.spec.migrate && self.care(StepKind::Migrate, busy) {
            return false;
        }
        if let Some(retire_at) = retire_at
            && (!self.reached(retire_at) || self.care(StepKind::RetireBlue, busy))
        {
            return false;
        }
        self.go(Phase::Over, Status::Completed);
        true
    }

    /// Does a step on every cluster, a few at once; whether some are left.
    fn care(&mut self, kind: StepKind, busy: usize) -> bool {
        let left = self.which(|c| !c.finished.contains(&kind));
        let mut busy = busy;
        for name in &left {
            let Some(cluster) = self.state.clusters.get(name) else { continue };
            let (idle, retry_at) = (cluster.step.is_none(), cluster.retry_at);
            if idle && busy < AFTERCARE && retry_at.is_none_or(|at| self.reached(at)) {
                self.begin(name, kind);
                busy += 1;
            }
        }
        !left.is_empty()
    }

    /// Running clusters finish, the others are left out; what fails now, and green that waits, is taken back.
    pub(super) fn cancelling(&mut self, reason: &str) -> bool {
        self.leave_out_untouched("it was cancelled");
        let automatic = self.state.spec.settings.auto_rollback_enabled;
        let unfinished = self.which(|c| {
            c.touched.is_some()
                && !c.back
                && (c.stage == Stage::Prepared || (automatic && c.failed() && !c.accepted))
        });
        for name in unfinished {
            let prepared = self.state.clusters.get(&name).is_some_and(|c| c.stage == Stage::Prepared);
            if !prepared && self.one_way(std::iter::once(&name)).is_some() {
                continue;
            }
            if let Some(cluster) = self.state.clusters.get_mut(&name) {
                cluster.back = true;
            }
        }
        self.start_backs();
        if self.moving() > 0 || self.state.clusters.values().any(|c| c.step.is_some() || c.is_going_back()) {
            return false;
        }
        let there = self.which(|c| c.runs == Runs::Target);
        let there =
            if there.is_empty() { String::new() } else { format!("; on the version: {}", list(&there)) };
        self.end(Status::Cancelled, format!("{reason}{there}"));
        true
    }
}
