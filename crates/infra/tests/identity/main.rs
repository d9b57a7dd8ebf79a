//! Logging in, people, tokens and keys, on a real PostgreSQL with one or two servers.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod keys;
mod login;
mod oidc;
mod scene;
#[path = "../support/mod.rs"]
mod support;
mod tokens;
mod users;
