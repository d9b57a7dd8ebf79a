//! Takes clusters back: each to its own last known good, newest wave first, a few at once.

use std::collections::{BTreeMap, BTreeSet};

use super::super::cluster::{ClusterState, Runs, Stage, Watch};
use super::super::plan::WaveKind;
use super::super::state::{Back, Phase, Status};
use super::super::step::StepKind;
use super::super::strategy::RollbackScope;
use super::{Deciding, list};
use crate::name::Name;
use crate::version::Version;

/// From so many clusters green is removed at once.
const IDLE: usize = 10;

impl Deciding<'_> {
    /// The way forward ends: by itself it is taken back, where that is wanted and possible; otherwise it is
    /// held for somebody. Whether the phase changed.
    pub(super) fn stop(&mut self, reason: &str) -> bool {
        if !self.state.touched() {
            self.end(Status::Failed, reason.to_owned());
            return true;
        }
        if !self.state.spec.settings.auto_rollback_enabled {
            self.pause(format!("{reason}; roll back, retry, skip, or resume to accept it"));
            return false;
        }
        let scope = self.state.spec.settings.scope();
        let mut touched = self.which(|c| match scope {
            RollbackScope::All => c.touched.is_some() && c.stage != Stage::RolledBack,
            RollbackScope::Failed => c.touched.is_some() && (c.failed() || c.back),
        });
        if touched.is_empty() {
            // Nobody failed by name, so it is the wave that did.
            touched = self.which(|c| c.touched.is_some());
            let wave = if let Phase::Wave { index, .. } = self.state.phase { index } else { usize::MAX };
            let wave = self.state.waves.get(wave);
            touched.retain(|name| wave.is_none_or(|wave| wave.clusters.contains(name)));
        }
        if let Some(version) = self.one_way(touched.iter()) {
            self.pause(format!("{reason}; held, because {version} cannot be left again by itself"));
            return false;
        }
        let back = Back { reason: reason.to_owned(), automatic: true, down_migrate: false };
        self.go_back(&touched, back);
        true
    }

    /// The version that makes return impossible for one of these.
    pub(super) fn one_way<'a>(&self, names: impl Iterator<Item = &'a Name>) -> Option<Version> {
        let mut clusters = names.filter_map(|name| self.state.clusters.get(name));
        clusters.find_map(|cluster| cluster.fit.as_ref()?.one_way.clone())
    }

    pub(super) fn go_back(&mut self, names: &[Name], back: Back) {
        for name in names {
            if let Some(cluster) = self.state.clusters.get_mut(name)
                && cluster.touched.is_some()
            {
                cluster.back = true;
            }
        }
        self.state.paused = None;
        self.state.gates.clear();
        self.shout("rollingBack", None, format!("{}; taking back {}", back.reason, list(names)));
        self.state.reason = Some(back.reason.clone());
        self.go(Phase::Back(back), Status::RollingBack);
    }

    pub(super) fn back(&mut self, back: &Back) -> bool {
        self.leave_out_untouched("it is taken back");
        if back.automatic {
            for name in self.which(|c| c.failed() && c.touched.is_some() && !c.accepted && !c.back) {
                if let Some(cluster) = self.state.clusters.get_mut(&name) {
                    cluster.back = true;
                }
            }
        }
        if self.state.paused.is_none() {
            self.start_backs();
        }
        let unfinished = self.state.clusters.values().any(|c| c.is_going_back() || c.stage.is_moving());
        if unfinished {
            return false;
        }
        let stuck = self.which(|c| c.stage == Stage::RollbackFailed);
        let back_again = self.which(|c| c.stage == Stage::RolledBack);
        let stays = self.which(|c| c.runs != Runs::Before && c.stage != Stage::RollbackFailed);
        let reason = &back.reason;
        if !stuck.is_empty() {
            self.end(Status::Failed, format!("{reason}; could not be taken back: {}", list(&stuck)));
        } else if stays.is_empty() || !back.automatic {
            self.end(Status::RolledBack, format!("{reason}; taken back: {}", list(&back_again)));
        } else {
            let (back, stays) = (list(&back_again), list(&stays));
            self.end(Status::Failed, format!("{reason}; taken back: {back}; on the version: {stays}"));
        }
        true
    }

    /// Clusters that nobody touched stay as they are.
    pub(super) fn leave_out_untouched(&mut self, why: &str) {
        let names = self.which(|c| {
            let idle = c.step.as_ref().is_none_or(|step| !step.kind.changes());
            let early = matches!(c.stage, Stage::Waiting | Stage::Quarantined | Stage::GivenUp);
            let begun = c.stage.is_forward() && c.touched.is_none() && !c.back;
            idle && c.touched.is_none() && (early || begun)
        });
        let now = self.now;
        for name in names {
            if let Some(cluster) = self.state.clusters.get_mut(&name) {
                // What runs there reads only; whatever it finds is of no use any more.
                cluster.step = None;
                cluster.enter(Stage::Skipped, now);
                cluster.problem = Some(format!("not reached: {why}"));
            }
        }
        // A cluster that was touched by an earlier attempt and waits to be tried again stays, too.
        for name in self.which(|c| c.stage == Stage::Waiting && c.touched.is_some() && !c.back) {
            self.stage(&name, Stage::Skipped);
        }
    }

    /// Begins with the clusters that are to be taken back, as many at once as may be changed.
    pub(super) fn start_backs(&mut self) {
        let due: Vec<(Name, usize)> = self
            .back_limits()
            .into_iter()
            .filter(|(name, _)| {
                let cluster = self.state.clusters.get(name);
                cluster.is_some_and(|c| c.is_going_back() && !c.stage.is_back() && c.step.is_none())
            })
            .collect();
        let mut moving = self.moving_on();
        for (name, limit) in due {
            // One that was on its way forward is being changed already.
            let counted = self.state.clusters.get(&name).is_some_and(|c| c.stage.is_moving());
            if counted {
                self.start_back(&name);
            } else if moving < limit {
                self.start_back(&name);
                moving += 1;
            }
        }
    }

    /// The clusters that stood aside and may be tried again now: those of the others come first.
    pub(super) fn backs_to_retry(&mut self) -> BTreeSet<Name> {
        let mut found = BTreeSet::new();
        if !self.state.clusters.values().any(ClusterState::is_aside) {
            return found;
        }
        let mut moving = self.moving_on();
        for (name, limit) in self.back_limits() {
            let Some(cluster) = self.state.clusters.get(&name).filter(|c| c.is_aside()) else { continue };
            let retry_at = cluster.retry_at;
            if moving < limit && retry_at.is_none_or(|at| self.reached(at)) {
                found.insert(name);
                moving += 1;
            }
        }
        found
    }

    /// How many clusters are being changed, without those that stand aside.
    fn moving_on(&self) -> usize {
        self.state.clusters.values().filter(|c| c.stage.is_moving() && !c.is_aside()).count()
    }

    /// All clusters, newest wave first, each with how many may be changed at once when it is taken back.
    fn back_limits(&self) -> Vec<(Name, usize)> {
        let beside = self.is_blue_green();
        let mut limits: BTreeMap<&Name, usize> = BTreeMap::new();
        let mut order: Vec<&Name> = Vec::new();
        for wave in self.state.waves.iter().rev() {
            for name in &wave.clusters {
                let limit = if wave.kind == WaveKind::Prepare { usize::MAX } else { wave.at_once };
                let known = limits.entry(name).or_insert(usize::MAX);
                if *known == usize::MAX {
                    order.push(name);
                }
                *known = limit.min(*known);
            }
        }
        let mut seen = BTreeSet::new();
        order
            .into_iter()
            .filter(|name| seen.insert(*name))
            .map(|name| {
                // Green that does no work yet can be removed from more clusters at once.
                let idle =
                    beside && self.state.clusters.get(name).is_some_and(|c| !c.tried(StepKind::Switch));
                let limit = limits.get(name).copied().unwrap_or(1).max(1);
                (name.clone(), if idle { limit.max(IDLE) } else { limit })
            })
            .collect()
    }

    /// The first step back depends on how far the cluster came.
    pub(super) fn start_back(&mut self, name: &Name) {
        let (now, beside) = (self.now, self.is_blue_green());
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        let first = match () {
            () if !cluster.tried(StepKind::Release) => Stage::ReturnCrds,
            // Once its removal was begun, blue may be gone whatever was recorded.
            () if !beside || cluster.tried(StepKind::RetireBlue) => Stage::Restore,
            () if cluster.tried(StepKind::Switch) => Stage::SwitchBack,
            () => Stage::RemoveGreen,
        };
        cluster.enter(first, now);
        cluster.watch = Watch::default();
    }
}

impl ClusterState {
    /// Whether it could not be taken back yet and waits to be tried again: the others need not wait for it.
    pub fn is_aside(&self) -> bool {
        self.stage.is_back() && self.step.is_none() && self.retry_at.is_some()
    }
}
