//! The profile's sample object, brought to its condition.

use slipway_orchestrator::ports::fleet::{Act, Acted};

use super::fault::Fault;
use super::site::Site;

/// Runs the smoke test.
#[expect(clippy::unused_async, reason = "nothing is asked of the cluster yet")]
pub(super) async fn run(_site: &Site, _act: &Act) -> Result<Acted, Fault> {
    Err(Fault::Hiccup("smoke tests cannot be run here yet".to_owned()))
}
