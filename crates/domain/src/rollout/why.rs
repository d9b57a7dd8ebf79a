//! Why a rollout does not go on right now: what it waits for, since when, until when, what would unblock it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::decide::{PATIENCE, promotion};
use super::facts::{Consent, Facts};
use super::state::{ClusterState, Part, Phase, Stage, State, after};
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
    let clusters = state
        .clusters
        .iter()
        .filter_map(|(name, cluster)| Some((name.clone(), of_cluster(state, facts, name, cluster, now)?)))
        .collect();
    let ended = state.reason.clone().filter(|_| state.status.is_end());
    Why { rollout: of_rollout(state, facts, now), ended, clusters }
}

fn of_rollout(state: &State, facts: &Facts, now: Timestamp) -> Option<Wait> {
    if let Some(pause) = &state.paused {
        let unblock = if pause.automatic {
            "resume accepts what went wrong; retry, skip and rollback are the other ways"
        } else {
            "resume"
        };
        return Some(wait(pause.reason.clone(), pause.since, None, Some(unblock)));
    }
    let since = state.since;
    Some(match &state.phase {
        Phase::Over => return None,
        Phase::Preflight => preflight(state),
        Phase::Consent => consent(state, facts),
        Phase::Wave { index, part } => wave(state, facts, *index, part, now),
        Phase::CatchUp => {
            let away = named(state, |cluster| cluster.stage == Stage::Quarantined);
            let what = format!("{away} could not be reached and follows as soon as it can be");
            let away = state.clusters.values().filter_map(|cluster| cluster.unreachable).max();
            let until = away.map(|away| after(away, state.spec.settings.quarantine_timeout));
            wait(what, since, until, Some("bring the cluster back, or skip it"))
        }
        Phase::Back(back) => {
            let left = named(state, ClusterState::is_going_back);
            let what = format!("{left} is being taken back: {}", back.reason);
            wait(what, since, None, None)
        }
        Phase::Cancelling { reason } => {
            let left = named(state, |cluster| cluster.stage.is_moving());
            wait(format!("{left} finishes, then it is over: {reason}"), since, None, None)
        }
        Phase::Watching { until } => {
            let what = "it is complete; three failed checks in a row would still take it back".to_owned();
            wait(what, since, Some(*until), None)
        }
        Phase::Aftercare { retire_at: Some(at) } if now < *at => {
            wait("it is complete; blue is kept for a while".to_owned(), since, Some(*at), None)
        }
        Phase::Aftercare { .. } => {
            wait("it is complete; stored objects and the old colour are tidied".to_owned(), since, None, None)
        }
    })
}

fn wait(what: String, since: Timestamp, until: Option<Timestamp>, unblock: Option<&str>) -> Wait {
    Wait { what, since, until, unblock: unblock.map(str::to_owned) }
}

fn preflight(state: &State) -> Wait {
    let left = named(state, |cluster| cluster.stage == Stage::Waiting && cluster.fit.is_none());
    if left == NOBODY {
        let away = state.clusters.values().filter_map(|cluster| cluster.unreachable).max();
        let until = away.map(|away| after(away, state.spec.settings.quarantine_timeout));
        let what = "no cluster can be reached".to_owned();
        return wait(what, away.unwrap_or(state.since), until, Some("bring a cluster back, or cancel"));
    }
    wait(format!("preflight looks at {left}"), state.since, None, None)
}

fn consent(state: &State, facts: &Facts) -> Wait {
    let said = facts.consent.as_ref().filter(|(number, _)| *number == state.asks);
    match said.map(|(_, consent)| consent) {
        Some(Consent::Pending { waits_for, expires_at }) => {
            let what = format!("{waits_for} has to approve the plan");
            wait(what, state.since, Some(*expires_at), Some("approve it, or reject it"))
        }
        _ => wait("the approvals that the plan needs are being made".to_owned(), state.since, None, None),
    }
}

fn wave(state: &State, facts: &Facts, index: usize, part: &Part, now: Timestamp) -> Wait {
    let (since, number) = (state.since, index + 1);
    let title = state.waves.get(index).map_or("", |wave| wave.title.as_str());
    match part {
        Part::Opening => opening_of(state, facts, index, now),
        Part::Walking => walking(state, facts, index, now),
        Part::Soaking { until } if now < *until => {
            let what = format!("wave {number}, {title}, is being watched");
            wait(what, since, Some(*until), Some("promote ends it early, extend makes it longer"))
        }
        Part::Soaking { until } => {
            let gates = state.spec.settings.gates.iter().map(|gate| gate.name.as_str());
            let silent: Vec<&str> = gates
                .filter(|name| state.gates.get(*name).is_none_or(|watch| watch.passed.is_none()))
                .collect();
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

fn opening_of(state: &State, facts: &Facts, index: usize, now: Timestamp) -> Wait {
    if let Some(step) = promotion(state, index) {
        let what = format!("{step} waits for somebody to promote it");
        return wait(what, state.since, None, Some("promote"));
    }
    let wave = state.waves.get(index);
    let names = wave.map(|wave| wave.clusters.as_slice()).unwrap_or_default();
    let to_do = |name: &&Name| {
        let far = state.clusters.get(*name).map(|cluster| cluster.stage);
        matches!(far, Some(Stage::Waiting | Stage::Prepared))
    };
    let closed: Vec<Wait> =
        names.iter().filter(to_do).map_while(|name| window(state, facts, name, now)).collect();
    let all = names.iter().filter(to_do).count();
    if let Some(first) = closed.first().filter(|_| closed.len() == all) {
        return first.clone();
    }
    let looked_at = |cluster: &ClusterState| cluster.step.is_some();
    let left = named(state, looked_at);
    if left != NOBODY {
        return wait(format!("preflight looks at {left} once more"), state.since, None, None);
    }
    consent(state, facts)
}

fn walking(state: &State, facts: &Facts, index: usize, now: Timestamp) -> Wait {
    let away = named(state, |cluster| {
        cluster.touched.is_some() && (cluster.unreachable.is_some() || cluster.watch.unreachable.is_some())
    });
    if away != NOBODY {
        let what = format!("{away} cannot be reached any more, so no other cluster is begun");
        return wait(what, state.since, None, Some("bring the cluster back, or roll back"));
    }
    let moving = named(state, |cluster| cluster.stage.is_moving());
    if moving != NOBODY {
        return wait(format!("wave {}: {moving} is being changed", index + 1), state.since, None, None);
    }
    let wave = state.waves.get(index).map(|wave| wave.clusters.as_slice()).unwrap_or_default();
    let closed = wave
        .iter()
        .filter(|name| state.clusters.get(*name).is_some_and(|c| c.stage == Stage::Waiting))
        .find_map(|name| window(state, facts, name, now));
    if let Some(closed) = closed {
        return closed;
    }
    let away = named(state, |cluster| cluster.stage == Stage::Quarantined);
    let what = format!("wave {}: {away} cannot be reached, and nothing was tried elsewhere yet", index + 1);
    let since = state.clusters.values().filter_map(|cluster| cluster.unreachable).max();
    let until = since.map(|since| after(since, state.spec.settings.quarantine_timeout));
    wait(what, since.unwrap_or(state.since), until, Some("bring the cluster back, or skip it"))
}

/// What a window says that keeps a cluster from being changed.
fn window(state: &State, facts: &Facts, name: &Name, now: Timestamp) -> Option<Wait> {
    let environment = state.environment(name);
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

fn of_cluster(
    state: &State,
    facts: &Facts,
    name: &Name,
    cluster: &ClusterState,
    now: Timestamp,
) -> Option<Wait> {
    let problem =
        |text: &str| cluster.problem.as_ref().map_or(text.to_owned(), |why| format!("{text}: {why}"));
    if let Some(step) = &cluster.step {
        let what = format!("{}, attempt {}", step.kind.words(), step.attempt);
        return Some(wait(what, step.since, Some(step.deadline), None));
    }
    if cluster.retry_at.is_some() && cluster.stage.is_moving() {
        return Some(wait(problem("it is tried again"), cluster.since, cluster.retry_at, None));
    }
    let seen =
        cluster.watch.text.clone().unwrap_or_else(|| "nothing was seen of this revision yet".to_owned());
    let timeout = state.spec.settings.strategy.timeout();
    match cluster.stage {
        Stage::Waiting | Stage::Prepared if state.phase != Phase::Over => {
            let text = window(state, facts, name, now).map(|wait| wait.what);
            let text = text.unwrap_or_else(|| "its turn has not come".to_owned());
            Some(wait(text, cluster.since, None, None))
        }
        Stage::Quarantined => {
            let until = cluster.unreachable.map(|since| after(since, state.spec.settings.quarantine_timeout));
            let unblock = "bring the cluster back, or skip it";
            Some(wait(problem("it cannot be reached"), cluster.since, until, Some(unblock)))
        }
        Stage::Settling | Stage::Recovering => {
            let what = format!("it has to become healthy: {seen}");
            Some(wait(what, cluster.since, Some(after(cluster.since, timeout)), None))
        }
        Stage::Failed | Stage::RollbackFailed => {
            let text =
                if cluster.stage == Stage::Failed { "it failed" } else { "it could not be taken back" };
            Some(wait(problem(text), cluster.since, None, Some("retry")))
        }
        Stage::GivenUp | Stage::Skipped if state.phase != Phase::Over => {
            Some(wait(problem("it is left out"), cluster.since, None, Some("retry, once it is over")))
        }
        _ => cluster
            .is_going_back()
            .then(|| wait("its turn to be taken back has not come".to_owned(), cluster.since, None, None)),
    }
}

const NOBODY: &str = "nothing";

/// The clusters that a condition holds for, in words.
fn named(state: &State, condition: impl Fn(&ClusterState) -> bool) -> String {
    let names: Vec<&Name> =
        state.clusters.iter().filter(|(_, cluster)| condition(cluster)).map(|(name, _)| name).collect();
    match names.as_slice() {
        [] => NOBODY.to_owned(),
        [one] => format!("cluster {one}"),
        [one, two] => format!("clusters {one} and {two}"),
        [one, two, rest @ ..] => format!("clusters {one}, {two} and {} more", rest.len()),
    }
}
