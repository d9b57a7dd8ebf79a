//! Everything that could stand in the way, looked at before anything is changed.

use jiff::Timestamp;
use slipway_domain::preflight::Preflight;
use slipway_orchestrator::ports::fleet::Subject;

use super::fault::Fault;
use super::site::Site;

/// Looks. Changes nothing.
#[expect(clippy::unused_async, reason = "nothing is asked of the cluster yet")]
pub(super) async fn look(_site: &Site, _subject: &Subject, _now: Timestamp) -> Result<Preflight, Fault> {
    Err(Fault::Hiccup("preflight cannot be done here yet".to_owned()))
}
