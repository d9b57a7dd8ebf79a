//! CRDs, applied before the controller comes and returned after it went.

use slipway_orchestrator::ports::fleet::{Act, Acted};

use super::fault::Fault;
use super::site::Site;

/// Applies the CRDs of the version that is rolled out.
#[expect(clippy::unused_async, reason = "nothing is asked of the cluster yet")]
pub(super) async fn apply(_site: &Site, _act: &Act) -> Result<Acted, Fault> {
    Err(Fault::Hiccup("CRDs cannot be applied here yet".to_owned()))
}

/// Brings the CRDs of the snapshot back where that harms nobody, and compares custom resources.
#[expect(clippy::unused_async, reason = "nothing is asked of the cluster yet")]
pub(super) async fn give_back(_site: &Site, _act: &Act) -> Result<Acted, Fault> {
    Err(Fault::Hiccup("CRDs cannot be returned here yet".to_owned()))
}
