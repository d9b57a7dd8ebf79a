//! Real things for tests, as values that clean up after themselves.
//!
//! A test asks for a control plane, a node, a database or a browser, and gets a real one. What is
//! costly is leased from a broker (`cargo xtask test` starts one for all test processes; a single
//! `cargo test` starts its own), and goes back when the value is dropped or its process dies.
//! Every program runs under the guardian, so that nothing outlives its owner.
//!
//! Nothing here is for production code.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot have what it needs ends there"
)]

pub mod broker;
pub mod browser;
pub mod certificates;
pub mod charts;
pub mod control_plane;
pub mod git;
pub mod guardian;
pub mod image;
pub mod kubeconfig;
pub mod kwok;
pub mod lease;
pub mod loopback;
pub mod metrics;
pub mod oidc;
pub mod part;
pub mod postgres;
pub mod real_cluster;
pub mod scratch;
pub mod skip;
pub mod smtp;
pub mod wait;

pub use control_plane::{ControlPlane, Fleet};
pub use image::Image;
pub use part::{Part, PartBuilder};
pub use real_cluster::RealCluster;
pub use rustix::process::Signal;
pub use scratch::{Scratch, scratch};
pub use skip::skipped;
pub use slipway_programs::{Program, postgres_directory};
pub use wait::{free_port, until};

/// Prepares this process for encrypted connections. Call it first; calling it again does nothing.
pub fn init() {
    // An error means that a provider is installed already, which is what we want.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
