//! The rows, in memory: the twin of what PostgreSQL holds, with the same conditions on every write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use slipway_domain::id::ClusterId;
use slipway_domain::name::Name;
use slipway_domain::rollout::{ActKey, Action, Measurement, Numbered, Observation, Report};

use crate::changes::{Changeset, Fence, Work, WorkChange, Write};
use crate::ports::StoreError;
use crate::ports::store::{Claim, RESERVED, Recorded, Rollout, RolloutWrite, StepRow};

/// Work that one server at a time does.
#[derive(Debug, Clone)]
pub(super) struct WorkRow {
    pub(super) due: Timestamp,
    pub(super) claim_until: Option<Timestamp>,
    pub(super) epoch: i64,
    pub(super) moved: bool,
}

/// The rows of one rollout.
pub(super) struct Rows {
    pub(super) rollout: Arc<Rollout>,
    pub(super) steps: BTreeMap<ActKey, StepRow>,
    observations: BTreeMap<Name, Observation>,
    measurements: BTreeMap<String, Measurement>,
    pub(super) commands: Vec<Numbered>,
    /// What was kept of each cluster: the version that it ran.
    pub(super) snapshots: BTreeMap<Name, Vec<u8>>,
    pub(super) reserved: BTreeSet<ClusterId>,
    pub(super) news: Vec<(String, Option<Name>, String)>,
    pub(super) work: BTreeMap<(&'static str, String), WorkRow>,
    epochs: i64,
    /// Whether it is forgotten that work was made due anew: a defect.
    pub(super) forgets: bool,
}

fn stale(what: impl std::fmt::Display) -> StoreError {
    StoreError::Stale { what: what.to_string() }
}

fn place(work: &Work) -> (&'static str, String) {
    (work.kind, work.key.clone())
}

fn lasting(lease: Duration) -> SignedDuration {
    SignedDuration::try_from(lease).unwrap()
}

impl Rows {
    /// With a rollout that begins.
    pub(super) fn begin(rollout: Rollout) -> Self {
        let reserved = rollout.placements.values().map(|placement| placement.cluster).collect();
        Self {
            rollout: Arc::new(rollout),
            steps: BTreeMap::new(),
            observations: BTreeMap::new(),
            measurements: BTreeMap::new(),
            commands: Vec::new(),
            snapshots: BTreeMap::new(),
            reserved,
            news: Vec::new(),
            work: BTreeMap::new(),
            epochs: 0,
            forgets: false,
        }
    }

    pub(super) fn recorded(&self) -> Recorded {
        let state = &self.rollout.state;
        let report = |action| {
            let Action::Act { key, .. } = action else { return None };
            let outcome = self.steps.get(&key)?.outcome.clone()?;
            Some(Report { key, outcome })
        };
        Recorded {
            reports: state.open().into_iter().filter_map(report).collect(),
            observations: self.observations.clone(),
            measurements: self.measurements.clone(),
            commands: self
                .commands
                .iter()
                .filter(|command| command.number > state.commands)
                .cloned()
                .collect(),
        }
    }

    /// Whether a claim holds.
    pub(super) fn holds(&self, fence: &Fence) -> bool {
        let row = self.work.get(&place(&fence.work));
        row.is_some_and(|row| row.epoch == fence.epoch && row.claim_until.is_some())
    }

    /// Everything, or nothing.
    pub(super) fn commit(&mut self, changes: Changeset, now: Timestamp) -> Result<(), StoreError> {
        let Changeset { fence, rows, work, .. } = changes;
        if fence.is_some_and(|fence| !self.holds(&fence)) {
            return Err(StoreError::Fenced);
        }
        for write in &rows {
            self.may(write)?;
        }
        for write in rows {
            self.write(write, now);
        }
        for change in work {
            self.change(change);
        }
        Ok(())
    }

    fn may(&self, write: &Write) -> Result<(), StoreError> {
        let Write::Rollout(write) = write else { panic!("{write:?} is not simulated") };
        match write {
            RolloutWrite::Decide { rollout, .. } if rollout.version != self.rollout.version => {
                Err(stale("rollout"))
            }
            RolloutWrite::Command { version, .. } if *version != self.rollout.version => {
                Err(stale("rollout"))
            }
            RolloutWrite::Intend { key, .. } if self.steps.contains_key(key) => {
                Err(StoreError::Taken { constraint: "rollout_steps_pkey".to_owned() })
            }
            RolloutWrite::BeginStep { key, epoch, .. } => {
                let may =
                    |row: &StepRow| row.outcome.is_none() && row.begun.is_none_or(|begun| begun <= *epoch);
                if self.steps.get(key).is_some_and(may) { Ok(()) } else { Err(stale(key)) }
            }
            RolloutWrite::EndStep { key, .. } if !self.steps.contains_key(key) => Err(stale(key)),
            RolloutWrite::Begin { .. } => Err(StoreError::Taken { constraint: RESERVED.to_owned() }),
            _ => Ok(()),
        }
    }

    fn write(&mut self, write: Write, now: Timestamp) {
        let Write::Rollout(write) = write else { return };
        match write {
            RolloutWrite::Decide { rollout, news } => {
                let (before, after) = (self.rollout.state.status.is_end(), rollout.state.status.is_end());
                match (before, after) {
                    (false, true) => self.reserved.clear(),
                    (true, false) => {
                        self.reserved =
                            rollout.placements.values().map(|placement| placement.cluster).collect();
                    }
                    _ => {}
                }
                self.rollout = Arc::new(Rollout { version: rollout.version + 1, ..*rollout });
                self.news.extend(news.into_iter().map(|news| (news.kind, news.cluster, news.text)));
            }
            RolloutWrite::Intend { key, deadline, .. } => {
                let row = StepRow {
                    key: key.clone(),
                    intended_at: now,
                    deadline,
                    begun: None,
                    begun_at: None,
                    outcome: None,
                    ended_at: None,
                };
                self.steps.insert(key, row);
            }
            RolloutWrite::BeginStep { key, epoch, .. } => {
                let row = self.steps.get_mut(&key).unwrap();
                row.begun = Some(epoch);
                row.begun_at.get_or_insert(now);
            }
            RolloutWrite::EndStep { key, outcome, .. } => {
                let row = self.steps.get_mut(&key).unwrap();
                row.outcome.get_or_insert(*outcome);
                row.ended_at.get_or_insert(now);
            }
            RolloutWrite::Observe { cluster, observation, .. } => {
                let older = |known: &Observation| known.at > observation.at;
                if !self.observations.get(&cluster).is_some_and(older) {
                    self.observations.insert(cluster, observation);
                }
            }
            RolloutWrite::Measure { gate, measurement, .. } => {
                let older = |known: &Measurement| known.at > measurement.at;
                if !self.measurements.get(&gate).is_some_and(older) {
                    self.measurements.insert(gate, measurement);
                }
            }
            RolloutWrite::Keep { cluster, snapshot, .. } => {
                self.snapshots.insert(cluster, snapshot.0);
            }
            RolloutWrite::Command { by, command, .. } => {
                let number = self.commands.len() as u64 + 1;
                self.commands.push(Numbered { number, by, command: *command });
            }
            other => panic!("{other:?} is not simulated"),
        }
    }

    pub(super) fn change(&mut self, change: WorkChange) {
        match change {
            WorkChange::Due(work, at) => {
                let new = WorkRow { due: at, claim_until: None, epoch: 0, moved: false };
                let row = self.work.entry(place(&work)).or_insert(new);
                row.due = at;
                row.moved = row.claim_until.is_some() && !self.forgets;
            }
            WorkChange::End(work) => {
                self.work.remove(&place(&work));
            }
            WorkChange::Finish(work) => {
                if self.work.get(&place(&work)).is_some_and(|row| !row.moved) {
                    self.work.remove(&place(&work));
                }
            }
        }
    }

    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = (&(&'static str, String), &WorkRow)> {
        self.work.range((kind, String::new())..).take_while(move |((of, _), _)| *of == kind)
    }

    pub(super) fn claim(
        &mut self,
        kind: &'static str,
        most: usize,
        lease: Duration,
        now: Timestamp,
    ) -> Vec<Claim> {
        if most == 0 {
            return Vec::new();
        }
        let free = |row: &WorkRow| row.due <= now && row.claim_until.is_none_or(|until| until < now);
        let mut due: Vec<(Timestamp, String)> = self
            .of_kind(kind)
            .filter(|(_, row)| free(row))
            .map(|((_, key), row)| (row.due, key.clone()))
            .collect();
        due.sort();
        due.truncate(most);
        let mut claims = Vec::new();
        for (_, key) in due {
            let row = self.work.get_mut(&(kind, key.clone())).unwrap();
            self.epochs += 1;
            row.epoch = self.epochs;
            row.claim_until = Some(now + lasting(lease));
            row.moved = false;
            claims.push(Claim { work: Work { kind, key }, epoch: self.epochs });
        }
        claims
    }

    fn held(&mut self, claim: &Claim) -> Option<&mut WorkRow> {
        let row = self.work.get_mut(&place(&claim.work))?;
        (row.epoch == claim.epoch && row.claim_until.is_some()).then_some(row)
    }

    pub(super) fn keep(&mut self, claim: &Claim, lease: Duration, now: Timestamp) -> bool {
        let row = self.held(claim);
        row.is_some_and(|row| row.claim_until.replace(now + lasting(lease)).is_some())
    }

    pub(super) fn release(&mut self, claim: &Claim, after: Duration, now: Timestamp) {
        let Some(row) = self.held(claim) else { return };
        let next = now + lasting(after);
        row.due = if row.moved { row.due.min(next) } else { next };
        row.claim_until = None;
        row.moved = false;
    }

    /// When work of a kind is due next.
    pub(super) fn next_due(&self, kind: &'static str) -> Option<Timestamp> {
        self.of_kind(kind).map(|(_, row)| row.claim_until.map_or(row.due, |until| until.max(row.due))).min()
    }
}
