//! What a profile says about health.

use std::time::Duration;

use serde_json::Value;
use slipway_domain::health::{FurtherRule, HealthRules, SmokeTest, Weight};
use slipway_domain::profile::{Profile, RuleSeverity};

/// A smoke test makes and removes an object; it need not do so at every check.
const SMOKE_EVERY: Duration = Duration::from_mins(10);

/// The rules of a profile.
pub(crate) fn of(profile: &Profile) -> HealthRules {
    let smoke = profile.smoke_test.as_ref().map(|test| SmokeTest {
        object: Value::Object(test.object.clone()),
        condition: test.condition.clone(),
        within: Duration::try_from(test.within).unwrap_or(Duration::from_mins(2)),
        every: SMOKE_EVERY,
    });
    let further = profile.health.iter().map(|rule| FurtherRule {
        name: rule.name.clone(),
        api_version: rule.api_version.clone(),
        kind: rule.kind.clone(),
        namespace: rule.namespace.clone(),
        object: rule.object.clone(),
        condition: rule.condition.clone(),
        weight: match rule.failing {
            RuleSeverity::Degraded => Weight::Degrading,
            RuleSeverity::Unhealthy => Weight::Failing,
        },
    });
    HealthRules {
        sample: profile.webhook_sample.clone().map(Value::Object),
        smoke,
        further: further.collect(),
        ..HealthRules::default()
    }
}
