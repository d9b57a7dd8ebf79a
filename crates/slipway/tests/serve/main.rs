//! The server as a person starts it: on a bare folder, on a database of others, and through every end.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod database;
mod embedded;
mod program;
mod settings;
mod tls;
