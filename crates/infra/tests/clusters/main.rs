//! Clusters on real control planes and a real PostgreSQL.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod credentials;
mod health;
mod kubeconfigs;
mod registering;
mod removal;
mod secrecy;
mod server;
#[path = "../support/mod.rs"]
mod support;
