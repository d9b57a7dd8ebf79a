//! How a version goes out: the four strategies with all their settings.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::amount::{Amount, Percent, Share};
use super::gate::Gate;
use super::plan::Selector;
use super::target::Target;
use crate::access::{Environment, words};
use crate::name::Name;

/// Which strategy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum StrategyKind {
    /// All at once.
    Direct,
    /// A few first, then more.
    Canary,
    /// One after the other.
    Rolling,
    /// Beside the old one, then a switch.
    BlueGreen,
}

words!(StrategyKind: Direct, Canary, Rolling, BlueGreen);

impl StrategyKind {
    /// What is taken where nobody names one: by the most precious environment among the targets.
    pub fn default_for(targets: &[Target]) -> Self {
        match targets.iter().map(|target| target.environment).max() {
            None | Some(Environment::Development) => Self::Direct,
            Some(Environment::Staging) => Self::Rolling,
            Some(Environment::Production) => Self::Canary,
        }
    }
}

/// A strategy with its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Strategy {
    /// All at once.
    Direct(Direct),
    /// A few first, then more.
    Canary(Canary),
    /// One after the other.
    Rolling(Rolling),
    /// Beside the old one, then a switch.
    BlueGreen(BlueGreen),
}

/// All in parallel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Direct {
    /// So many clusters at once.
    pub parallel_clusters: u32,
    /// Whether a cluster is done as soon as the revision is seen.
    pub skip_health_checks: bool,
    /// How long one cluster may take.
    pub timeout: SignedDuration,
}

/// Growing parts of the fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Canary {
    /// How much of the fleet has the version after each stage; ends with all.
    pub stages: Vec<Percent>,
    /// How long each stage is watched.
    pub evaluation_period: SignedDuration,
    /// How many of the clusters touched so far have to be healthy then.
    pub success_threshold: Share,
    /// How often health is looked at.
    pub health_check_interval: SignedDuration,
    /// Over what the stages are counted; decided by the fleet where nobody says.
    pub ladder: Option<Ladder>,
    /// The order; environment, then name, where it is empty.
    pub cluster_order: Vec<Name>,
    /// The waves by labels, in place of the stages.
    pub waves: Vec<Selector>,
}

/// Over what the stages of a canary are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ladder {
    /// Over all clusters together.
    Whole,
    /// Inside each environment anew.
    PerEnvironment,
}

/// One cluster after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rolling {
    /// The order; environment, then name, where it is empty.
    pub cluster_order: Vec<Name>,
    /// How long each cluster is watched.
    pub validation_period: SignedDuration,
    /// How long nothing happens after each cluster.
    pub pause_between_clusters: SignedDuration,
    /// Whether a failure ends it; otherwise the cluster is taken back and the next one follows.
    pub stop_on_failure: bool,
}

/// Two installations and a switch between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlueGreen {
    /// Where the first one lives.
    pub blue_namespace: Name,
    /// Where the second one lives; may be the same.
    pub green_namespace: Name,
    /// How long the new one is watched before the switch.
    pub validation_period: SignedDuration,
    /// Whether the switch comes by itself; otherwise it waits for `promote`.
    pub auto_switch: bool,
    /// How long the old one is kept after the switch.
    pub retention_period: SignedDuration,
    /// How long the new one is watched after the switch.
    pub switch_monitoring_period: SignedDuration,
}

/// What is taken back by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RollbackScope {
    /// Every cluster that was touched.
    All,
    /// Those that failed.
    Failed,
}

/// All that can be set about a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// How it goes out.
    pub strategy: Strategy,
    /// Whether it is taken back by itself.
    pub auto_rollback_enabled: bool,
    /// How long after completion.
    pub auto_rollback_window: SignedDuration,
    /// What is taken back; decided by the strategy where nobody says.
    pub rollback_scope: Option<RollbackScope>,
    /// So many clusters of a wave are changed at once.
    pub max_unavailable: Option<Amount>,
    /// So many clusters may fail.
    pub failure_budget: Option<Amount>,
    /// How long a cluster that cannot be reached is waited for.
    pub quarantine_timeout: SignedDuration,
    /// Environments that are entered only when somebody promotes.
    pub pause_before: Vec<Environment>,
    /// Further checks between waves.
    pub gates: Vec<Gate>,
}

impl Default for Direct {
    fn default() -> Self {
        Self { parallel_clusters: 10, skip_health_checks: false, timeout: SignedDuration::from_mins(5) }
    }
}

impl Canary {
    /// The stages of an initial part and an increment: the first, the first and the increment, all.
    pub fn ladder_of(initial: Percent, increment: Percent) -> Vec<Percent> {
        let second = Percent::clamped(u64::from(initial.get()) + u64::from(increment.get()));
        let mut stages = vec![initial, second, Percent::ALL];
        stages.dedup();
        stages
    }
}

impl Default for Canary {
    fn default() -> Self {
        Self {
            stages: Self::ladder_of(Percent::clamped(10), Percent::clamped(20)),
            evaluation_period: SignedDuration::from_mins(5),
            success_threshold: Share::MOST,
            health_check_interval: SignedDuration::from_secs(30),
            ladder: None,
            cluster_order: Vec::new(),
            waves: Vec::new(),
        }
    }
}

impl Default for Rolling {
    fn default() -> Self {
        Self {
            cluster_order: Vec::new(),
            validation_period: SignedDuration::from_mins(5),
            pause_between_clusters: SignedDuration::from_mins(2),
            stop_on_failure: true,
        }
    }
}

impl BlueGreen {
    /// With the defaults, in these namespaces.
    pub fn between(blue_namespace: Name, green_namespace: Name) -> Self {
        Self {
            blue_namespace,
            green_namespace,
            validation_period: SignedDuration::from_mins(10),
            auto_switch: true,
            retention_period: SignedDuration::from_hours(24),
            switch_monitoring_period: SignedDuration::from_mins(5),
        }
    }
}

impl Strategy {
    /// Which.
    pub fn kind(&self) -> StrategyKind {
        match self {
            Self::Direct(_) => StrategyKind::Direct,
            Self::Canary(_) => StrategyKind::Canary,
            Self::Rolling(_) => StrategyKind::Rolling,
            Self::BlueGreen(_) => StrategyKind::BlueGreen,
        }
    }

    /// How often health is looked at while it goes on.
    pub fn interval(&self) -> SignedDuration {
        match self {
            Self::Canary(canary) => canary.health_check_interval,
            Self::Direct(_) | Self::Rolling(_) | Self::BlueGreen(_) => SignedDuration::from_secs(30),
        }
    }

    /// How long one cluster may take for its release, and then for becoming healthy.
    pub fn timeout(&self) -> SignedDuration {
        match self {
            Self::Direct(direct) => direct.timeout,
            Self::Canary(_) | Self::Rolling(_) | Self::BlueGreen(_) => SignedDuration::from_mins(5),
        }
    }

    /// Whether health is not looked at.
    pub fn skips_checks(&self) -> bool {
        matches!(self, Self::Direct(Direct { skip_health_checks: true, .. }))
    }

    /// Whether a cluster that fails is taken back by itself while the others go on.
    pub fn goes_on_after_failure(&self) -> bool {
        matches!(self, Self::Rolling(Rolling { stop_on_failure: false, .. }))
    }

    /// How many of the clusters touched so far have to be healthy for a wave to pass.
    pub fn threshold(&self) -> Option<Share> {
        match self {
            Self::Canary(canary) => Some(canary.success_threshold),
            Self::Rolling(Rolling { stop_on_failure: false, .. }) => None,
            Self::Direct(_) | Self::Rolling(_) | Self::BlueGreen(_) => Some(Share::ALL),
        }
    }

    fn scope(&self) -> RollbackScope {
        match self {
            Self::Rolling(_) => RollbackScope::Failed,
            Self::Direct(_) | Self::Canary(_) | Self::BlueGreen(_) => RollbackScope::All,
        }
    }
}

impl Settings {
    /// A strategy with everything else as it is where nobody says.
    pub fn with(strategy: Strategy) -> Self {
        Self {
            strategy,
            auto_rollback_enabled: true,
            auto_rollback_window: SignedDuration::from_hours(1),
            rollback_scope: None,
            max_unavailable: None,
            failure_budget: None,
            quarantine_timeout: SignedDuration::from_hours(1),
            pause_before: Vec::new(),
            gates: Vec::new(),
        }
    }

    /// What is taken back by itself.
    pub fn scope(&self) -> RollbackScope {
        self.rollback_scope.unwrap_or_else(|| self.strategy.scope())
    }

    /// How many clusters may fail before it ends, once so many clusters are or will have been touched.
    /// Where a budget was set it holds for the whole fleet; otherwise it is what the threshold leaves.
    pub fn budget(&self, touched: usize, fleet: usize) -> usize {
        let left = self.strategy.threshold().map_or(usize::MAX, |share| share.spare(touched));
        match self.failure_budget {
            Some(amount) => amount.of(fleet),
            None => left,
        }
    }
}
