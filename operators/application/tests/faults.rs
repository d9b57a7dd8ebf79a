//! What the operator makes of trouble: it recovers alone, loses nothing, and does nothing twice.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "faults/account.rs"]
mod account;
#[path = "faults/connection.rs"]
mod connection;
#[path = "faults/fleet.rs"]
mod fleet;
#[path = "faults/proxy.rs"]
mod proxy;
#[path = "faults/refusal.rs"]
mod refusal;
#[allow(dead_code, reason = "each file of tests uses its part")]
#[path = "operator/running.rs"]
mod running;
#[path = "faults/throttling.rs"]
mod throttling;
#[allow(dead_code, reason = "each file of tests uses its part")]
#[path = "faults/world.rs"]
mod world;
#[path = "faults/writers.rs"]
mod writers;
