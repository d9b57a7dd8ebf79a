//! What has to be known of an operator to roll it out well: one small declarative document.
//!
//! How one version hands over to the next, which upgrades are allowed, which cannot be undone, and how to
//! tell that it works. Built in for the operators of this project, writable for all others.

mod built_in;
mod drift;
mod read;
mod upgrade;

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::version::Version;

pub use drift::DriftCare;
pub use upgrade::UpgradeRefusal;

/// What has to be known of an operator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Profile {
    /// How a blue-green switch hands over from one version to the other.
    #[serde(default)]
    pub handover: Handover,
    /// The Lease that both colours elect their leader on; needed for a standby handover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// An object that a working operator brings to a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smoke_test: Option<SmokeTest>,
    /// An object that the operator's webhooks take, for asking them without writing anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook_sample: Option<Map<String, Value>>,
    /// Which upgrades are allowed, and which cannot be undone.
    #[serde(default, skip_serializing_if = "Upgrade::is_default")]
    pub upgrade: Upgrade,
    /// Values that an installation beside another one gets; `$(colour)` and `$(other)` in texts stand for
    /// `blue` and `green`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub coloured_values: Map<String, Value>,
    /// More that has to be so for the operator to be healthy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub health: Vec<HealthRule>,
    /// What becomes of changes that others make to what was released.
    #[serde(default, skip_serializing_if = "DriftCare::is_default")]
    pub drift: DriftCare,
}

/// How one version hands over to the other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Handover {
    /// The old one is scaled down, then the new one up: a short pause, safe for every operator.
    #[default]
    Cold,
    /// Both run and elect one leader on a shared Lease: no pause in admission.
    Standby,
}

/// The Lease of a leader election.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lease {
    /// Its name.
    pub name: String,
    /// Its namespace; that of the operator where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// An object that a working operator brings to a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SmokeTest {
    /// The object.
    pub object: Map<String, Value>,
    /// The condition that has to become true.
    #[serde(default = "ready")]
    pub condition: String,
    /// Within how long, as ISO 8601.
    #[serde(default = "two_minutes")]
    #[schemars(with = "String")]
    pub within: SignedDuration,
}

/// Which upgrades are allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Upgrade {
    /// Which steps are allowed.
    #[serde(default)]
    pub path: UpgradePath,
    /// Versions that cannot be left downwards again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub one_way: Vec<Version>,
}

/// Which steps from version to version are allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UpgradePath {
    /// Any.
    #[default]
    Any,
    /// One minor version at a time.
    NoSkippedMinor,
}

/// Objects that have to be in a condition for the operator to be healthy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HealthRule {
    /// What people call the rule.
    pub name: String,
    /// The group and version of the objects.
    pub api_version: String,
    /// Their kind.
    pub kind: String,
    /// Their namespace; all where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the one object; all of the kind where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The condition that has to be true.
    #[serde(default = "ready")]
    pub condition: String,
    /// What it means when it does not hold.
    #[serde(default)]
    pub failing: RuleSeverity,
}

/// What a rule that does not hold means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RuleSeverity {
    /// The operator is degraded.
    #[default]
    Degraded,
    /// The operator is unhealthy.
    Unhealthy,
}

/// One of two installations beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Colour {
    /// The first.
    Blue,
    /// The second.
    Green,
}

impl Colour {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Blue => "blue",
            Self::Green => "green",
        }
    }

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Blue => Self::Green,
            Self::Green => Self::Blue,
        }
    }
}

impl Profile {
    /// Reads a document and reports everything that is wrong with it.
    pub fn parse(document: &Value) -> Result<Self, crate::problem::Problems> {
        read::profile(document)
    }

    /// The profile that comes with Slipway for a chart.
    pub fn built_in(chart: &str) -> Option<Self> {
        built_in::of(chart)
    }

    /// What a document has to look like, as a JSON Schema for editors.
    pub fn json_schema() -> Value {
        let mut schema = schemars::schema_for!(Self).to_value();
        if let Value::Object(fields) = &mut schema {
            fields.insert("title".to_owned(), "Slipway operator profile".into());
        }
        schema
    }

    /// The charts that have a built-in profile.
    pub fn built_in_charts() -> &'static [&'static str] {
        built_in::CHARTS
    }

    /// The values of one colour, with the placeholders filled in.
    pub fn values_of(&self, colour: Colour) -> Map<String, Value> {
        self.coloured_values.iter().map(|(key, value)| (key.clone(), filled(value, colour))).collect()
    }
}

fn filled(value: &Value, colour: Colour) -> Value {
    match value {
        Value::String(text) => {
            Value::String(text.replace("$(colour)", colour.word()).replace("$(other)", colour.other().word()))
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| filled(item, colour)).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), filled(value, colour))).collect())
        }
        other => other.clone(),
    }
}

fn ready() -> String {
    "Ready".to_owned()
}

fn two_minutes() -> SignedDuration {
    SignedDuration::from_mins(2)
}

#[cfg(test)]
mod tests;
