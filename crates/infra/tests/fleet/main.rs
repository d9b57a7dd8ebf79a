//! Operators changed on real control planes with the real helm, 3 and 4.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod conflicts;
mod definitions;
mod dock;
mod drift;
mod killed;
#[path = "../support/one.rs"]
mod one;
mod release;
mod restore;
mod runtime;
mod standby;
mod standing;
mod switch;
