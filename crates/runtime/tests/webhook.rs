//! Webhooks as API servers and people meet them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "webhook/admission.rs"]
mod admission;
#[path = "webhook/boats.rs"]
mod boats;
#[path = "webhook/certificates.rs"]
mod certificates;
#[path = "webhook/conversion.rs"]
mod conversion;
#[path = "webhook/load.rs"]
mod load;
#[path = "webhook/server.rs"]
mod server;
