//! What comes before a change: preflight, approvals, windows, somebody's word.

use super::super::action::Action;
use super::super::cluster::Stage;
use super::super::facts::Consent;
use super::super::plan::WaveKind;
use super::super::state::{Part, Phase, Status, after};
use super::super::step::StepKind;
use super::super::strategy::{BlueGreen, Strategy};
use super::{Deciding, FRESH, list};
use crate::access::Environment;
use crate::name::Name;

/// What people say.
enum Answer {
    Yes,
    NotYet,
    No(String),
}

impl Deciding<'_> {
    /// Every target is looked at; whatever refuses ends it before anything is touched.
    pub(super) fn preflight(&mut self) -> bool {
        let waiting = self.which(|cluster| cluster.stage == Stage::Waiting && cluster.fit.is_none());
        for name in &waiting {
            self.ask_preflight(name);
        }
        if !waiting.is_empty() {
            return false;
        }
        let refused = self.which(|cluster| cluster.stage == Stage::Failed && !cluster.accepted);
        if !refused.is_empty() {
            let first = refused.first().and_then(|name| self.state.clusters.get(name));
            let why = first.and_then(|cluster| cluster.problem.clone()).unwrap_or_default();
            self.end(Status::Failed, format!("preflight: {}: {why}", list(&refused)));
            return true;
        }
        if !self.which(|cluster| cluster.stage == Stage::Waiting).is_empty() {
            self.tell("preflightDone", None, "preflight found nothing in the way");
            self.go(Phase::Consent, Status::Planning);
            return true;
        }
        let all: Vec<Name> = self.state.clusters.keys().cloned().collect();
        self.give_up(&all);
        if self.which(|cluster| cluster.stage == Stage::Quarantined).is_empty() {
            self.end(Status::Failed, "no cluster could be reached, or all were left out".to_owned());
            return true;
        }
        false
    }

    pub(super) fn consent_phase(&mut self) -> bool {
        if self.state.paused.is_some() {
            return false;
        }
        match self.consent() {
            Answer::Yes => {
                self.go(Phase::Wave { index: 0, part: Part::Opening }, Status::Planning);
                true
            }
            Answer::NotYet => false,
            Answer::No(reason) => {
                self.end(Status::Cancelled, reason);
                true
            }
        }
    }

    /// Whether people agree to the plan as it is now; asks them where nobody did.
    fn consent(&mut self) -> Answer {
        let plan = self.state.plan_hash();
        if self.state.plan.as_ref() != Some(&plan) {
            self.state.plan = Some(plan.clone());
            self.state.asks += 1;
            self.actions.push(Action::Ask { plan, number: self.state.asks });
            return Answer::NotYet;
        }
        let said = self.facts.consent.as_ref().filter(|(number, _)| *number == self.state.asks);
        match said.map(|(_, consent)| consent) {
            None => Answer::NotYet,
            Some(Consent::Granted) => {
                let agreed = self.state.clusters.iter().filter_map(|(name, cluster)| {
                    Some((*self.environments.get(name)?, cluster.fit.as_ref()?.digest.clone()))
                });
                self.state.agreed.extend(agreed);
                Answer::Yes
            }
            Some(Consent::Pending { expires_at, .. }) => {
                self.reached(*expires_at);
                Answer::NotYet
            }
            Some(Consent::Rejected { reason }) => Answer::No(format!("approval rejected: {reason}")),
            Some(Consent::Expired) => Answer::No("nobody approved in time".to_owned()),
        }
    }

    /// The gates before a wave, those that cost nothing first.
    pub(super) fn opening(&mut self, index: usize) -> bool {
        if self.state.paused.is_some() || self.waits_for_promotion(index).is_some() {
            return false;
        }
        let due = self.due(index);
        let open = due.iter().filter(|name| self.is_open(name)).count();
        if open == 0 && !due.is_empty() {
            return false;
        }
        let mut fresh = true;
        for name in &due {
            let since = self.state.since.max(after(self.now, -FRESH));
            let Some(cluster) = self.state.clusters.get(name) else { continue };
            if cluster.step.is_some() || cluster.fit.as_ref().is_none_or(|fit| fit.at < since) {
                fresh = false;
                self.ask_preflight(name);
            }
        }
        if !fresh {
            return false;
        }
        if !due.iter().all(|name| self.is_agreed(name)) {
            match self.consent() {
                Answer::Yes => {}
                Answer::NotYet => return false,
                Answer::No(reason) if !self.state.touched() => {
                    self.end(Status::Cancelled, reason);
                    return true;
                }
                Answer::No(reason) => {
                    // Whoever resumes asks again; the answer to this question stands.
                    self.state.refusals += 1;
                    self.pause(format!("{reason}; the plan changed since it was approved"));
                    return false;
                }
            }
        }
        let title = self.state.waves.get(index).map(|wave| wave.title.clone()).unwrap_or_default();
        self.tell("waveStarted", None, format!("wave {}: {title}", index + 1));
        self.go(Phase::Wave { index, part: Part::Walking }, Status::Deploying);
        true
    }

    /// The clusters of a wave that are to be changed in it.
    pub(super) fn due(&self, index: usize) -> Vec<Name> {
        let Some(wave) = self.state.waves.get(index) else { return Vec::new() };
        let from = if wave.kind == WaveKind::Switch { Stage::Prepared } else { Stage::Waiting };
        let ready = |name: &&Name| self.state.clusters.get(*name).is_some_and(|c| c.stage == from && !c.back);
        wave.clusters.iter().filter(ready).cloned().collect()
    }

    /// Whether people agreed to what would change on a cluster.
    pub(super) fn is_agreed(&self, name: &Name) -> bool {
        let fit = self.state.clusters.get(name).and_then(|cluster| cluster.fit.as_ref());
        let environment = self.environments.get(name).copied();
        fit.zip(environment)
            .is_none_or(|(fit, environment)| self.state.agreed.contains(&(environment, fit.digest.clone())))
    }

    /// What a wave waits for somebody to promote.
    fn waits_for_promotion(&self, index: usize) -> Option<String> {
        promotion(&self.state, index)
    }

    fn ask_preflight(&mut self, name: &Name) {
        let Some(cluster) = self.state.clusters.get(name) else { return };
        let (busy, retry_at) = (cluster.step.is_some(), cluster.retry_at);
        if !busy && retry_at.is_none_or(|at| self.reached(at)) {
            self.begin(name, StepKind::Preflight);
        }
    }
}

/// What a wave waits for somebody to promote, in words.
pub(in super::super) fn promotion(state: &super::State, index: usize) -> Option<String> {
    let wave = state.waves.get(index)?;
    if state.promoted.contains(&index) {
        return None;
    }
    let switches = |kind| kind == WaveKind::Switch;
    let manual =
        matches!(&state.spec.settings.strategy, Strategy::BlueGreen(BlueGreen { auto_switch: false, .. }));
    let first = state.waves.iter().position(|wave| switches(wave.kind)) == Some(index);
    if manual && first && !state.waves.iter().take(index).any(|wave| switches(wave.kind)) {
        return Some("the switch to green".to_owned());
    }
    let enters = |environment: &&Environment| {
        let in_wave = |wave: &super::super::plan::Wave| {
            wave.clusters.iter().any(|name| state.environment(name) == **environment)
        };
        let before =
            state.waves.iter().take(index).filter(|wave| wave.kind != WaveKind::Prepare).any(in_wave);
        wave.kind != WaveKind::Prepare && in_wave(wave) && !before
    };
    let entered = state.spec.settings.pause_before.iter().find(enters)?;
    Some(format!("the first change in {entered}"))
}
