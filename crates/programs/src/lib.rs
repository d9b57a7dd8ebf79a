//! The outside programs that Slipway's tests and tools run on: which ones, where they come from,
//! and where they are on this machine.
//!
//! `cargo xtask setup` builds and installs them; the test kit and the lab only look. Nothing here
//! runs a program or writes a file.

mod cache;
mod find;
mod recipe;
mod schemathesis;

pub use cache::cache_directory;
pub use find::{Missing, Program, kubernetes_directory, oidc_provider_directory, postgres_directory};
pub use recipe::{DEBIAN_PACKAGES, DebianPackage, Purpose, RECIPES, Recipe, Source};
pub use schemathesis::{SCHEMATHESIS_VERSION, schemathesis, schemathesis_directory};
