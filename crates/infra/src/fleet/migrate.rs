//! Rewriting stored objects to another version.

use slipway_orchestrator::ports::fleet::{Act, Acted};

use super::fault::Fault;
use super::site::Site;

/// Rewrites stored objects to the new storage version.
#[expect(clippy::unused_async, reason = "nothing is asked of the cluster yet")]
pub(super) async fn forward(_site: &Site, _act: &Act) -> Result<Acted, Fault> {
    Err(Fault::Hiccup("stored objects cannot be migrated here yet".to_owned()))
}
