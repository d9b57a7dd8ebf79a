//! What must always hold: checked with every decision, every act and every change of a cluster.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use slipway_domain::name::Name;
use slipway_domain::rollout::{
    ActKey, Facts, Part, Phase, Runs, Seen, Stage, State, Status, StepKind, Wave, WaveKind, why,
};
use slipway_domain::settings::window::{Opening, opening};

use super::cluster::NEW;
use super::site::Inner;
use crate::ports::store::StepRow;
use crate::rollouts::ROLLOUT;

/// What was recorded is decided about within this, while nothing is disturbed.
const HEARD: SignedDuration = SignedDuration::from_secs(25);

/// What the checks remember, apart from what the engine remembers.
pub(super) struct Watch {
    /// When a cluster was last changed forward.
    forward: BTreeMap<Name, Timestamp>,
    /// The highest wave that was begun.
    begun: Option<usize>,
    /// Since when something was recorded that nobody has decided about.
    pub(super) told: Option<Timestamp>,
    /// What gates answer.
    pub(super) gate: Seen,
    pub(super) decisions: u64,
    pub(super) acts: u64,
    /// Acts that went on with what another server had begun.
    pub(super) resumed: u64,
    /// Acts of a server that had lost its claim.
    pub(super) late: u64,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            forward: BTreeMap::new(),
            begun: None,
            told: None,
            gate: Seen::Passed,
            decisions: 0,
            acts: 0,
            resumed: 0,
            late: 0,
        }
    }
}

fn is_forward(kind: StepKind) -> bool {
    matches!(kind, StepKind::Crds | StepKind::Release | StepKind::Switch)
}

impl Inner {
    /// Somebody reads what was recorded, to decide: nothing waited for long.
    pub(super) fn heard_of(&mut self) {
        let Some(told) = self.watch.told.take() else { return };
        let calm = told > self.disturbed + SignedDuration::from_mins(2);
        let waited = self.now.duration_since(told);
        assert!(!calm || waited <= HEARD, "what was recorded waited for {waited:#}");
    }

    /// A decision was committed, with these intents.
    pub(super) fn check_decision(&mut self, intents: &[(ActKey, Timestamp)]) {
        self.watch.decisions += 1;
        for (key, deadline) in intents {
            assert!(*deadline > self.rows.rollout.state.at, "{key} was over before it began");
            for (other, _) in self.fleet[&key.cluster].acting.values() {
                let over = self.rows.steps.get(other).is_some_and(|row| row.outcome.is_some());
                assert!(over || !other.kind.changes(), "{key} is intended while {other} goes on");
            }
            if is_forward(key.kind) {
                self.check_turn(key);
            }
            self.check_window(key);
        }
        let state = &self.rows.rollout.state;
        check_limit(state);
        let held = !state.status.is_end();
        assert_eq!(held, !self.rows.reserved.is_empty(), "reservations of {}", state.status);
        if state.phase == Phase::Over {
            self.check_end();
        } else {
            assert!(self.rows.work.keys().any(|(kind, _)| *kind == ROLLOUT), "nothing wakes it");
            if self.fleet.len() <= 40 || self.watch.decisions.is_multiple_of(50) {
                let why = why(state, &Facts::default(), self.now);
                let told = why.rollout.as_ref().is_some_and(|wait| !wait.what.is_empty());
                assert!(told, "it does not say what it waits for: {:?}", state.phase);
            }
        }
    }

    /// No cluster begins while a window is closed for it. What began before goes on.
    fn check_window(&self, key: &ActKey) {
        let state = &self.rows.rollout.state;
        let begins = matches!(key.kind, StepKind::Snapshot | StepKind::Switch)
            && state.clusters[&key.cluster].since == state.at;
        if begins && !self.windows.is_empty() {
            let environment = state.environment(&key.cluster);
            let opening = opening(&self.windows, environment, &state.spec.operator, state.at);
            assert_eq!(opening, Opening::Open, "{key} begins at {}", state.at);
        }
    }

    /// No wave begins before the one before it passed, its soak included.
    fn check_turn(&mut self, key: &ActKey) {
        let state = &self.rows.rollout.state;
        let Phase::Wave { index, .. } = state.phase else {
            let going = matches!(state.phase, Phase::Cancelling { .. } | Phase::Back(_));
            assert!(going, "{key} in {:?}", state.phase);
            return;
        };
        assert!(state.waves[index].clusters.contains(&key.cluster), "{key} is not in wave {index}");
        assert!(state.passed >= index, "wave {index} before its turn");
        if self.watch.begun.is_some_and(|begun| begun >= index) {
            return;
        }
        self.watch.begun = Some(index);
        let Some(last) = index.checked_sub(1).filter(|_| self.rows.commands.is_empty()) else { return };
        let last = &state.waves[last];
        let finished = last.clusters.iter().filter_map(|name| self.watch.forward.get(name)).max();
        if let Some(finished) = finished {
            let soaked = self.now.duration_since(*finished) + SignedDuration::from_secs(10);
            assert!(soaked >= last.soak, "wave {index} began after {soaked:#}");
        }
    }

    /// A step is begun: its intent is committed, and nobody else is at this cluster.
    pub(super) fn check_act(&mut self, step: &StepRow, resumed: bool) {
        let key = &step.key;
        self.watch.acts += 1;
        let claim = self.holders[&self.current].clone();
        if !self.rows.holds(&claim.fence()) {
            // It stood still and does not know yet. What it does must be harmless.
            self.watch.late += 1;
            return;
        }
        self.watch.resumed += u64::from(resumed);
        let Some(row) = self.rows.steps.get(key) else { panic!("{key} has no intent") };
        assert_eq!(row.begun, Some(claim.epoch), "{key} was not begun under the claim it is done under");
        assert_eq!(row.outcome, None, "{key} was recorded already");
        assert_eq!(step.begun, Some(claim.epoch), "{key} does not know its epoch");
        if !key.kind.changes() {
            return;
        }
        let state = &self.rows.rollout.state.clusters[&key.cluster];
        let open =
            state.step.as_ref().is_some_and(|open| open.kind == key.kind && open.attempt == key.attempt);
        assert!(open, "{key} is not what was decided: {:?}", state.step);
        let cluster = &self.fleet[&key.cluster];
        for (other, epoch) in cluster.acting.values().filter(|(other, _)| other.kind.changes()) {
            let over = self.rows.steps.get(other).is_some_and(|row| row.outcome.is_some());
            let told = resumed && other == key && *epoch < claim.epoch;
            assert!(over || told, "{key} while {other} of epoch {epoch} goes on");
        }
        assert!(
            cluster.pending.as_ref() != Some(key) || resumed,
            "{key} does not know that it was begun before"
        );
        self.check_at_once(key);
    }

    /// Never more clusters are really changed at once than may be.
    fn check_at_once(&self, key: &ActKey) {
        // In a large fleet, counting all of it each time would be most of the work.
        let often = self.fleet.len() <= 40 || self.watch.acts.is_multiple_of(100);
        if !often || matches!(key.kind, StepKind::Migrate | StepKind::RetireBlue) {
            return;
        }
        let state = &self.rows.rollout.state;
        let holds = |key: &ActKey| self.rows.steps.get(key).is_some_and(|row| row.outcome.is_none());
        let busy = |name: &Name| {
            let mut acting = self.fleet[name].acting.values();
            name == &key.cluster || acting.any(|(key, _)| key.kind.changes() && holds(key))
        };
        let busy: Vec<&Name> = self.fleet.keys().filter(|name| busy(name)).collect();
        let limit = busy.iter().map(|name| limit_of(state, name)).max().unwrap_or(1);
        assert!(busy.len() <= limit, "{} clusters are changed at once, {limit} allowed", busy.len());
    }

    /// A cluster is changed.
    pub(super) fn check_effect(&mut self, key: &ActKey) {
        let Some(row) = self.rows.steps.get(key) else { panic!("{key} has no intent") };
        assert_eq!(row.outcome, None, "{key} changes its cluster after it was recorded");
        if is_forward(key.kind) {
            self.watch.forward.insert(key.cluster.clone(), self.now);
        }
    }

    /// Where it ends, every cluster runs what is recorded, and everything that can be told is told.
    pub(super) fn check_end(&self) {
        let state = &self.rows.rollout.state;
        assert!(state.status.is_end(), "over as {}", state.status);
        for (name, known) in &state.clusters {
            let cluster = &self.fleet[name];
            let kept = self.rows.snapshots.get(name).map(|kept| String::from_utf8(kept.clone()).unwrap());
            let runs = cluster.version();
            match known.runs {
                Runs::Target => assert_eq!(runs, Some(NEW), "{name} {known:#?}"),
                Runs::Before if known.touched.is_some() => {
                    assert_eq!(runs.unwrap_or_default(), kept.expect("it was kept"), "{name} {known:#?}");
                }
                Runs::Before => assert_ne!(runs, Some(NEW), "{name} {known:#?}"),
                Runs::Between => {
                    let told = matches!(known.stage, Stage::Failed | Stage::RollbackFailed | Stage::Skipped);
                    assert!(told, "{name} ends in between: {known:#?}");
                    let recorded = [Some(NEW), kept.as_deref().filter(|kept| !kept.is_empty()), None];
                    assert!(recorded.contains(&runs), "{name} runs {runs:?}, which nobody recorded");
                }
            }
            // What could not be taken back had a reason for it.
            if known.stage == Stage::RollbackFailed {
                let reason = !cluster.away.is_empty() || cluster.restore_fails > 0 || known.hiccups > 0;
                assert!(reason || known.problem.is_some(), "{name} could have been taken back");
            }
            if state.status == Status::RolledBack {
                assert!(!known.back || known.stage == Stage::RolledBack, "{name} stays");
                assert!(!(known.back && cluster.green), "green stays on {name}");
            }
        }
        match state.status {
            Status::Completed => {
                assert!(state.clusters.values().all(|known| known.runs == Runs::Target), "not complete");
            }
            Status::RolledBack => {}
            _ => assert!(state.reason.is_some(), "it does not say why"),
        }
    }
}

/// How many clusters may be changed at once where this one is; green beside blue does no work yet.
fn limit_of(state: &State, cluster: &Name) -> usize {
    let waves = state.waves.iter().filter(|wave| wave.clusters.contains(cluster));
    waves.map(|wave| wave.at_once).max().unwrap_or(1).max(state.at_once(cluster))
}

/// Never more than `maxUnavailable` at once.
fn check_limit(state: &State) {
    let moving: Vec<&Name> = state
        .clusters
        .iter()
        .filter(|(_, cluster)| cluster.stage.is_moving() && !cluster.is_aside())
        .map(|(name, _)| name)
        .collect();
    let limit = if let Phase::Wave { index, .. } = state.phase {
        state.waves[index].at_once
    } else {
        let touches = |wave: &&Wave| moving.iter().any(|name| wave.clusters.contains(name));
        state.waves.iter().filter(touches).map(|wave| wave.at_once).max().unwrap_or(0)
    };
    assert!(moving.len() <= limit, "{} at once, {limit} allowed, in {:?}", moving.len(), state.phase);
    if let Phase::Wave { index, part: Part::Soaking { .. } } = state.phase {
        let change = state.waves[index].kind != WaveKind::Prepare;
        let goes_on = state.spec.settings.strategy.goes_on_after_failure();
        assert!(moving.is_empty() || !change || goes_on, "soaks too early");
    }
}
