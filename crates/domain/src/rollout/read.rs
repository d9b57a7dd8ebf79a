//! Reading what somebody asks of a rollout's strategy: every problem at once, each with its path.

use std::collections::BTreeMap;

use serde_json::Value;

use super::amount::{Amount, Interval, Limit, Percent, Period};
use super::gate::Gate;
use super::plan::{self, Selector, Wave};
use super::strategy::{BlueGreen, Canary, Direct, Rolling, Settings, Strategy, StrategyKind};
use super::target::Target;
use crate::access::Environment;
use crate::cluster::{Cluster, Labels};
use crate::document::Fields;
use crate::name::Name;
use crate::problem::Problems;

/// The blocks, by strategy.
const BLOCKS: [(&str, StrategyKind); 4] = [
    ("directConfig", StrategyKind::Direct),
    ("canaryConfig", StrategyKind::Canary),
    ("rollingConfig", StrategyKind::Rolling),
    ("blueGreenConfig", StrategyKind::BlueGreen),
];

/// A request that fits its fleet: what a rollout is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// All settings, with the defaults filled in.
    pub settings: Settings,
    /// The clusters, by environment and name.
    pub targets: Vec<Target>,
    /// The waves.
    pub waves: Vec<Wave>,
}

/// Reads the strategy of `POST /deployments` and fits it to the fleet. `others` are the fields of the request
/// that somebody else reads.
pub fn read(request: &Value, others: &[&'static str], fleet: &[Cluster]) -> Result<Wanted, Problems> {
    let mut problems = Problems::new();
    let mut fields = Fields::of(request, &mut problems);
    for other in others {
        fields.optional::<Value>(other);
    }
    let named = fields.optional::<String>("strategy");
    let nested = fields.optional::<Value>("strategyConfig");
    let top: Vec<(&str, StrategyKind, Option<Value>)> =
        BLOCKS.iter().map(|(key, kind)| (*key, *kind, fields.optional(key))).collect();
    let long = fields.optional::<Vec<String>>("targetClusters");
    let short = fields.optional::<Vec<String>>("clusters");
    let common = Common::read(&mut fields);
    fields.end();
    common.check(&mut problems);
    let named = named.and_then(|word| problems.take("strategy", word.parse::<StrategyKind>()));
    let targets = match (long, short) {
        (Some(_), Some(_)) => {
            problems.add("clusters", "is the same as targetClusters; give one of them");
            None
        }
        (None, None) if request.get("targetClusters").or(request.get("clusters")).is_none() => {
            problems.add("targetClusters", "is missing");
            None
        }
        (Some(list), None) => keep(&mut problems, Target::choose(&list, "targetClusters", fleet)),
        (None, Some(list)) => keep(&mut problems, Target::choose(&list, "clusters", fleet)),
        (None, None) => None,
    };
    let blocks = blocks(top, nested.as_ref(), &mut problems);
    let by_fleet = targets.as_deref().map(StrategyKind::default_for);
    let only = if let [block] = blocks.as_slice() { Some(block.kind) } else { None };
    let strategy = named.or(only).or(by_fleet).and_then(|kind| strategy(kind, &blocks, &mut problems));
    let place = strategy.as_ref().and_then(|(_, place)| place.clone()).unwrap_or_default();
    let inner = strategy.as_ref().and_then(|(read, _)| read.auto_rollback);
    if let (Some(outer), Some(inner)) = (common.auto_rollback, inner)
        && outer != inner
    {
        problems.add(format!("{place}.autoRollbackEnabled"), format!("says {inner}, and outside {outer}"));
    }
    let (Some((read, _)), Some(targets)) = (strategy, targets) else { return Err(problems) };
    let auto_rollback = common.auto_rollback.or(inner);
    let settings = common.settings(read.strategy, auto_rollback);
    match plan::plan(&settings, &targets) {
        Ok(waves) => problems.or(Wanted { settings, targets, waves }),
        Err(wrong) => {
            problems.nest(&place, wrong);
            Err(problems)
        }
    }
}

fn keep<T>(problems: &mut Problems, result: Result<T, Problems>) -> Option<T> {
    let add =
        |wrong: Problems| wrong.iter().for_each(|problem| problems.add(&problem.path, &problem.message));
    result.map_err(add).ok()
}

/// A block of settings, where it was found.
struct Block {
    place: String,
    kind: StrategyKind,
    value: Value,
}

fn blocks(
    top: Vec<(&str, StrategyKind, Option<Value>)>,
    nested: Option<&Value>,
    problems: &mut Problems,
) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut add = |place: String, kind, value: Option<Value>, problems: &mut Problems| {
        let Some(value) = value else { return };
        if found.iter().any(|block| block.kind == kind) {
            problems.add(&place, "is there twice, nested and at the top; give one of them");
        } else {
            found.push(Block { place, kind, value });
        }
    };
    if let Some(nested) = nested {
        let mut inner = Problems::new();
        let mut fields = Fields::of(nested, &mut inner);
        for (key, kind) in BLOCKS {
            add(format!("strategyConfig.{key}"), kind, fields.optional(key), problems);
        }
        fields.end();
        problems.nest("strategyConfig", inner);
    }
    for (key, kind, value) in top {
        add(key.to_owned(), kind, value, problems);
    }
    found
}

/// A strategy as its block says, and what else the block says.
struct Read {
    strategy: Strategy,
    auto_rollback: Option<bool>,
}

impl From<Strategy> for Read {
    fn from(strategy: Strategy) -> Self {
        Self { strategy, auto_rollback: None }
    }
}

fn strategy(kind: StrategyKind, blocks: &[Block], problems: &mut Problems) -> Option<(Read, Option<String>)> {
    let mut own = None;
    for block in blocks {
        if block.kind == kind {
            own = Some(block);
        } else {
            problems.add(&block.place, format!("belongs to {}, and the strategy is {kind}", block.kind));
        }
    }
    let empty = Value::Object(serde_json::Map::default());
    let value = own.map_or(&empty, |block| &block.value);
    let read = match kind {
        StrategyKind::Direct => direct(value),
        StrategyKind::Canary => canary(value),
        StrategyKind::Rolling => rolling(value),
        StrategyKind::BlueGreen => blue_green(value),
    };
    let place = own.map(|block| block.place.clone());
    match read {
        Ok(read) => Some((read, place)),
        Err(wrong) => {
            problems.nest(&place.unwrap_or_default(), wrong);
            None
        }
    }
}

fn direct(value: &Value) -> Result<Read, Problems> {
    let mut problems = Problems::new();
    let mut fields = Fields::of(value, &mut problems);
    let default = Direct::default();
    let direct = Direct {
        parallel_clusters: fields.optional("parallelClusters").unwrap_or(default.parallel_clusters),
        skip_health_checks: fields.optional("skipHealthChecks").unwrap_or(default.skip_health_checks),
        timeout: fields.optional("timeout").map_or(default.timeout, |limit: Limit| limit.0),
    };
    fields.end();
    if direct.parallel_clusters == 0 {
        problems.add("parallelClusters", "has to be 1 or more");
    }
    problems.or(Strategy::Direct(direct).into())
}

fn canary(value: &Value) -> Result<Read, Problems> {
    let mut problems = Problems::new();
    let mut fields = Fields::of(value, &mut problems);
    let default = Canary::default();
    let initial: Option<Percent> = fields.optional("initialPercentage");
    let increment: Option<Percent> = fields.optional("incrementPercentage");
    let stages: Option<Vec<Percent>> = fields.optional("stages");
    let auto_rollback = fields.optional("autoRollbackEnabled");
    let period = fields.optional("evaluationPeriod").map(|period: Period| period.0);
    let interval = fields.optional("healthCheckInterval").map(|interval: Interval| interval.0);
    let success_threshold = fields.optional("successThreshold").unwrap_or(default.success_threshold);
    let ladder = fields.optional("ladder");
    let cluster_order: Vec<Name> = fields.optional("clusterOrder").unwrap_or_default();
    let waves = fields.each("waves", selector);
    fields.end();
    let given = |key: &str| value.get(key).is_some_and(|value| !value.is_null());
    if given("stages") {
        for key in ["initialPercentage", "incrementPercentage"].into_iter().filter(|key| given(key)) {
            problems.add(key, "says the same as stages; give one of them");
        }
    }
    if given("waves") {
        for key in ["stages", "initialPercentage", "incrementPercentage", "ladder"] {
            if given(key) {
                problems.add(key, "has no meaning beside waves");
            }
        }
        if waves.is_empty() && problems.is_empty() {
            problems.add("waves", "is empty");
        }
    }
    if let Some(stages) = &stages {
        if !stages.is_sorted_by(|a, b| a < b) {
            problems.add("stages", "has to grow from stage to stage");
        }
        if stages.last() != Some(&Percent::ALL) {
            problems.add("stages", "has to end with 100");
        }
    }
    let (ten, twenty) = (Percent::clamped(10), Percent::clamped(20));
    let canary = Canary {
        stages: stages
            .unwrap_or_else(|| Canary::ladder_of(initial.unwrap_or(ten), increment.unwrap_or(twenty))),
        evaluation_period: period.unwrap_or(default.evaluation_period),
        success_threshold,
        health_check_interval: interval.unwrap_or(default.health_check_interval),
        ladder,
        cluster_order,
        waves,
    };
    problems.or(Read { strategy: Strategy::Canary(canary), auto_rollback })
}

fn selector(value: &Value) -> Result<Selector, Problems> {
    let mut problems = Problems::new();
    let mut fields = Fields::of(value, &mut problems);
    let selector = Selector {
        name: fields.optional("name"),
        match_labels: fields.optional("matchLabels").unwrap_or_default(),
        environments: fields.optional("environments").unwrap_or_default(),
    };
    fields.end();
    let labels: &BTreeMap<String, String> = &selector.match_labels;
    if let Err(wrong) = Labels::new(labels) {
        problems.nest("matchLabels", wrong);
    }
    problems.or(selector)
}

fn rolling(value: &Value) -> Result<Read, Problems> {
    let mut problems = Problems::new();
    let mut fields = Fields::of(value, &mut problems);
    let default = Rolling::default();
    let validation = fields.optional("validationPeriod").map(|period: Period| period.0);
    let pause = fields.optional("pauseBetweenClusters").map(|period: Period| period.0);
    let rolling = Rolling {
        cluster_order: fields.optional("clusterOrder").unwrap_or_default(),
        validation_period: validation.unwrap_or(default.validation_period),
        pause_between_clusters: pause.unwrap_or(default.pause_between_clusters),
        stop_on_failure: fields.optional("stopOnFailure").unwrap_or(default.stop_on_failure),
    };
    fields.end();
    problems.or(Strategy::Rolling(rolling).into())
}

fn blue_green(value: &Value) -> Result<Read, Problems> {
    let mut problems = Problems::new();
    let mut fields = Fields::of(value, &mut problems);
    let blue: String = fields.optional("blueNamespace").unwrap_or_else(|| "operators-blue".to_owned());
    let green: String = fields.optional("greenNamespace").unwrap_or_else(|| "operators-green".to_owned());
    let validation = fields.optional("validationPeriod").map(|period: Period| period.0);
    let retention = fields.optional("retentionPeriod").map(|period: Period| period.0);
    let monitoring = fields.optional("switchMonitoringPeriod").map(|period: Period| period.0);
    let auto_switch = fields.optional("autoSwitch").unwrap_or(true);
    fields.end();
    let blue = problems.take("blueNamespace", blue.parse::<Name>());
    let green = problems.take("greenNamespace", green.parse::<Name>());
    let (Some(blue), Some(green)) = (blue, green) else { return Err(problems) };
    let default = BlueGreen::between(blue, green);
    let switch = BlueGreen {
        validation_period: validation.unwrap_or(default.validation_period),
        retention_period: retention.unwrap_or(default.retention_period),
        switch_monitoring_period: monitoring.unwrap_or(default.switch_monitoring_period),
        auto_switch,
        ..default
    };
    problems.or(Strategy::BlueGreen(switch).into())
}

/// What can be set whatever the strategy.
struct Common {
    auto_rollback: Option<bool>,
    window: Option<Period>,
    scope: Option<super::strategy::RollbackScope>,
    max_unavailable: Option<Amount>,
    failure_budget: Option<Amount>,
    quarantine: Option<Period>,
    pause_before: Vec<Environment>,
    gates: Vec<Gate>,
}

impl Common {
    fn read(fields: &mut Fields<'_>) -> Self {
        Self {
            auto_rollback: fields.optional("autoRollbackEnabled"),
            window: fields.optional("autoRollbackWindow"),
            scope: fields.optional("rollbackScope"),
            max_unavailable: fields.optional("maxUnavailable"),
            failure_budget: fields.optional("failureBudget"),
            quarantine: fields.optional("quarantineTimeout"),
            pause_before: fields.optional("pauseBefore").unwrap_or_default(),
            gates: fields.each("gates", Gate::read),
        }
    }

    fn check(&self, problems: &mut Problems) {
        if self.max_unavailable == Some(Amount::Count(0)) {
            problems.add("maxUnavailable", "has to be 1 or more, or nothing could ever be changed");
        }
        for (index, gate) in self.gates.iter().enumerate() {
            if self.gates.iter().take(index).any(|other| other.name == gate.name) {
                problems.add("gates", format!("hold two of the name {:?}", gate.name));
            }
        }
    }

    fn settings(self, strategy: Strategy, auto_rollback: Option<bool>) -> Settings {
        let default = Settings::with(strategy);
        Settings {
            auto_rollback_enabled: auto_rollback.unwrap_or(default.auto_rollback_enabled),
            auto_rollback_window: self.window.map_or(default.auto_rollback_window, |window| window.0),
            rollback_scope: self.scope,
            max_unavailable: self.max_unavailable,
            failure_budget: self.failure_budget,
            quarantine_timeout: self.quarantine.map_or(default.quarantine_timeout, |limit| limit.0),
            pause_before: self.pause_before,
            gates: self.gates,
            strategy: default.strategy,
        }
    }
}
