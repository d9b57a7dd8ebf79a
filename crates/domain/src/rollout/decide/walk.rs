//! Changes the clusters of a wave, batch by batch.

use std::collections::BTreeSet;

use super::super::cluster::{ClusterState, Stage};
use super::super::plan::{Wave, WaveKind};
use super::super::state::{Part, Phase, Status, after};
use super::Deciding;
use crate::name::Name;

impl Deciding<'_> {
    pub(super) fn walking(&mut self, index: usize) -> bool {
        let Some(wave) = self.state.waves.get(index).cloned() else {
            self.go(Phase::CatchUp, Status::Validating);
            return true;
        };
        self.take_back_single();
        if self.due(index).iter().any(|name| !self.is_agreed(name)) {
            // It came back from quarantine with a change that nobody has seen.
            self.go(Phase::Wave { index, part: Part::Opening }, Status::Deploying);
            return true;
        }
        if self.state.paused.is_none() && !self.is_held(index) {
            self.start_clusters(&wave);
        }
        let open = |name: &&Name| self.state.clusters.get(*name).is_some_and(|c| is_open(c, wave.kind));
        if wave.clusters.iter().any(|name| open(&name)) || self.moving() > 0 || self.state.paused.is_some() {
            return false;
        }
        if !self.state.touched() && self.waits_for_a_first(&wave) {
            return self.state.phase == Phase::Over;
        }
        let until = after(self.now, wave.soak);
        self.state.gates.clear();
        self.go(Phase::Wave { index, part: Part::Soaking { until } }, Status::Validating);
        true
    }

    /// Begins as many clusters as may be changed at once.
    fn start_clusters(&mut self, wave: &Wave) {
        let mut moving = self.moving();
        for batch in wave.batches() {
            for name in batch {
                let Some(cluster) = self.state.clusters.get(name) else { continue };
                let first = match wave.kind {
                    WaveKind::Switch => Stage::Switch,
                    // A snapshot of a half-made change would take the place of the last known good.
                    _ if cluster.touched.is_some() && cluster.before.is_some() => Stage::Crds,
                    _ => Stage::Snapshot,
                };
                let ready = is_open(cluster, wave.kind) && cluster.step.is_none();
                if !ready || moving >= wave.at_once || !self.is_open(name) {
                    continue;
                }
                self.stage(name, first);
                self.tell("clusterStarted", Some(name), "its turn has come");
                moving += 1;
            }
            let unsettled = |name: &Name| {
                let cluster = self.state.clusters.get(name);
                cluster.is_some_and(|c| is_open(c, wave.kind) || c.stage.is_moving() || c.is_going_back())
            };
            if wave.batched && batch.iter().any(unsettled) {
                break;
            }
        }
    }

    /// A rollout whose first clusters cannot be reached has proven nothing: it waits for one of them, and ends
    /// once all were given up.
    fn waits_for_a_first(&mut self, wave: &Wave) -> bool {
        self.give_up(&wave.clusters);
        let in_wave = |stage: Stage| {
            let is = |name: &&Name| self.state.clusters.get(*name).is_some_and(|c| c.stage == stage);
            wave.clusters.iter().filter(is).count()
        };
        if in_wave(Stage::Quarantined) > 0 {
            return true;
        }
        if in_wave(Stage::GivenUp) > 0 {
            let text = format!("no cluster of the first wave, {}, could be reached", wave.title);
            self.end(Status::Failed, text);
            return true;
        }
        false
    }

    /// Gives up clusters that could not be reached for too long.
    pub(super) fn give_up(&mut self, names: &[Name]) {
        let limit = self.state.spec.settings.quarantine_timeout;
        for name in names {
            let Some(cluster) = self.state.clusters.get(name) else { continue };
            let away = cluster.unreachable.filter(|_| cluster.stage == Stage::Quarantined);
            if away.is_some_and(|away| self.reached(after(away, limit))) {
                self.stage(name, Stage::GivenUp);
                self.shout("givenUp", Some(name), "could not be reached for too long and is left out");
            }
        }
    }

    /// Where the others go on after a failure, the cluster that failed is taken back by itself.
    pub(super) fn take_back_single(&mut self) {
        let settings = &self.state.spec.settings;
        if !settings.strategy.goes_on_after_failure() || !settings.auto_rollback_enabled {
            return;
        }
        for name in self.which(|c| c.failed() && !c.accepted && !c.back && c.touched.is_some()) {
            let one_way = self.one_way(std::iter::once(&name));
            let Some(cluster) = self.state.clusters.get_mut(&name) else { continue };
            if let Some(version) = one_way {
                cluster.accepted = true;
                let text = format!("is not taken back, because {version} cannot be left again");
                self.shout("held", Some(&name), text);
            } else {
                cluster.back = true;
            }
        }
        self.start_backs();
    }

    /// Whether so many clusters failed, or went away after they were touched, that no other is begun.
    pub(super) fn is_held(&self, index: usize) -> bool {
        let away = |c: &&ClusterState| {
            c.touched.is_some() && !c.accepted && (c.unreachable.is_some() || c.watch.unreachable.is_some())
        };
        let away = self.state.clusters.values().filter(away).count();
        away > 0 && self.failures() + self.refusals() + away > self.budget(index)
    }

    /// How many clusters failed before they were touched, and were not accepted.
    pub(super) fn refusals(&self) -> usize {
        let refused = |c: &&ClusterState| c.failed() && c.touched.is_none() && !c.accepted;
        self.state.clusters.values().filter(refused).count()
    }

    /// How many clusters failed after that, and were not accepted.
    pub(super) fn failures(&self) -> usize {
        let failed = |c: &&ClusterState| {
            !c.accepted
                && c.touched.is_some()
                && (c.failed() || c.back || matches!(c.stage, Stage::RolledBack | Stage::RollbackFailed))
        };
        self.state.clusters.values().filter(failed).count()
    }

    /// How many may, once this wave is walked.
    pub(super) fn budget(&self, index: usize) -> usize {
        let so_far: BTreeSet<&Name> =
            self.state.waves.iter().take(index + 1).flat_map(|wave| &wave.clusters).collect();
        self.state.spec.settings.budget(so_far.len(), self.state.clusters.len())
    }
}

impl ClusterState {
    /// Whether it is to be taken back and is not yet.
    pub(in super::super) fn is_going_back(&self) -> bool {
        self.back && !matches!(self.stage, Stage::RolledBack | Stage::RollbackFailed)
    }
}

/// Whether a cluster has still to be changed in a wave.
fn is_open(cluster: &ClusterState, kind: WaveKind) -> bool {
    let from = if kind == WaveKind::Switch { Stage::Prepared } else { Stage::Waiting };
    cluster.stage == from && !cluster.back
}
