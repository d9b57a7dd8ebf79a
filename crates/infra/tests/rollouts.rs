//! What is kept of rollouts, on a real PostgreSQL.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "../../orchestrator/src/rollouts/simulation/promises.rs"]
mod cases;
#[path = "rollouts/history.rs"]
mod history;
#[path = "rollouts/promises.rs"]
mod promises;
#[path = "rollouts/records.rs"]
mod records;
#[path = "rollouts/reservations.rs"]
mod reservations;
#[path = "rollouts/scene.rs"]
mod scene;
mod support;
