//! The profile's sample object, brought to its condition.

use std::time::Duration;

use slipway_domain::health::SmokeTest;
use slipway_domain::rollout::{Found, Outcome};
use slipway_orchestrator::ports::fleet::{Act, Acted};

use super::api::Api;
use super::fault::Fault;
use super::site::Site;
use crate::kubernetes::probes::smoke_test;

/// Runs the smoke test. A profile without one has nothing to be tried.
pub(super) async fn run(site: &Site, act: &Act) -> Result<Acted, Fault> {
    let Some(test) = &act.subject.profile.smoke_test else {
        return Ok(Outcome::Done(Found::Nothing).into());
    };
    let api = Api::of_act(site.client.clone(), act);
    // What the test says cannot be told from a cluster that is away, so that is asked for before and after.
    api.get("/version").await?;
    let within = Duration::try_from(test.within).unwrap_or_default().min(api.left());
    let test = SmokeTest {
        object: serde_json::Value::Object(test.object.clone()),
        condition: test.condition.clone(),
        within,
        every: Duration::ZERO,
    };
    let operator = act.subject.operator_name.as_str();
    let seen = smoke_test(site.client.clone(), api.cluster(), operator, &test, act.now).await;
    let Some(failure) = seen.failure else {
        return Ok(Outcome::Done(Found::Nothing).into());
    };
    Api::of_act(site.client.clone(), act).get("/version").await?;
    Err(Fault::Failed(format!("the smoke test with {} failed: {failure}", seen.object)))
}
