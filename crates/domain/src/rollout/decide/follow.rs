//! Follows what people want, in the order they asked.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::super::cluster::{ClusterState, Fit, Stage};
use super::super::command::{Command, Numbered, again};
use super::super::plan::WaveKind;
use super::super::state::{Back, Part, Pause, Phase, State, Status, after};
use super::{Deciding, list};
use crate::name::Name;

impl Deciding<'_> {
    pub(super) fn follow(&mut self) {
        let facts = self.facts;
        for numbered in &facts.commands {
            if numbered.number <= self.state.commands {
                continue;
            }
            self.state.commands = numbered.number;
            let Numbered { by, command, .. } = numbered;
            let word = command.word();
            // It was possible when somebody asked; meanwhile the rollout may have moved on.
            match command.check(&self.state) {
                Ok(()) => {
                    self.tell(word, None, format!("{by}: {word}"));
                    self.obey(by, command);
                }
                Err(refusal) => self.tell("refused", None, format!("{by}: {word}: {refusal}")),
            }
        }
    }

    fn obey(&mut self, by: &str, command: &Command) {
        match command {
            Command::Pause { reason } => {
                let reason = format!("paused by {by}: {reason}");
                let pause = Pause { since: self.now, reason, automatic: false };
                self.state.paused.get_or_insert(pause);
            }
            Command::Resume => self.resume(),
            Command::Cancel { reason } => {
                if self.state.status != Status::Cancelled {
                    self.state.paused = None;
                    let reason = format!("cancelled by {by}: {reason}");
                    // The status stays until nothing runs any more.
                    self.go(Phase::Cancelling { reason }, self.state.status);
                }
            }
            Command::Retry { clusters } => self.retry(clusters.as_ref()),
            Command::Skip { cluster } => self.skip(by, cluster),
            Command::Promote => self.promote(),
            Command::ExtendSoak { by: span } => {
                if let Phase::Wave { part: Part::Soaking { until }, .. } = &mut self.state.phase {
                    *until = after(*until, *span);
                }
            }
            Command::RollBack { reason, clusters, down_migrate } => {
                let reason = format!("taken back by {by}: {reason}");
                self.roll_back(reason, clusters.as_ref(), *down_migrate);
            }
            Command::Supersede { by: newer } => {
                if self.state.status.is_end() {
                    self.state.replaced_by = Some(*newer);
                } else {
                    self.end(Status::Cancelled, format!("deployment {newer} took its place"));
                    self.state.replaced_by = Some(*newer);
                    self.leave_out_untouched("a newer deployment took its place");
                }
            }
        }
    }

    fn resume(&mut self) {
        let Some(pause) = self.state.paused.take() else { return };
        if !pause.automatic {
            return;
        }
        for cluster in self.state.clusters.values_mut().filter(|cluster| cluster.failed()) {
            cluster.accepted = true;
        }
        self.state.gates.clear();
        if let Phase::Wave { index, part: Part::Soaking { .. } } = self.state.phase {
            self.state.excused = Some(index);
            for name in self.which(|c| matches!(c.stage, Stage::Done | Stage::Prepared)) {
                let healthy = self.state.clusters.get(&name).is_some_and(|c| self.is_healthy(c));
                if let Some(cluster) = self.state.clusters.get_mut(&name) {
                    cluster.accepted |= !healthy;
                }
            }
        }
        // Somebody said no to this plan; whoever resumes asks again.
        self.state.plan = None;
        if let Phase::Wave { part: Part::Soaking { until }, .. } = &mut self.state.phase {
            *until = (*until).max(self.now);
        }
    }

    fn skip(&mut self, by: &str, name: &Name) {
        let now = self.now;
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        if cluster.failed() {
            cluster.accepted = true;
        } else {
            cluster.step = None;
            cluster.enter(Stage::Skipped, now);
            cluster.problem = Some(format!("left out by {by}"));
        }
        let automatic = self.state.paused.as_ref().is_some_and(|pause| pause.automatic);
        if automatic && !self.state.clusters.values().any(|cluster| cluster.failed() && !cluster.accepted) {
            self.state.paused = None;
        }
    }

    fn promote(&mut self) {
        let now = self.now;
        match &mut self.state.phase {
            Phase::Wave { index, part: Part::Opening } => {
                self.state.promoted.insert(*index);
            }
            Phase::Wave { part: Part::Soaking { until } | Part::Resting { until }, .. } => *until = now,
            _ => {}
        }
    }

    fn roll_back(&mut self, reason: String, wanted: Option<&BTreeSet<Name>>, down_migrate: bool) {
        let fits = |cluster: &ClusterState| {
            cluster.touched.is_some()
                && !matches!(cluster.stage, Stage::RolledBack)
                && !cluster.is_going_back()
        };
        let mut names = self.which(fits);
        names.retain(|name| wanted.is_none_or(|wanted| wanted.contains(name)));
        if names.is_empty() {
            return;
        }
        for name in &names {
            if let Some(cluster) = self.state.clusters.get_mut(name)
                && cluster.stage == Stage::RollbackFailed
            {
                cluster.stage = Stage::Failed;
            }
        }
        self.go_back(&names, Back { reason, automatic: false, down_migrate });
    }

    /// Clusters that could not be taken back are taken back again; where there is none, those that have not
    /// got the version get another turn: in this wave while it goes on, in one of their own afterwards.
    fn retry(&mut self, wanted: Option<&BTreeSet<Name>>) {
        let state: &State = &self.state;
        let chosen = |name: &&Name| wanted.is_none_or(|wanted| wanted.contains(*name));
        let names: Vec<Name> =
            state.clusters.keys().filter(|name| again(state, name)).filter(chosen).cloned().collect();
        let stuck: Vec<Name> = names
            .iter()
            .filter(|name| state.clusters.get(*name).is_some_and(|c| c.stage == Stage::RollbackFailed))
            .cloned()
            .collect();
        let going = matches!(self.state.phase, Phase::Wave { .. } | Phase::CatchUp);
        if going && !stuck.is_empty() {
            // The others go on meanwhile, and these wait for their turn to be taken back.
            for name in stuck {
                self.stage(&name, Stage::Failed);
            }
            return;
        }
        if !stuck.is_empty() {
            let reason = self.state.reason.clone().unwrap_or_else(|| "tried again".to_owned());
            self.roll_back(reason, Some(&stuck.into_iter().collect()), false);
            return;
        }
        if let Phase::Wave { index, .. } = self.state.phase {
            self.renew(&names);
            self.go(Phase::Wave { index, part: Part::Opening }, Status::Deploying);
        } else {
            self.renew(&names);
            self.state.reason = None;
            // Whoever retries some leaves the others as they are.
            for cluster in self.state.clusters.values_mut() {
                cluster.accepted |=
                    !matches!(cluster.stage, Stage::Waiting | Stage::Done) || cluster.failed();
            }
            self.resume_waves(&names);
        }
        self.tell("retried", None, format!("another turn for {}", list(&names)));
    }

    /// Goes on with the first wave that did not pass; before it come those whose wave did.
    fn resume_waves(&mut self, names: &[Name]) {
        let index = self.state.passed;
        let ahead: BTreeSet<&Name> = self
            .state
            .waves
            .iter()
            .skip(index)
            .filter(|wave| wave.kind != WaveKind::Switch)
            .flat_map(|wave| &wave.clusters)
            .collect();
        let late: Vec<Name> = names.iter().filter(|name| !ahead.contains(name)).cloned().collect();
        if !late.is_empty() {
            self.add_waves(index, "retry", &late);
        }
        self.state.promoted.retain(|wave| *wave < index);
        self.go(Phase::Wave { index, part: Part::Opening }, Status::Deploying);
    }

    /// Another turn from the start. Attempts go on counting, and what the cluster was before stays known.
    fn renew(&mut self, names: &[Name]) {
        let now = self.now;
        self.state.paused = None;
        self.state.gates.clear();
        for name in names {
            let Some(old) = self.state.clusters.get_mut(name) else { continue };
            let clean = old.stage == Stage::RolledBack;
            // A preflight is due again; what people agreed to stays.
            let stale = |fit: Fit| Fit { at: Timestamp::MIN, ..fit };
            *old = ClusterState {
                attempts: std::mem::take(&mut old.attempts),
                touched: old.touched.filter(|_| !clean),
                before: old.before.take(),
                fit: old.fit.take().filter(|_| !clean).map(stale),
                runs: old.runs,
                notes: std::mem::take(&mut old.notes),
                ..ClusterState::new(now)
            };
        }
    }
}
