//! What must always hold, checked after every decision.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::super::{ActKey, Action, Part, Phase, Runs, Stage, Status, StepKind, WaveKind, why};
use super::World;
use crate::name::Name;
use crate::version::Version;

/// What the checks remember, apart from what the decider remembers.
#[derive(Default)]
pub(super) struct Watch {
    intents: BTreeSet<ActKey>,
    /// When a step forward was last finished, by cluster.
    forward: BTreeMap<Name, Timestamp>,
    /// The highest wave that was begun.
    begun: Option<usize>,
}

impl Watch {
    pub(super) fn acted(&mut self, key: &ActKey, now: Timestamp) {
        if key.kind.changes() && !key.kind.is_back() {
            self.forward.insert(key.cluster.clone(), now);
        }
    }
}

fn is_forward(kind: StepKind) -> bool {
    matches!(kind, StepKind::Crds | StepKind::Release | StepKind::Switch)
}

impl World {
    pub(super) fn check(&mut self, busy: &BTreeSet<Name>, actions: &[Action], now: Timestamp) {
        let seed = self.seed;
        for action in actions {
            let Action::Act { key, deadline } = action else { continue };
            assert!(self.watch.intents.insert(key.clone()), "seed {seed}: {key} was begun twice");
            assert!(*deadline > now, "seed {seed}: {key} was over before it began");
            assert!(!busy.contains(&key.cluster), "seed {seed}: {key} while another act runs");
            if is_forward(key.kind) {
                self.check_turn(key);
            }
        }
        self.check_limit();
        if self.state.phase == Phase::Over {
            self.check_end();
        } else {
            let why = why(&self.state, &self.facts, now);
            let told = why.rollout.as_ref().is_some_and(|wait| !wait.what.is_empty());
            assert!(told, "seed {seed}: it does not say what it waits for: {:?}", self.state.phase);
            assert!(self.due.is_some(), "seed {seed}: nothing wakes it: {:?}", self.state.phase);
        }
    }

    /// No wave begins before the one before it passed, its soak included.
    fn check_turn(&mut self, key: &ActKey) {
        let seed = self.seed;
        let Phase::Wave { index, .. } = self.state.phase else {
            let going = matches!(self.state.phase, Phase::Cancelling { .. } | Phase::Back(_));
            assert!(going, "seed {seed}: {key} in {:?}", self.state.phase);
            return;
        };
        let wave = &self.state.waves[index];
        assert!(wave.clusters.contains(&key.cluster), "seed {seed}: {key} is not in wave {index}");
        assert!(self.state.passed >= index, "seed {seed}: wave {index} before its turn");
        if self.watch.begun.is_none_or(|begun| begun < index) {
            self.watch.begun = Some(index);
            let people = !self.facts.commands.is_empty();
            if let Some(last) = index.checked_sub(1).filter(|_| !people) {
                let last = &self.state.waves[last];
                let finished = last.clusters.iter().filter_map(|name| self.watch.forward.get(name)).max();
                let slack = SignedDuration::from_secs(2 * i64::try_from(self.faults.skew).unwrap() + 1);
                if let Some(finished) = finished {
                    let soaked = self.now.duration_since(*finished) + slack;
                    assert!(soaked >= last.soak, "seed {seed}: wave {index} began after {soaked:#}");
                }
            }
        }
    }

    /// Never more than `maxUnavailable` at once.
    fn check_limit(&self) {
        let seed = self.seed;
        let moving: Vec<&Name> = self
            .state
            .clusters
            .iter()
            .filter(|(_, cluster)| cluster.stage.is_moving() && !cluster.is_aside())
            .map(|(name, _)| name)
            .collect();
        let limit = if let Phase::Wave { index, .. } = self.state.phase {
            self.state.waves[index].at_once
        } else {
            let touches = |wave: &&super::super::Wave| moving.iter().any(|name| wave.clusters.contains(name));
            self.state.waves.iter().filter(touches).map(|wave| wave.at_once).max().unwrap_or(0)
        };
        assert!(
            moving.len() <= limit,
            "seed {seed}: {} at once, {limit} allowed, in {:?}",
            moving.len(),
            self.state.phase
        );
        if let Phase::Wave { index, part: Part::Soaking { .. } } = self.state.phase {
            let change = self.state.waves[index].kind != WaveKind::Prepare;
            let strategy = &self.state.spec.settings.strategy;
            assert!(
                moving.is_empty() || !change || strategy.goes_on_after_failure(),
                "seed {seed}: soaks too early"
            );
        }
    }

    /// Where it ends, every cluster runs what is recorded, and everything that can be told is told.
    fn check_end(&self) {
        let seed = self.seed;
        assert!(self.state.status.is_end(), "seed {seed}: over as {}", self.state.status);
        for (name, cluster) in &self.state.clusters {
            let sim = &self.fleet[name];
            let old = cluster.before.as_ref().and_then(|before| before.version.as_ref()).map(Version::as_str);
            let runs = sim.version();
            match cluster.runs {
                Runs::Target => assert_eq!(runs, Some("2.0.0"), "seed {seed}: {name} {cluster:#?}"),
                Runs::Before if cluster.touched.is_some() => {
                    assert_eq!(runs, old, "seed {seed}: {name} {cluster:#?}");
                }
                Runs::Before => assert_ne!(runs, Some("2.0.0"), "seed {seed}: {name} {cluster:#?}"),
                Runs::Between => {
                    let known =
                        matches!(cluster.stage, Stage::Failed | Stage::RollbackFailed | Stage::Skipped);
                    assert!(known, "seed {seed}: {name} ends in between: {cluster:#?}");
                }
            }
        }
        let all = |runs: Runs| self.state.clusters.values().all(|cluster| cluster.runs == runs);
        match self.state.status {
            Status::Completed => assert!(all(Runs::Target), "seed {seed}: not complete"),
            Status::RolledBack => {
                for (name, cluster) in &self.state.clusters {
                    assert!(!cluster.back || cluster.stage == Stage::RolledBack, "seed {seed}: {name} stays");
                    let green = self.fleet[name].has_green() && cluster.back;
                    assert!(!green, "seed {seed}: green stays on {name}");
                }
            }
            _ => assert!(self.state.reason.is_some(), "seed {seed}: it does not say why"),
        }
    }
}
