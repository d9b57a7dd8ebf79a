//! Write Kubernetes operators in Rust: the author brings types, a `reconcile` and policies.

pub mod admin;
pub mod apply;
pub mod cache;
pub mod client;
pub mod conditions;
pub mod controller;
pub mod crd;
pub mod error;
pub mod events;
pub mod leader;
pub mod metrics;
pub mod prelude;
pub mod queue;
pub mod runtime;
pub mod settings;
pub mod testing;
pub mod webhook;

pub use slipway_telemetry as telemetry;
