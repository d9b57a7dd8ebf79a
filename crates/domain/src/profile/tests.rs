use serde_json::json;

use super::*;

#[test]
fn everything_that_is_wrong_with_a_profile_is_said_at_once() {
    let problems = Profile::parse(&json!({
        "handover": "standby",
        "smokeTest": { "object": { "kind": "Application" }, "within": "two minutes" },
        "upgrade": { "path": "fast", "oneWay": ["1.2.3", "two"], "speed": 1 },
        "health": [{ "name": "ready", "kind": "Broker", "failing": "sad" }, 7],
        "colour": "red",
    }))
    .unwrap_err();
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "smokeTest.object.apiVersion is missing",
            "smokeTest.object.metadata.name is missing",
            "smokeTest.within is \"two minutes\", which is no duration such as PT2M",
            "upgrade.path is \"fast\", which is none of any, noSkippedMinor",
            "upgrade.oneWay[1] is not a version such as 1.2.3 or v1.2.3-rc.1",
            "upgrade.speed is not a field of a profile",
            "health[0].apiVersion is missing",
            "health[0].failing is \"sad\", which is none of degraded, unhealthy",
            "health[1] has to be an object",
            "lease is missing; a standby handover needs the Lease that both colours share",
            "colour is not a field of a profile",
        ]
    );
    assert!(Profile::parse(&json!([])).is_err());
}

#[test]
fn nothing_said_is_the_careful_default() {
    let profile = Profile::parse(&json!({})).unwrap();
    assert_eq!(profile, Profile::default());
    assert_eq!(profile.handover, Handover::Cold);
}

#[test]
fn every_built_in_profile_can_be_read_and_written() {
    for chart in Profile::built_in_charts() {
        let profile = Profile::built_in(chart).unwrap();
        let written = serde_json::to_value(&profile).unwrap();
        assert_eq!(Profile::parse(&written).unwrap(), profile, "{chart}");
        assert_eq!(serde_json::from_value::<Profile>(written).unwrap(), profile);
    }
    assert_eq!(Profile::built_in("cert-manager"), None);
}

#[test]
fn a_minor_version_is_skipped_only_where_that_is_allowed() {
    let version = |text: &str| text.parse::<Version>().unwrap();
    let careful = Profile::parse(&json!({"upgrade": {"path": "noSkippedMinor"}})).unwrap();
    assert!(careful.allows(&version("1.2.9"), &version("1.3.0")).is_ok());
    assert!(careful.allows(&version("1.2.9"), &version("2.0.0")).is_ok());
    assert!(careful.allows(&version("1.4.0"), &version("1.2.0")).is_ok());
    let refusal = careful.allows(&version("v1.2.9"), &version("v1.4.0")).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "v1.2.9 cannot go to v1.4.0 at once: minor versions must not be skipped; go to 1.3 first"
    );
    assert!(Profile::default().allows(&version("1.2.9"), &version("1.9.0")).is_ok());
}

#[test]
fn a_one_way_version_is_met_when_it_is_passed() {
    let version = |text: &str| text.parse::<Version>().unwrap();
    let profile = Profile::parse(&json!({"upgrade": {"oneWay": ["1.3.0"]}})).unwrap();
    assert_eq!(profile.one_way(&version("1.2.0"), &version("1.4.0")), Some(&version("1.3.0")));
    assert_eq!(profile.one_way(&version("1.3.0"), &version("1.4.0")), None);
    assert_eq!(profile.one_way(&version("1.1.0"), &version("1.2.0")), None);
}

#[test]
fn values_of_a_colour_name_it() {
    let document = json!({"colouredValues": {"group": "$(colour)", "peer": ["not $(other)"], "on": true}});
    let profile = Profile::parse(&document).unwrap();
    let values = Value::Object(profile.values_of(Colour::Green));
    assert_eq!(values, json!({"group": "green", "peer": ["not blue"], "on": true}));
}

#[test]
fn the_schema_for_editors_knows_every_field_of_a_profile() {
    let schema = Profile::json_schema();
    assert_eq!(schema.pointer("/additionalProperties"), Some(&json!(false)));
    let known = schema.pointer("/properties").and_then(Value::as_object).unwrap();
    let fields =
        ["handover", "lease", "smokeTest", "webhookSample", "upgrade", "colouredValues", "health", "drift"];
    for field in fields {
        assert!(known.contains_key(field), "{field}");
    }
    assert_eq!(known.len(), fields.len());
}
