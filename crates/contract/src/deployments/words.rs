//! The same words in the domain.

use slipway_domain::access::Environment;
use slipway_domain::preflight::{Fate, Level, Return};
use slipway_domain::rollout::{Status, StrategyKind, WaveKind as Kind};

use super::{
    DeploymentEnvironment, DeploymentStatus, DeploymentStrategy, PreflightFate, PreflightLevel,
    PreflightReturn, WaveKind,
};

macro_rules! same {
    ($domain:ident <=> $wire:ident: $($word:ident),+) => {
        impl From<$domain> for $wire {
            fn from(word: $domain) -> Self {
                match word { $($domain::$word => Self::$word),+ }
            }
        }

        impl From<$wire> for $domain {
            fn from(word: $wire) -> Self {
                match word { $($wire::$word => Self::$word),+ }
            }
        }
    };
}

same!(Status <=> DeploymentStatus:
    Planning, Deploying, Validating, Completed, RollingBack, RolledBack, Failed, Cancelled);
same!(StrategyKind <=> DeploymentStrategy: Direct, Canary, Rolling, BlueGreen);
same!(Environment <=> DeploymentEnvironment: Development, Staging, Production);
same!(Kind <=> WaveKind: Change, Prepare, Switch);
same!(Level <=> PreflightLevel: Passed, Unknown, Warning, Refused);
same!(Fate <=> PreflightFate: Created, Changed, Deleted);
same!(Return <=> PreflightReturn: Reversible, AfterMigration, OneWay);

impl DeploymentStatus {
    /// Whether it is over, unless somebody takes it up again.
    pub fn is_end(self) -> bool {
        Status::from(self).is_end()
    }
}
