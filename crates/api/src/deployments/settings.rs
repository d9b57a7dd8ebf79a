//! The settings of a deployment as they can be sent again.

use serde_json::{Map, Value, json};
use slipway_domain::rollout::{Settings, Strategy};

/// The block of the strategy, by its name.
pub(super) fn block(strategy: &Strategy) -> Value {
    let (key, value) = match strategy {
        Strategy::Direct(direct) => ("directConfig", serde_json::to_value(direct)),
        Strategy::Canary(canary) => ("canaryConfig", serde_json::to_value(canary)),
        Strategy::Rolling(rolling) => ("rollingConfig", serde_json::to_value(rolling)),
        Strategy::BlueGreen(switch) => ("blueGreenConfig", serde_json::to_value(switch)),
    };
    json!({ key: said(value.unwrap_or_default()) })
}

/// Everything but the strategy.
pub(super) fn others(settings: &Settings) -> Value {
    let mut all = serde_json::to_value(settings).unwrap_or_default();
    if let Value::Object(fields) = &mut all {
        fields.remove("strategy");
    }
    said(all)
}

/// All of it.
pub(super) fn whole(settings: &Settings) -> Value {
    let mut all = Map::new();
    all.insert("strategy".to_owned(), json!(settings.strategy.kind()));
    for part in [block(&settings.strategy), others(settings)] {
        if let Value::Object(fields) = part {
            all.extend(fields);
        }
    }
    Value::Object(all)
}

/// Without what says nothing: nobody would send it.
fn said(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let says =
                |value: &Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
            Value::Object(fields.into_iter().filter(|(_, value)| says(value)).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use slipway_domain::rollout::{Canary, Rolling};

    use super::*;

    #[test]
    fn settings_can_be_sent_again() {
        let canary = Settings::with(Strategy::Canary(Canary::default()));
        assert_eq!(
            whole(&canary),
            json!({"strategy": "Canary", "canaryConfig": {"stages": [10, 30, 100], "evaluationPeriod": "PT5M",
                "successThreshold": 0.95, "healthCheckInterval": "PT30S"}, "autoRollbackEnabled": true,
                "autoRollbackWindow": "PT1H", "quarantineTimeout": "PT1H"})
        );
        let rolling = Strategy::Rolling(Rolling::default());
        assert_eq!(
            block(&rolling),
            json!({"rollingConfig": {"validationPeriod": "PT5M", "pauseBetweenClusters": "PT2M",
                "stopOnFailure": true}})
        );
    }
}
