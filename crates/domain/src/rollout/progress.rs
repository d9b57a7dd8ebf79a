//! How far a rollout is, for bars, lists and the status of a rollback.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::cluster::{ClusterState, Stage};
use super::plan::WaveKind;
use super::state::{Part, Phase, State, after};
use crate::name::Name;

/// What a batch of clusters takes, as long as nobody knows better.
const BATCH: SignedDuration = SignedDuration::from_mins(1);

/// How far a rollback is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RollbackProgress {
    /// Clusters that are as they were before.
    pub done: Vec<Name>,
    /// Clusters that are being taken back.
    pub going: Vec<Name>,
    /// Clusters whose turn has not come.
    pub waiting: Vec<Name>,
    /// Clusters that could not be taken back, each with the reason.
    pub failed: Vec<(Name, String)>,
}

impl State {
    /// How much of the way is behind it, from 0 to 100: for a bar.
    pub fn progress(&self) -> u8 {
        if self.status.is_end() {
            return 100;
        }
        let settled = |cluster: &&ClusterState| {
            !cluster.stage.is_moving() && !matches!(cluster.stage, Stage::Waiting | Stage::Prepared)
        };
        let done = self.clusters.values().filter(settled).count();
        // The last bit of the bar belongs to the soak of the last wave.
        u8::try_from((done * 100 / self.clusters.len().max(1)).min(99)).unwrap_or(99)
    }

    /// When it will be complete if nothing goes wrong; nothing where it waits for people, goes back or is over.
    pub fn estimate(&self, now: Timestamp) -> Option<Timestamp> {
        let (index, left) = match &self.phase {
            _ if self.paused.is_some() => return None,
            Phase::Preflight | Phase::Consent => (0, None),
            Phase::Wave { index, part: Part::Opening | Part::Walking } => (*index, None),
            Phase::Wave { index, part: Part::Soaking { until } | Part::Resting { until } } => {
                (index + 1, Some(until.duration_since(now)))
            }
            _ => return None,
        };
        let mut left = left.unwrap_or_default().max(SignedDuration::ZERO);
        for wave in self.waves.iter().skip(index) {
            let from = if wave.kind == WaveKind::Switch { Stage::Prepared } else { Stage::Waiting };
            let open = |name: &&Name| {
                let cluster = self.clusters.get(*name);
                cluster.is_some_and(|c| c.stage == from || c.stage == Stage::Waiting || c.stage.is_moving())
            };
            let batches = wave.clusters.iter().filter(open).count().div_ceil(wave.at_once.max(1));
            left += BATCH * i32::try_from(batches).unwrap_or(i32::MAX) + wave.soak + wave.rest;
        }
        Some(after(now, left))
    }

    /// How far taking it back is; nothing where nobody asked for it.
    pub fn rollback(&self) -> Option<RollbackProgress> {
        let mut progress = RollbackProgress::default();
        for (name, cluster) in self.clusters.iter().filter(|(_, cluster)| cluster.back) {
            match cluster.stage {
                Stage::RolledBack => progress.done.push(name.clone()),
                Stage::RollbackFailed => {
                    progress.failed.push((name.clone(), cluster.problem.clone().unwrap_or_default()));
                }
                stage if stage.is_back() => progress.going.push(name.clone()),
                _ => progress.waiting.push(name.clone()),
            }
        }
        (progress != RollbackProgress::default()).then_some(progress)
    }
}
