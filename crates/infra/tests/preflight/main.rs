//! What stands in the way of a rollout, and what becomes of CRDs and stored objects: on real control planes,
//! with real helm.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod colours;
mod crds;
mod definitions;
mod harbour;
mod migration;
#[path = "../support/one.rs"]
mod one;
mod ownership;
mod plans;
mod returning;
mod rights;
mod smoke;
mod subcharts;
mod webhooks;
