//! Versions go out over real clusters: the real server on a real database, real helm, every strategy, every fault.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "../support/mod.rs"]
mod support;

mod cluster;
mod operator;
mod scene;

mod away;
mod careless;
mod control;
mod definitions;
mod matrix;
mod people;
mod servers;
mod stuck;
mod twelve;

use support::{fleet, person, program};
