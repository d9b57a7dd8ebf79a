//! A rollout in a simulated fleet: one seed decides everything, time is virtual, and the real decider decides.
//!
//! The simulation plays the engine's part: it commits, then acts; it loses itself between the two and takes
//! over again; it loses and repeats notifications; its clocks differ. After every decision it checks what must
//! always hold ([`invariants`]). A failing run names its seed.

mod chance;
mod invariants;
mod scenarios;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::{
    ActKey, Action, Command, Consent, Facts, Measurement, News, Numbered, Outcome, Phase, Report, Revision,
    Seen, Settings, Spec, State, Status, Strategy, Target, decide, plan,
};
use crate::id::RolloutId;
use crate::name::Name;
pub(super) use chance::Chance;
pub(super) use world::Sim;

/// When every simulation begins: a Monday at noon, UTC.
pub(super) fn start() -> Timestamp {
    "2026-11-16T12:00:00Z".parse().unwrap()
}

/// What goes wrong, each in thousandths.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Faults {
    /// The server is lost after the commit, before the act.
    pub(super) lost_before: u64,
    /// The server is lost after the act, before its outcome is recorded.
    pub(super) lost_after: u64,
    /// A report comes again.
    pub(super) repeated: u64,
    /// A report wakes nobody.
    pub(super) silent: u64,
    /// A step fails in a way that passes.
    pub(super) hiccups: u64,
    /// A healthy cluster looks unhealthy once.
    pub(super) flaps: u64,
    /// helm takes ten times as long.
    pub(super) slow: u64,
    /// How far clocks differ, in seconds.
    pub(super) skew: u64,
}

#[derive(Debug, Clone)]
enum Event {
    Finish(ActKey),
    Look(Name, Option<Revision>),
    Measure(String),
    Answer(u32),
    Command(Command),
    TakeOver,
}

/// A rollout in a simulated fleet.
pub(super) struct World {
    pub(super) seed: u64,
    pub(super) now: Timestamp,
    pub(super) state: State,
    pub(super) facts: Facts,
    pub(super) fleet: BTreeMap<Name, Sim>,
    pub(super) faults: Faults,
    pub(super) news: Vec<News>,
    pub(super) consent: Consent,
    pub(super) gate: Seen,
    /// Nobody looks at clusters any more.
    pub(super) blind: bool,
    chance: Chance,
    queue: BTreeMap<(Timestamp, u64), Event>,
    sequence: u64,
    due: Option<Timestamp>,
    running: BTreeMap<Name, ActKey>,
    finished: BTreeMap<ActKey, Outcome>,
    watch: invariants::Watch,
    spare: State,
    pub(super) decisions: u64,
}

impl World {
    pub(super) fn new(seed: u64, settings: Settings, targets: Vec<Target>) -> Self {
        let waves = plan(&settings, &targets).unwrap();
        let beside = matches!(settings.strategy, Strategy::BlueGreen(_));
        let sim = Sim { beside, ..Sim::default() };
        let fleet = targets.iter().map(|target| (target.cluster.clone(), sim.clone())).collect();
        let spec = Spec {
            rollout: RolloutId(uuid::Uuid::from_u128(u128::from(seed))),
            operator: "cert-manager".parse().unwrap(),
            version: "2.0.0".parse().unwrap(),
            settings,
            targets,
            smoke: false,
            migrate: false,
        };
        let mut spare = State::new(spec.clone(), Vec::new(), start());
        spare.clusters.clear();
        spare.spec.targets.clear();
        Self {
            seed,
            now: start(),
            spare,
            state: State::new(spec, waves, start()),
            facts: Facts::default(),
            fleet,
            faults: Faults::default(),
            news: Vec::new(),
            consent: Consent::Granted,
            gate: Seen::Passed,
            blind: false,
            chance: Chance::new(seed),
            queue: BTreeMap::new(),
            sequence: 0,
            due: Some(start()),
            running: BTreeMap::new(),
            finished: BTreeMap::new(),
            watch: invariants::Watch::default(),
            decisions: 0,
        }
    }

    /// Somebody wants something after a while.
    pub(super) fn command(&mut self, after: SignedDuration, command: Command) {
        self.at(after, Event::Command(command));
    }

    pub(super) fn sim(&mut self, name: &str) -> &mut Sim {
        self.fleet.get_mut(&name.parse::<Name>().unwrap()).unwrap()
    }

    /// Goes on until nothing is due any more, or so much time has passed.
    pub(super) fn run(&mut self, most: SignedDuration) -> Status {
        let end = self.now + most;
        while let Some(next) = self.next() {
            if next > end {
                self.now = end;
                break;
            }
            self.now = next.max(self.now);
            let mut woken = self.due.is_some_and(|due| due <= self.now);
            while let Some(entry) = self.queue.first_entry() {
                if entry.key().0 > self.now {
                    break;
                }
                let event = entry.remove();
                woken |= self.happens(event);
            }
            if woken {
                self.decide();
            }
        }
        self.state.status
    }

    /// Goes on until a condition holds.
    pub(super) fn until(&mut self, condition: impl Fn(&State) -> bool) {
        for _ in 0..200_000 {
            if condition(&self.state) {
                return;
            }
            let step = self.next().unwrap_or_else(|| panic!("it is over: {:?}", self.state.reason));
            let step = step.duration_since(self.now).max(SignedDuration::ZERO);
            self.run(step);
        }
        panic!("seed {}: it never happened; {:?} {:?}", self.seed, self.state.phase, self.state.paused);
    }

    fn next(&self) -> Option<Timestamp> {
        let queued = self.queue.keys().next().map(|(at, _)| *at);
        [queued, self.due].into_iter().flatten().min()
    }

    fn at(&mut self, after: SignedDuration, event: Event) {
        self.sequence += 1;
        self.queue.insert((self.now + after, self.sequence), event);
    }

    /// Whether it has to be decided because of it.
    fn happens(&mut self, event: Event) -> bool {
        match event {
            Event::Finish(key) => self.finish(&key),
            Event::Look(..) if self.blind => false,
            Event::Look(name, revision) => {
                let flaps = self.chance.per_mille(self.faults.flaps);
                let seen = self.fleet[&name].look(self.now, revision.as_ref(), flaps);
                self.facts.observations.insert(name, seen);
                true
            }
            Event::Measure(gate) => {
                let seen = Measurement { at: self.now, health: self.gate, text: "measured".to_owned() };
                self.facts.measurements.insert(gate, seen);
                true
            }
            Event::Answer(number) => {
                self.facts.consent = Some((number, self.consent.clone()));
                true
            }
            Event::Command(command) => {
                let number = self.facts.commands.len() as u64 + 1;
                self.facts.commands.push(Numbered { number, by: "ada".to_owned(), command });
                true
            }
            Event::TakeOver => {
                self.take_over();
                true
            }
        }
    }

    /// Another server: all it knows is what was committed.
    fn take_over(&mut self) {
        if self.fleet.len() <= 12 {
            let kept = serde_json::to_string(&self.state).unwrap();
            let read: State = serde_json::from_str(&kept).unwrap();
            assert_eq!(read, self.state, "seed {}: what is kept is not what is read", self.seed);
            self.state = read;
        }
        for action in self.state.open() {
            let Action::Act { key, .. } = action else { continue };
            match self.finished.get(&key) {
                Some(outcome) => {
                    self.facts.reports.push(Report { key, outcome: outcome.clone() });
                }
                None if self.running.values().any(|running| *running == key) => {}
                None => self.act(key),
            }
        }
    }

    fn decide(&mut self) {
        self.decisions += 1;
        let skew = self.chance.up_to(2 * self.faults.skew);
        let skew = i64::try_from(skew).unwrap() - i64::try_from(self.faults.skew).unwrap();
        let now = self.now + SignedDuration::from_secs(skew);
        let again = self.decisions.is_multiple_of(64).then(|| self.state.clone());
        let busy: BTreeSet<Name> = self.running.keys().cloned().collect();
        let state = std::mem::replace(&mut self.state, self.spare.clone());
        let decision = decide(state, &self.facts, now);
        if let Some(state) = again {
            let again = decide(state, &self.facts, now);
            assert_eq!(again, decision, "seed {}: the same gave something else", self.seed);
        }
        self.state = decision.state;
        self.facts.reports.retain(|_| false);
        self.due = decision.due.map(|due| due.max(self.now + SignedDuration::from_secs(1)));
        self.check(&busy, &decision.actions, now);
        self.news.extend(decision.news);
        for action in decision.actions {
            let lag = SignedDuration::from_secs(1);
            match action {
                Action::Act { key, .. } => {
                    if self.chance.per_mille(self.faults.lost_before) {
                        self.at(SignedDuration::from_secs(5), Event::TakeOver);
                    } else {
                        self.act(key);
                    }
                }
                Action::Look { cluster, revision } => self.at(lag, Event::Look(cluster, revision)),
                Action::Measure { gate } => self.at(lag, Event::Measure(gate)),
                Action::Ask { number, .. } => self.at(lag, Event::Answer(number)),
            }
        }
    }

    /// The act itself; its intent has to be committed.
    fn act(&mut self, key: ActKey) {
        let seed = self.seed;
        let open = |action: &Action| matches!(action, Action::Act { key: open, .. } if *open == key);
        assert!(self.state.open().iter().any(open), "seed {seed}: {key} has no intent");
        let other = self.running.insert(key.cluster.clone(), key.clone());
        assert_eq!(other, None, "seed {seed}: {key} while another act runs");
        let slow = self.chance.per_mille(self.faults.slow);
        let span = Sim::takes(key.kind, slow, &mut self.chance);
        self.at(span, Event::Finish(key));
    }

    fn finish(&mut self, key: &ActKey) -> bool {
        self.running.remove(&key.cluster);
        let hiccup = self.chance.per_mille(self.faults.hiccups);
        let sim = self.fleet.get_mut(&key.cluster).unwrap();
        let outcome = sim.act(key, self.now, hiccup, &mut self.chance);
        self.watch.acted(key, self.now);
        self.finished.insert(key.clone(), outcome.clone());
        if self.chance.per_mille(self.faults.lost_after) {
            self.at(SignedDuration::from_secs(5), Event::TakeOver);
            return false;
        }
        let report = Report { key: key.clone(), outcome };
        if self.chance.per_mille(self.faults.repeated) {
            self.facts.reports.push(report.clone());
        }
        self.facts.reports.push(report);
        !self.chance.per_mille(self.faults.silent)
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.phase == Phase::Over
    }

    pub(super) fn told(&self, kind: &str) -> usize {
        self.news.iter().filter(|news| news.kind == kind).count()
    }

    pub(super) fn on_target(&self) -> BTreeSet<&str> {
        let new = |sim: &&Sim| sim.version() == Some("2.0.0");
        self.fleet.iter().filter(|(_, sim)| new(sim)).map(|(name, _)| name.as_str()).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let seed = self.seed;
            eprintln!("to see it again: SLIPWAY_SEED={seed} cargo test -p slipway-domain --lib simulation");
        }
    }
}
