//! The names that most operators need: `use slipway_runtime::prelude::*;`.

pub use crate::apply::Children;
pub use crate::cache::ObjectKey;
pub use crate::conditions::{Condition, ConditionStatus, PROGRESSING, READY};
pub use crate::controller::{Context, ControllerSpec, Outcome, Predicate, Reconcile};
pub use crate::crd::{Crdgen, MultiVersion};
pub use crate::error::Error;
pub use crate::events::Note;
pub use crate::leader::LeaderElection;
pub use crate::runtime::{Runtime, RuntimeError};
pub use crate::settings::{Flags, Settings, process_environment};
pub use crate::telemetry;
pub use crate::webhook::{Denial, Injection, Mutate, Review, Validate, Verdict};
