//! What is rolled out: each strategy, with a version that works and with one that does not.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use slipway_domain::access::Environment;
use slipway_domain::approval::Starter;
use slipway_domain::cluster::Labels;
use slipway_domain::id::{ClusterId, OperatorId, RolloutId};
use slipway_domain::name::Name;
use slipway_domain::rollout::{
    BlueGreen, Canary, Direct, Percent, Rolling, Settings, Spec, State, Status, Strategy, StrategyKind,
    Target, plan,
};
use slipway_orchestrator::ports::fleet::Placement;
use slipway_orchestrator::ports::probes::ReleaseAt;
use slipway_orchestrator::ports::store::Rollout;

use crate::site::NEW;

/// A strategy, and whether the version works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    strategy: StrategyKind,
    works: bool,
}

pub(crate) const PLANS: [Plan; 8] = [
    Plan { strategy: StrategyKind::Direct, works: true },
    Plan { strategy: StrategyKind::Direct, works: false },
    Plan { strategy: StrategyKind::Canary, works: true },
    Plan { strategy: StrategyKind::Canary, works: false },
    Plan { strategy: StrategyKind::Rolling, works: true },
    Plan { strategy: StrategyKind::Rolling, works: false },
    Plan { strategy: StrategyKind::BlueGreen, works: true },
    Plan { strategy: StrategyKind::BlueGreen, works: false },
];

/// The clusters of every plan.
pub(crate) const CLUSTERS: [&str; 2] = ["first", "second"];

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

impl Plan {
    /// How it ends.
    pub(crate) fn ends(self) -> Status {
        match (self.works, self.strategy) {
            (true, _) => Status::Completed,
            // The cluster that was well stays where it is.
            (false, StrategyKind::Rolling) => Status::Failed,
            (false, _) => Status::RolledBack,
        }
    }

    /// Whether the version is unhealthy on a cluster.
    pub(crate) fn fails_on(self, cluster: &Name) -> bool {
        !self.works && cluster.as_str() == CLUSTERS[1]
    }

    /// Whether it has a smoke test and migrates what is stored; the steps of these are the same everywhere.
    fn is_careful(self) -> bool {
        matches!(self.strategy, StrategyKind::Direct | StrategyKind::BlueGreen)
    }

    pub(crate) fn is_beside(self) -> bool {
        self.strategy == StrategyKind::BlueGreen
    }

    fn settings(self) -> Settings {
        let seconds = SignedDuration::from_secs;
        let strategy = match self.strategy {
            StrategyKind::Direct => Strategy::Direct(Direct::default()),
            StrategyKind::Canary => Strategy::Canary(Canary {
                stages: vec![Percent::clamped(50), Percent::ALL],
                evaluation_period: seconds(30),
                ..Canary::default()
            }),
            StrategyKind::Rolling => Strategy::Rolling(Rolling {
                validation_period: seconds(30),
                pause_between_clusters: seconds(10),
                ..Rolling::default()
            }),
            StrategyKind::BlueGreen => Strategy::BlueGreen(BlueGreen {
                validation_period: seconds(30),
                switch_monitoring_period: seconds(30),
                retention_period: seconds(60),
                ..BlueGreen::between(name("boats-blue"), name("boats-green"))
            }),
        };
        Settings { auto_rollback_window: seconds(30), ..Settings::with(strategy) }
    }

    /// A rollout that begins.
    pub(crate) fn rollout(
        self,
        operator: OperatorId,
        clusters: &BTreeMap<Name, ClusterId>,
        now: Timestamp,
    ) -> Rollout {
        let id = RolloutId(uuid::Uuid::new_v4());
        let target = |cluster: &Name| Target {
            cluster: cluster.clone(),
            environment: Environment::Staging,
            labels: Labels::default(),
        };
        let targets: Vec<Target> = clusters.keys().map(target).collect();
        let settings = self.settings();
        let waves = plan(&settings, &targets).unwrap();
        let spec = Spec {
            rollout: id,
            operator: name("boats"),
            version: NEW.parse().unwrap(),
            settings,
            targets,
            smoke: self.is_careful(),
            migrate: self.is_careful(),
        };
        let placement = |(cluster, id): (&Name, &ClusterId)| {
            let release = ReleaseAt { namespace: "boats".to_owned(), name: "boats".to_owned() };
            let placement = Placement { cluster: *id, release, installed: true, adopts: false, beside: None };
            (cluster.clone(), placement)
        };
        Rollout {
            id,
            operator,
            state: State::new(spec, waves, now),
            placements: clusters.iter().map(placement).collect(),
            previous_version: None,
            starter: Starter { person: None, name: "bob".to_owned() },
            emergency: None,
            may_delete: Vec::new(),
            trace: None,
            created_at: now,
            started_at: None,
            ended_at: None,
            version: 1,
        }
    }
}
