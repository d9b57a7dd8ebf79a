//! Operators on real PostgreSQL, real chart repositories, real helm and real control planes.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod installations;
mod registering;
mod server;
#[path = "../support/mod.rs"]
mod support;
mod versions;
