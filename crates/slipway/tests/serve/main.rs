//! The server as a person starts it: on a bare folder, on a database of others, and through every end.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "../support/mod.rs"]
mod support;

mod curl;
mod database;
mod embedded;
mod first_day;
mod outage;
mod rollout;
mod secrets;
mod settings;
mod several;
mod tls;

use support::{fleet, person, program};
