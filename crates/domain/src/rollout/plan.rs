//! The planner: from a strategy and its targets to waves, each walked in batches.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::strategy::{Canary, Ladder, Settings, Strategy};
use super::target::Target;
use crate::access::Environment;
use crate::name::Name;
use crate::problem::Problems;

/// Once production has more clusters than this, a canary climbs its ladder in each environment anew.
const MANY: usize = 5;

/// Which clusters belong to a wave: all that have these labels and stand in these environments; all that are
/// left, where nothing is said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Selector {
    /// What people call the wave.
    pub name: Option<String>,
    /// Labels that a cluster has to have.
    pub match_labels: BTreeMap<String, String>,
    /// Environments, one of which it has to stand in; any where none is named.
    pub environments: Vec<Environment>,
}

impl Selector {
    fn takes(&self, target: &Target) -> bool {
        (self.environments.is_empty() || self.environments.contains(&target.environment))
            && self.match_labels.iter().all(|(key, value)| target.labels.has(key, value))
    }
}

/// What is done to the clusters of a wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WaveKind {
    /// They get the version in place of the old one.
    Change,
    /// They get the version beside the old one.
    Prepare,
    /// They are switched to it.
    Switch,
}

/// Clusters that are changed, watched and judged together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wave {
    /// What people call it, such as `10 % of Production`.
    pub title: String,
    /// What is done.
    pub kind: WaveKind,
    /// The clusters, in order.
    pub clusters: Vec<Name>,
    /// So many are changed at once.
    pub at_once: usize,
    /// Whether a batch has to be well before the next begins; otherwise one follows as soon as one is done.
    pub batched: bool,
    /// How long it is watched.
    pub soak: SignedDuration,
    /// How long nothing happens afterwards.
    pub rest: SignedDuration,
}

impl Wave {
    /// The clusters that go together.
    pub fn batches(&self) -> std::slice::Chunks<'_, Name> {
        self.clusters.chunks(self.at_once.max(1))
    }
}

/// The waves of a strategy. Each target is in exactly one wave of each kind; everything wrong with an order
/// or with selectors is said, by its place inside the strategy's block.
pub fn plan(settings: &Settings, targets: &[Target]) -> Result<Vec<Wave>, Problems> {
    match &settings.strategy {
        Strategy::Direct(direct) => {
            let parallel = usize::try_from(direct.parallel_clusters).unwrap_or(usize::MAX).max(1);
            let limit = settings.max_unavailable.map_or(parallel, |limit| limit.of(targets.len()).max(1));
            let wave = Wave {
                title: "all clusters".to_owned(),
                kind: WaveKind::Change,
                clusters: names(&ordered(targets, &[])?),
                at_once: parallel.min(limit),
                batched: false,
                soak: SignedDuration::ZERO,
                rest: SignedDuration::ZERO,
            };
            Ok(vec![wave])
        }
        Strategy::Canary(canary) => canary_waves(settings, canary, targets),
        Strategy::Rolling(rolling) => {
            let order = ordered(targets, &rolling.cluster_order)?;
            let size = settings.max_unavailable.map_or(1, |limit| limit.of(targets.len())).max(1);
            let mut waves: Vec<Wave> = order
                .chunks(size)
                .map(|chunk| Wave {
                    title: titled(chunk),
                    kind: WaveKind::Change,
                    clusters: names(chunk),
                    at_once: size,
                    batched: true,
                    soak: rolling.validation_period,
                    rest: rolling.pause_between_clusters,
                })
                .collect();
            if let Some(last) = waves.last_mut() {
                last.rest = SignedDuration::ZERO;
            }
            Ok(waves)
        }
        Strategy::BlueGreen(switch) => {
            let order = ordered(targets, &[])?;
            let mut waves = vec![Wave {
                title: "green beside blue".to_owned(),
                kind: WaveKind::Prepare,
                clusters: names(&order),
                at_once: 10,
                batched: false,
                soak: switch.validation_period,
                rest: SignedDuration::ZERO,
            }];
            for (environment, there) in by_environment(&order) {
                waves.push(Wave {
                    title: format!("switch in {environment}"),
                    kind: WaveKind::Switch,
                    clusters: names(&there),
                    at_once: at_once(settings, &there),
                    batched: true,
                    soak: switch.switch_monitoring_period,
                    rest: SignedDuration::ZERO,
                });
            }
            Ok(waves)
        }
    }
}

fn canary_waves(settings: &Settings, canary: &Canary, targets: &[Target]) -> Result<Vec<Wave>, Problems> {
    let order = ordered(targets, &canary.cluster_order)?;
    let wave = |title: String, clusters: &[&Target]| Wave {
        title,
        kind: WaveKind::Change,
        clusters: names(clusters),
        at_once: at_once(settings, clusters),
        batched: true,
        soak: canary.evaluation_period,
        rest: SignedDuration::ZERO,
    };
    if !canary.waves.is_empty() {
        let parts = selected(&order, &canary.waves)?;
        return Ok(parts.iter().map(|(title, clusters)| wave(title.clone(), clusters)).collect());
    }
    let production = targets.iter().filter(|target| target.environment == Environment::Production).count();
    // Whoever gives an order means it for the whole way.
    let grouped = production > MANY && canary.cluster_order.is_empty();
    let by_size = if grouped { Ladder::PerEnvironment } else { Ladder::Whole };
    let groups: Vec<(String, Vec<&Target>)> = match canary.ladder.unwrap_or(by_size) {
        Ladder::Whole => vec![("the fleet".to_owned(), order)],
        Ladder::PerEnvironment => by_environment(&order)
            .into_iter()
            .map(|(environment, clusters)| (environment.to_string(), clusters))
            .collect(),
    };
    let mut waves = Vec::new();
    for (name, clusters) in &groups {
        let mut done = 0;
        for stage in &canary.stages {
            let goal = stage.ceil_of(clusters.len());
            // A stage that adds no cluster is merged into the one before.
            if let Some(part) = clusters.get(done..goal).filter(|part| !part.is_empty()) {
                waves.push(wave(format!("{stage} of {name}"), part));
                done = goal;
            }
        }
    }
    Ok(waves)
}

/// The targets in the order that was asked for, or by environment and name.
fn ordered<'a>(targets: &'a [Target], order: &[Name]) -> Result<Vec<&'a Target>, Problems> {
    let mut sorted: Vec<&Target> = targets.iter().collect();
    sorted.sort_by(|a, b| (a.environment, &a.cluster).cmp(&(b.environment, &b.cluster)));
    if order.is_empty() {
        return Ok(sorted);
    }
    let mut problems = Problems::new();
    let mut found: Vec<&Target> = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, name) in order.iter().enumerate() {
        let place = format!("clusterOrder[{index}]");
        if !seen.insert(name) {
            problems.add(place, format!("is {name}, which is there already"));
            continue;
        }
        match sorted.iter().find(|target| target.cluster == *name) {
            Some(target) => found.push(target),
            None => problems.add(place, format!("is {name}, which is no target of this deployment")),
        }
    }
    let left: Vec<&Target> =
        sorted.iter().filter(|target| !seen.contains(&target.cluster)).copied().collect();
    if !left.is_empty() {
        problems.add("clusterOrder", format!("leaves out {}", list(&left)));
    }
    problems.or(found)
}

type Part<'a> = (String, Vec<&'a Target>);

/// The parts that selectors make, each cluster in the first one that takes it.
fn selected<'a>(order: &[&'a Target], selectors: &[Selector]) -> Result<Vec<Part<'a>>, Problems> {
    let mut problems = Problems::new();
    let mut left: Vec<&Target> = order.to_vec();
    let mut parts = Vec::new();
    for (index, selector) in selectors.iter().enumerate() {
        let (taken, rest): (Vec<&Target>, Vec<&Target>) =
            left.into_iter().partition(|target| selector.takes(target));
        left = rest;
        if taken.is_empty() {
            problems.add(format!("waves[{index}]"), "takes no cluster that an earlier one has not taken");
        }
        parts.push((selector.name.clone().unwrap_or_else(|| format!("wave {}", index + 1)), taken));
    }
    if !left.is_empty() {
        problems.add("waves", format!("leave out {}", list(&left)));
    }
    problems.or(parts)
}

/// How many of a wave are changed at once: as it was set; otherwise a tenth where production is among them,
/// and all elsewhere.
fn at_once(settings: &Settings, clusters: &[&Target]) -> usize {
    let precious = clusters.iter().any(|target| target.environment == Environment::Production);
    let most = match settings.max_unavailable {
        Some(limit) => limit.of(clusters.len()),
        None if precious => clusters.len() / 10,
        None => clusters.len(),
    };
    most.max(1)
}

fn by_environment<'a>(order: &[&'a Target]) -> BTreeMap<Environment, Vec<&'a Target>> {
    let mut groups: BTreeMap<Environment, Vec<&Target>> = BTreeMap::new();
    for target in order {
        groups.entry(target.environment).or_default().push(target);
    }
    groups
}

fn names(targets: &[&Target]) -> Vec<Name> {
    targets.iter().map(|target| target.cluster.clone()).collect()
}

fn titled(targets: &[&Target]) -> String {
    match targets {
        [only] => only.cluster.to_string(),
        _ => list(targets),
    }
}

/// A few by name, the rest as a number.
fn list(targets: &[&Target]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<&str> = targets.iter().take(SHOWN).map(|target| target.cluster.as_str()).collect();
    match targets.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
