//! Why a rollout does not go on right now: what it waits for, since when, until when, what would unblock it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::cluster::{ClusterState, Stage};
use super::decide::{PATIENCE, promotion};
use super::facts::{Consent, Facts};
use super::state::{Part, Phase, State, after};
use crate::access::Environment;
use crate::name::Name;
use crate::settings::window::{Opening, opening};

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// What, in a sentence.
    pub what: String,
    /// Since when.
    pub since: Timestamp,
    /// Until when at the latest, where that is known.
    pub until: Option<Timestamp>,
    /// What would unblock it, where somebody can do something.
    pub unblock: Option<String>,
}

/// Why a rollout does not go on right now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// The rollout; nothing once it is over.
    pub rollout: Option<Wait>,
    /// Why it ended as it did.
    pub ended: Option<String>,
    /// Each cluster that something happens to, or that waits.
    pub clusters: BTreeMap<Name, Wait>,
}

/// Says it. Everything that is not over waits for something.
pub fn why(state: &State, facts: &Facts, now: Timestamp) -> Why {
    let now = now.max(state.at);
    let environments: BTreeMap<&Name, Environment> =
        state.spec.targets.iter().map(|target| (&target.cluster, target.environment)).collect();
    let mut closed = BTreeMap::new();
    for environment in environments.values() {
        closed.entry(*environment).or_insert_with(|| window(state, facts, *environment, now));
    }
    let view = View { state, facts, now, environments, closed };
    let clusters = state
        .clusters
        .iter()
        .filter_map(|(name, cluster)| Some((name.clone(), view.of_cluster(name, cluster)?)))
        .collect();
    let ended = state.reason.clone().filter(|_| state.status.is_end());
    Why { rollout: view.of_rollout(), ended, clusters }
}

/// All that the answer is made of.
struct View<'a> {
    state: &'a State,
    facts: &'a Facts,
    now: Timestamp,
    environments: BTreeMap<&'a Name, Environment>,
    /// What windows say against a change.
    closed: BTreeMap<Environment, Option<Wait>>,
}

impl View<'_> {
    fn of_rollout(&self) -> Option<Wait> {
        let (state, since) = (self.state, self.state.since);
        if let Some(pause) = &state.paused {
            let unblock = if pause.automatic {
                "resume accepts what went wrong; retry, skip and rollback are the other ways"
            } else {
                "resume"
            };
            return Some(wait(pause.reason.clone(), pause.since, None, Some(unblock)));
        }
        Some(match &state.phase {
            Phase::Over => return None,
            Phase::Preflight => self.preflight(),
            Phase::Consent => self.consent(),
            Phase::Wave { index, part } => self.wave(*index, part),
            Phase::CatchUp => {
                let away = self.named(|cluster| cluster.stage == Stage::Quarantined);
                let what = format!("{away} could not be reached, and follows once that is possible");
                wait(what, since, self.given_up_at(), Some("bring the cluster back, or skip it"))
            }
            Phase::Back(back) => {
                let left = self.named(ClusterState::is_going_back);
                wait(format!("taking back {left}: {}", back.reason), since, None, None)
            }
            Phase::Cancelling { reason } => {
                let left = self.named(|cluster| cluster.stage.is_moving());
                wait(format!("finishing {left}, then it is over: {reason}"), since, None, None)
            }
            Phase::Watching { until } => {
                let what = "it is complete; three failed checks in a row would still take it back".to_owned();
                wait(what, since, Some(*until), None)
            }
            Phase::Aftercare { retire_at: Some(at) } if self.now < *at => {
                wait("it is complete; blue is kept for a while".to_owned(), since, Some(*at), None)
            }
            Phase::Aftercare { .. } => {
                wait("it is complete; what is old is tidied up".to_owned(), since, None, None)
            }
        })
    }

    fn preflight(&self) -> Wait {
        let left = self.named(|cluster| cluster.stage == Stage::Waiting && cluster.fit.is_none());
        if left == NOBODY {
            let since = self.away().unwrap_or(self.state.since);
            let unblock = Some("bring a cluster back, or cancel");
            return wait("no cluster can be reached".to_owned(), since, self.given_up_at(), unblock);
        }
        wait(format!("preflight looks at {left}"), self.state.since, None, None)
    }

    fn consent(&self) -> Wait {
        let said = self.facts.consent.as_ref().filter(|(number, _)| *number == self.state.asks);
        if let Some((_, Consent::Pending { waits_for, expires_at })) = said {
            let what = format!("the plan needs the approval of {waits_for}");
            return wait(what, self.state.since, Some(*expires_at), Some("approve it, or reject it"));
        }
        wait("the approvals that the plan needs are being made".to_owned(), self.state.since, None, None)
    }

    fn wave(&self, index: usize, part: &Part) -> Wait {
        let (since, number) = (self.state.since, index + 1);
        let title = self.state.waves.get(index).map_or("", |wave| wave.title.as_str());
        match part {
            Part::Opening => self.opening(index),
            Part::Walking => self.walking(index),
            Part::Soaking { until } if self.now < *until => {
                let what = format!("wave {number}, {title}, is being watched");
                wait(what, since, Some(*until), Some("promote ends it early, extend makes it longer"))
            }
            Part::Soaking { until } => {
                let gates = self.state.spec.settings.gates.iter().map(|gate| gate.name.as_str());
                let passed =
                    |name: &&str| self.state.gates.get(*name).is_some_and(|gate| gate.passed.is_some());
                let silent: Vec<&str> = gates.filter(|name| !passed(name)).collect();
                let what = if silent.is_empty() {
                    format!("wave {number} was watched, and not every cluster has a recent good look yet")
                } else {
                    format!("wave {number} was watched, and gate {} has not passed yet", silent.join(", "))
                };
                wait(what, *until, Some(after(*until, PATIENCE)), None)
            }
            Part::Resting { until } => {
                let what = format!("wave {number}, {title}, passed; the next one begins after a rest");
                wait(what, since, Some(*until), Some("promote ends it early"))
            }
        }
    }

    fn opening(&self, index: usize) -> Wait {
        if let Some(step) = promotion(self.state, index) {
            let what = format!("{step} waits for somebody to promote it");
            return wait(what, self.state.since, None, Some("promote"));
        }
        let names = self.clusters_of(index);
        let to_do: Vec<&Name> = names
            .iter()
            .filter(|name| {
                let far = self.state.clusters.get(*name).map(|cluster| cluster.stage);
                matches!(far, Some(Stage::Waiting | Stage::Prepared))
            })
            .collect();
        let closed: Vec<&Wait> = to_do.iter().map_while(|name| self.closed(name)).collect();
        if let Some(first) = closed.first().filter(|_| closed.len() == to_do.len()) {
            return (*first).clone();
        }
        let left = self.named(|cluster| cluster.step.is_some());
        if left != NOBODY {
            return wait(format!("preflight looks at {left} once more"), self.state.since, None, None);
        }
        self.consent()
    }

    fn walking(&self, index: usize) -> Wait {
        let (since, number) = (self.state.since, index + 1);
        let away = self.named(|cluster| {
            let gone = cluster.unreachable.is_some() || cluster.watch.unreachable.is_some();
            cluster.touched.is_some() && gone
        });
        if away != NOBODY {
            let what = format!("{away} cannot be reached any more, which holds up the others");
            return wait(what, since, None, Some("bring the cluster back, or roll back"));
        }
        let moving = self.named(|cluster| cluster.stage.is_moving());
        if moving != NOBODY {
            return wait(format!("wave {number} changes {moving}"), since, None, None);
        }
        let open = |name: &&Name| self.state.clusters.get(*name).is_some_and(|c| c.stage == Stage::Waiting);
        let closed = self.clusters_of(index).iter().filter(open).find_map(|name| self.closed(name));
        if let Some(closed) = closed {
            return closed.clone();
        }
        let away = self.named(|cluster| cluster.stage == Stage::Quarantined);
        let what =
            format!("wave {number} waits for {away}, which cannot be reached; nothing was tried elsewhere");
        let since = self.away().unwrap_or(since);
        wait(what, since, self.given_up_at(), Some("bring the cluster back, or skip it"))
    }

    fn of_cluster(&self, name: &Name, cluster: &ClusterState) -> Option<Wait> {
        let with_problem =
            |text: &str| cluster.problem.as_ref().map_or(text.to_owned(), |why| format!("{text}: {why}"));
        let (since, over) = (cluster.since, self.state.phase == Phase::Over);
        if let Some(step) = &cluster.step {
            let late =
                if self.now > step.deadline { "; it is late, and has to be proven over first" } else { "" };
            let what = format!("{}, attempt {}{late}", step.kind.words(), step.attempt);
            return Some(wait(what, step.since, Some(step.deadline), None));
        }
        if cluster.retry_at.is_some() && cluster.stage.is_moving() {
            return Some(wait(with_problem("it is tried again"), since, cluster.retry_at, None));
        }
        match cluster.stage {
            Stage::Waiting | Stage::Prepared if !over => {
                let text = self.closed(name).map(|wait| wait.what.clone());
                Some(wait(text.unwrap_or_else(|| "its turn has not come".to_owned()), since, None, None))
            }
            Stage::Quarantined => {
                let limit = self.state.spec.settings.quarantine_timeout;
                let until = cluster.unreachable.map(|since| after(since, limit));
                let unblock = "bring the cluster back, or skip it";
                Some(wait(with_problem("it cannot be reached"), since, until, Some(unblock)))
            }
            Stage::Settling | Stage::Recovering => {
                let seen = cluster.watch.text.as_deref().unwrap_or("nothing was seen of this revision yet");
                let until = after(since, self.state.spec.settings.strategy.timeout());
                Some(wait(format!("it has to become healthy: {seen}"), since, Some(until), None))
            }
            Stage::Failed => Some(wait(with_problem("it failed"), since, None, Some("retry"))),
            Stage::RollbackFailed => {
                Some(wait(with_problem("it could not be taken back"), since, None, Some("retry")))
            }
            Stage::GivenUp | Stage::Skipped if !over => {
                Some(wait(with_problem("it is left out"), since, None, Some("retry, once it is over")))
            }
            _ if cluster.is_going_back() => {
                Some(wait("its turn to be taken back has not come".to_owned(), since, None, None))
            }
            _ => None,
        }
    }

    fn clusters_of(&self, index: usize) -> &[Name] {
        self.state.waves.get(index).map(|wave| wave.clusters.as_slice()).unwrap_or_default()
    }

    /// What windows say against changing a cluster now.
    fn closed(&self, name: &Name) -> Option<&Wait> {
        self.closed.get(self.environments.get(name)?)?.as_ref()
    }

    /// Since when the last of those is away that nobody touched.
    fn away(&self) -> Option<Timestamp> {
        let quarantined = self.state.clusters.values().filter(|cluster| cluster.stage == Stage::Quarantined);
        quarantined.filter_map(|cluster| cluster.unreachable).max()
    }

    fn given_up_at(&self) -> Option<Timestamp> {
        self.away().map(|away| after(away, self.state.spec.settings.quarantine_timeout))
    }

    /// The clusters that a condition holds for, in words.
    fn named(&self, condition: impl Fn(&ClusterState) -> bool) -> String {
        let fits = self.state.clusters.iter().filter(|(_, cluster)| condition(cluster));
        let names: Vec<&Name> = fits.map(|(name, _)| name).collect();
        match names.as_slice() {
            [] => NOBODY.to_owned(),
            [one] => format!("cluster {one}"),
            [one, two] => format!("clusters {one} and {two}"),
            [one, two, rest @ ..] => format!("clusters {one}, {two} and {} more", rest.len()),
        }
    }
}

const NOBODY: &str = "nothing";

fn wait(what: String, since: Timestamp, until: Option<Timestamp>, unblock: Option<&str>) -> Wait {
    Wait { what, since, until, unblock: unblock.map(str::to_owned) }
}

/// What windows say against a change in an environment.
fn window(state: &State, facts: &Facts, environment: Environment, now: Timestamp) -> Option<Wait> {
    match opening(&facts.windows, environment, &state.spec.operator, now) {
        Opening::Open => None,
        Opening::Closed { by, reason, until } => {
            let by = by.map_or_else(|| "no window is open".to_owned(), |by| format!("window {by} says no"));
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let what = format!("{environment} must not be changed now, {by}{reason}");
            Some(wait(what, state.since, until, Some("wait, or change the window")))
        }
    }
}
