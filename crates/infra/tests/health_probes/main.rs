//! Operators on real control planes: what is seen of pods, webhooks, conversions and custom resources, and
//! what it means.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod node;
mod objects;
mod pods;
mod release;
mod sea;
mod server;
mod smoke;
mod webhooks;
