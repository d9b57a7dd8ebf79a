//! The adapters of the manager: PostgreSQL, Kubernetes, chart repositories, mail, keys, identity.
//!
//! Each implements a port of `orchestrator` and decides nothing. Every call to the outside has a timeout
//! and a span; no secret is logged or put into an error.

pub mod charts;
pub mod clock;
pub mod fleet;
mod gates;
pub mod identity;
pub mod keyring;
pub mod kubernetes;
pub mod mail;
pub mod notifier;
pub mod postgres;
pub mod releases;
pub mod secret_file;
pub mod webhook;
pub mod workers;
