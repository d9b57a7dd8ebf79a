//! The decider: state, facts and the time in; a new state, and what is to be done, out.
//!
//! Pure, and in a fixed order: it never sleeps, never reads a clock and never looks anything up. Outcomes and
//! observations are folded in first, then commands are followed, then the rollout is moved on as far as it
//! goes, then the next steps of clusters are begun. The same state, facts and time always give the same.

mod back;
mod clusters;
mod end;
mod fold;
mod follow;
mod opening;
mod soak;
mod walk;

pub(super) use opening::promotion;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::action::{Action, Decision, News};
use super::cluster::{ClusterState, Runs, Stage};
use super::facts::Facts;
use super::state::{Part, Pause, Phase, State, Status, after};
use super::step::{ActKey, Step, StepKind};
use super::strategy::Strategy;
use crate::access::Environment;
use crate::name::Name;
use crate::settings::window::{Opening, opening};

/// How long a touched cluster that cannot be reached holds everything up before it counts as failed, and how
/// long a soak waits for a last word.
pub(super) const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// How old a preflight may be when the first cluster of a wave is changed.
const FRESH: SignedDuration = SignedDuration::from_mins(10);

/// How often a cluster is tried that cannot be reached.
const PROBE: SignedDuration = SignedDuration::from_mins(1);

/// How often a cluster is looked at that should become healthy any moment.
const SETTLE: SignedDuration = SignedDuration::from_secs(5);

/// It is decided again after this long even where nothing is expected.
const LATEST: SignedDuration = SignedDuration::from_mins(1);

/// And after this long where only time has to pass.
const CALM: SignedDuration = SignedDuration::from_hours(1);

/// Decides.
pub fn decide(state: State, facts: &Facts, now: Timestamp) -> Decision {
    // Servers' clocks differ; what was decided already is never undone by an earlier time.
    let now = now.max(state.at);
    let environments =
        state.spec.targets.iter().map(|target| (target.cluster.clone(), target.environment)).collect();
    let mut deciding = Deciding {
        state,
        facts,
        now,
        environments,
        openings: BTreeMap::new(),
        actions: Vec::new(),
        news: Vec::new(),
        wake: None,
    };
    deciding.state.at = now;
    deciding.run();
    let over = deciding.state.phase == Phase::Over && deciding.state.open().is_empty();
    let calm = matches!(deciding.state.phase, Phase::Aftercare { .. });
    let latest = after(now, if calm { CALM } else { LATEST });
    let due = (!over).then(|| deciding.wake.map_or(latest, |wake| wake.min(latest)));
    Decision { state: deciding.state, actions: deciding.actions, news: deciding.news, due }
}

/// A decision on its way.
struct Deciding<'a> {
    state: State,
    facts: &'a Facts,
    now: Timestamp,
    environments: BTreeMap<Name, Environment>,
    openings: BTreeMap<Environment, Opening>,
    actions: Vec<Action>,
    news: Vec<News>,
    wake: Option<Timestamp>,
}

impl Deciding<'_> {
    fn run(&mut self) {
        self.fold();
        self.follow();
        // Each turn changes the phase, and phases only repeat wave by wave.
        let most = 4 * self.state.waves.len() + 16;
        for _ in 0..most {
            self.settle_clusters();
            if !self.advance() {
                break;
            }
        }
        self.drive();
    }

    /// Moves on by one phase; false where it has to wait.
    fn advance(&mut self) -> bool {
        match self.state.phase.clone() {
            Phase::Preflight => self.preflight(),
            Phase::Consent => self.consent_phase(),
            Phase::Wave { index, part } => self.wave(index, &part),
            Phase::CatchUp => self.catch_up(),
            Phase::Back(back) => self.back(&back),
            Phase::Cancelling { reason } => self.cancelling(&reason),
            Phase::Watching { until } => self.watching(until),
            Phase::Aftercare { retire_at } => self.aftercare(retire_at),
            Phase::Over => false,
        }
    }

    fn wave(&mut self, index: usize, part: &Part) -> bool {
        if self.broke(index) {
            return true;
        }
        match part {
            Part::Opening => self.opening(index),
            Part::Walking => self.walking(index),
            Part::Soaking { until } => self.soaking(index, *until),
            Part::Resting { until } => {
                if self.state.paused.is_some() || !self.reached(*until) {
                    return false;
                }
                self.next_wave(index);
                true
            }
        }
    }

    /// Goes to a phase.
    fn go(&mut self, phase: Phase, status: Status) {
        self.state.phase = phase;
        self.state.status = status;
        self.state.since = self.now;
    }

    fn stage(&mut self, cluster: &Name, stage: Stage) {
        let now = self.now;
        if let Some(cluster) = self.state.clusters.get_mut(cluster) {
            cluster.enter(stage, now);
        }
    }

    /// Begins a step: the intent is in the state, and the act follows once that is committed.
    fn begin(&mut self, name: &Name, kind: StepKind) {
        let patience = self.state.spec.settings.strategy.timeout();
        let (now, beside) = (self.now, self.is_blue_green());
        let Some(cluster) = self.state.clusters.get_mut(name) else { return };
        if cluster.step.is_some() {
            return;
        }
        let attempt = cluster.attempts.entry(kind).or_insert(0);
        *attempt += 1;
        let span = match kind {
            StepKind::Release | StepKind::Restore | StepKind::Smoke => patience,
            StepKind::Migrate => SignedDuration::from_hours(1),
            StepKind::Preflight | StepKind::Snapshot => SignedDuration::from_mins(1),
            _ => SignedDuration::from_mins(2),
        };
        let deadline = after(now, span);
        let key = ActKey { cluster: name.clone(), kind, attempt: *attempt };
        cluster.step = Some(Step { kind, attempt: *attempt, since: now, deadline });
        cluster.retry_at = None;
        if kind.changes() {
            cluster.touched.get_or_insert(now);
        }
        let replaces = match kind {
            StepKind::Release => !beside,
            StepKind::Switch | StepKind::Restore | StepKind::SwitchBack => true,
            _ => false,
        };
        if replaces {
            cluster.runs = Runs::Between;
        }
        self.actions.push(Action::Act { key, deadline });
    }

    fn is_blue_green(&self) -> bool {
        matches!(self.state.spec.settings.strategy, Strategy::BlueGreen(_))
    }

    /// Whether a time is reached; it is decided again then, where it is not.
    fn reached(&mut self, at: Timestamp) -> bool {
        if self.now >= at {
            return true;
        }
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
        false
    }

    /// Whether windows let a cluster be changed now.
    fn is_open(&mut self, cluster: &Name) -> bool {
        let environment = self.environments.get(cluster).copied().unwrap_or(Environment::Production);
        let (facts, now) = (self.facts, self.now);
        let operator = &self.state.spec.operator;
        let found = self
            .openings
            .entry(environment)
            .or_insert_with(|| opening(&facts.windows, environment, operator, now))
            .clone();
        match found {
            Opening::Open => true,
            Opening::Closed { until, .. } => {
                if let Some(until) = until {
                    self.reached(until);
                }
                false
            }
        }
    }

    fn pause(&mut self, reason: String) {
        self.news.push(News { kind: "paused", cluster: None, text: reason.clone(), loud: true });
        self.state.paused = Some(Pause { since: self.now, reason, automatic: true });
    }

    fn tell(&mut self, kind: &'static str, cluster: Option<&Name>, text: impl Into<String>) {
        self.news.push(News { kind, cluster: cluster.cloned(), text: text.into(), loud: false });
    }

    fn shout(&mut self, kind: &'static str, cluster: Option<&Name>, text: impl Into<String>) {
        self.news.push(News { kind, cluster: cluster.cloned(), text: text.into(), loud: true });
    }

    /// The clusters that a condition holds for, by name.
    fn which(&self, condition: impl Fn(&ClusterState) -> bool) -> Vec<Name> {
        let fits = self.state.clusters.iter().filter(|(_, cluster)| condition(cluster));
        fits.map(|(name, _)| name.clone()).collect()
    }

    /// How many clusters are being changed.
    fn moving(&self) -> usize {
        self.state.clusters.values().filter(|cluster| cluster.stage.is_moving()).count()
    }
}

impl ClusterState {
    fn enter(&mut self, stage: Stage, now: Timestamp) {
        self.stage = stage;
        self.since = now;
        self.hiccups = 0;
        self.lost = 0;
        self.retry_at = None;
        self.unreachable = None;
    }
}

/// A few names, the rest as a number.
fn list(names: &[Name]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(Name::as_str).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
