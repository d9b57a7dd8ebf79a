//! Rollouts; on the wire, deployments: starting them, driving them, telling of them.
//!
//! [`Engine`] drives: it claims what is due, has the domain decide, commits the decision with its intents, and
//! has the [`World`] act. It knows no time but the database's, and keeps nothing in memory: any server goes on
//! where another stopped. The use cases beside it are what people call.

mod command;
mod consent;
mod drift;
mod engine;
mod ledger;
mod look;
mod news;
mod read;
mod request;
#[cfg(test)]
mod simulation;
mod start;
mod subject;
mod surroundings;
mod trace;
mod uninstall;
mod values;
mod workers;
mod world;

use slipway_domain::id::RolloutId;
use slipway_domain::name::Name;
use slipway_domain::rollout::{ActKey, StepKind};

use crate::changes::Work;
use crate::error::{Code, Error};

pub use drift::DRIFT_EVERY;
pub(crate) use drift::Which as WhichDrift;
pub use engine::Engine;
pub use ledger::{Ledger, StoreLedger};
pub use read::RolloutView;
pub use request::DryRun;
pub use workers::{GateWorker, LookWorker, RolloutWorker, StepWorker};
pub use world::World;

/// The kind of work that deciding about a rollout is; the key is its id.
pub const ROLLOUT: &str = "rollout";
/// The kind of work that a step is; the key is of rollout, cluster, kind and attempt.
pub const ROLLOUT_STEP: &str = "rollout-step";
/// The kind of work that a look at a cluster is; the key is of rollout and cluster.
pub const ROLLOUT_LOOK: &str = "rollout-look";
/// The kind of work that asking a gate is; the key is of rollout and gate.
pub const ROLLOUT_GATE: &str = "rollout-gate";

/// What can be set about rollouts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutSettings {
    /// How many may be under way at once, over all servers.
    pub most_active: u64,
    /// How many steps one server does at once.
    pub steps_at_once: u32,
    /// Whether those with the role Operator may take rollouts back.
    pub operators_roll_back: bool,
}

impl Default for RolloutSettings {
    fn default() -> Self {
        Self { most_active: 20, steps_at_once: 16, operators_roll_back: false }
    }
}

/// The work of deciding about a rollout.
pub fn deciding(id: RolloutId) -> Work {
    Work { kind: ROLLOUT, key: id.to_string() }
}

/// The work of a step.
fn stepping(id: RolloutId, key: &ActKey) -> Work {
    Work { kind: ROLLOUT_STEP, key: format!("{id}/{key}") }
}

/// The work of a look.
fn looking(id: RolloutId, cluster: &Name) -> Work {
    Work { kind: ROLLOUT_LOOK, key: format!("{id}/{cluster}") }
}

/// The work of asking a gate.
fn asking(id: RolloutId, gate: &str) -> Work {
    Work { kind: ROLLOUT_GATE, key: format!("{id}/{gate}") }
}

/// The rollout and the rest of a key.
fn parts_of(key: &str) -> Option<(RolloutId, &str)> {
    let (id, rest) = key.split_once('/')?;
    Some((id.parse().ok()?, rest))
}

/// The step that a key names.
fn step_of(rest: &str) -> Option<ActKey> {
    let mut parts = rest.split('/');
    let cluster: Name = parts.next()?.parse().ok()?;
    let word = parts.next()?;
    let kind = StepKind::ALL.into_iter().find(|kind| format!("{kind:?}") == word)?;
    let attempt = parts.next()?.parse().ok()?;
    Some(ActKey { cluster, kind, attempt })
}

/// Reads an id; text that is none names nothing.
pub fn rollout_id(text: &str) -> Result<RolloutId, Error> {
    text.parse().map_err(|_| unknown(text))
}

fn unknown(id: impl std::fmt::Display) -> Error {
    Error::not_found(Code::DeploymentNotFound, "deployment", id)
}

fn resource(id: RolloutId) -> String {
    format!("deployment/{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_step_is_read_back() {
        let id = RolloutId(uuid::Uuid::from_u128(7));
        for kind in StepKind::ALL {
            let key = ActKey { cluster: "prod-eu".parse().expect("a name"), kind, attempt: 3 };
            let work = stepping(id, &key);
            let (read, rest) = parts_of(&work.key).expect("two parts");
            assert_eq!((read, step_of(rest)), (id, Some(key)));
        }
        assert_eq!(step_of("prod-eu/Nothing/1"), None);
    }
}
