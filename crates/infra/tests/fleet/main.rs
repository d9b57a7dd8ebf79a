//! Operators changed on real control planes with the real helm, 3 and 4.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod definitions;
mod dock;
mod killed;
#[path = "../support/one.rs"]
mod one;
mod release;
mod restore;
mod standing;
mod switch;
