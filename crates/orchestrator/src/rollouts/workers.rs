//! The engine's work, as the servers share it.

use std::time::Duration;

use async_trait::async_trait;

use super::{Engine, ROLLOUT, ROLLOUT_GATE, ROLLOUT_LOOK, ROLLOUT_STEP};
use crate::error::Error;
use crate::ports::store::Claim;
use crate::workers::{Next, Worker};

macro_rules! worker {
    ($(#[$meta:meta])* $name:ident, $kind:ident, $method:ident, $at_once:expr) => {
        $(#[$meta])*
        #[derive(Clone)]
        pub struct $name {
            engine: Engine,
            lease: Duration,
            at_once: u32,
        }

        impl $name {
            /// For an engine.
            pub fn new(engine: Engine) -> Self {
                Self { engine, lease: Duration::from_secs(15), at_once: $at_once }
            }

            /// How long a claim holds unless it is kept.
            #[must_use]
            pub fn lease_of(self, lease: Duration) -> Self {
                Self { lease, ..self }
            }

            /// How many pieces one server does at once.
            #[must_use]
            pub fn at_once_of(self, at_once: u32) -> Self {
                Self { at_once, ..self }
            }
        }

        #[async_trait]
        impl Worker for $name {
            fn kind(&self) -> &'static str {
                $kind
            }

            fn lease(&self) -> Duration {
                self.lease
            }

            fn at_once(&self) -> u32 {
                self.at_once
            }

            async fn work(&self, claim: &Claim) -> Result<Next, Error> {
                self.engine.$method(claim).await
            }
        }
    };
}

worker!(
    /// Decides about rollouts.
    RolloutWorker, ROLLOUT, tick, 8
);
worker!(
    /// Does steps.
    StepWorker, ROLLOUT_STEP, step, 16
);
worker!(
    /// Looks at clusters for rollouts.
    LookWorker, ROLLOUT_LOOK, look, 16
);
worker!(
    /// Asks gates.
    GateWorker, ROLLOUT_GATE, gate, 4
);
