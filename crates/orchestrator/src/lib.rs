//! The use cases of the manager, and the ports they stand on.
//!
//! A use case takes an [`Actor`](slipway_domain::access::Actor), authorizes, decides with the domain's
//! rules, and writes with one [`commit`](ports::Store::commit). No database, no HTTP, no Kubernetes here:
//! those are behind the [`ports`], which `infra` implements.

// The cases that rows go through are shared with tests elsewhere, which know this crate by its name.
#[cfg(test)]
extern crate self as slipway_orchestrator;

pub mod approvals;
pub mod audit;
pub mod changes;
pub mod clusters;
pub mod crds;
pub mod declarative;
pub mod error;
pub mod events;
pub mod health;
pub mod identity;
pub mod manager;
pub mod metrics;
pub mod notices;
pub mod operators;
pub mod outbox;
pub mod page;
pub mod ports;
pub mod rollouts;
pub mod settings;
pub mod workers;

pub use changes::{Changeset, Fence, Write};
pub use error::{Code, Error};
pub use manager::{Manager, Parts, Settings};
