//! What operators, clusters, rollouts, approvals and people are, and the rules about them.
//!
//! Pure: values in, decisions out. No clock, no randomness, no input or output, nothing asynchronous;
//! whoever calls passes the time in. Everything that comes from outside is parsed here into types that
//! cannot be wrong, with all problems reported at once.

pub mod access;
pub mod approval;
pub mod audit;
pub mod cluster;
pub mod crd;
pub mod document;
pub mod event;
pub mod health;
pub mod id;
pub mod name;
pub mod operator;
pub mod preflight;
pub mod problem;
pub mod profile;
pub mod rollout;
pub mod settings;
pub mod user;
pub mod version;
