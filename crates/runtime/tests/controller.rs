//! Controllers on a real control plane: what brings a turn, what becomes of a failure, what is written.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "controller/children.rs"]
mod children;
#[path = "controller/failing.rs"]
mod failing;
#[path = "controller/finalizing.rs"]
mod finalizing;
#[path = "controller/leading.rs"]
mod leading;
#[path = "controller/scripted.rs"]
mod scripted;
#[path = "controller/status.rs"]
mod status;
#[path = "controller/watching.rs"]
mod watching;
#[path = "controller/workshop.rs"]
mod workshop;
