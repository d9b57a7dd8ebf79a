//! What an operator's profile says about its health.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::judgement::Weight;
use super::limits::Limits;

/// What has to be known of an operator to judge it. Nothing of it is needed for a first verdict.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HealthRules {
    /// An object that its webhooks look at, for clusters that have none yet; only ever sent as a dry run.
    pub sample: Option<Value>,
    /// The test that its controllers work, where there is one.
    pub smoke: Option<SmokeTest>,
    /// The condition that says an object is well, by CRD; `Ready` where nothing is said.
    pub conditions: Vec<(String, String)>,
    /// Further objects that have to be in a condition.
    pub further: Vec<FurtherRule>,
    /// The lines between well and not well.
    pub limits: Limits,
}

/// Objects that have to be in a condition for the operator to be well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FurtherRule {
    /// What people call the rule.
    pub name: String,
    /// The group and version of the objects.
    pub api_version: String,
    /// Their kind.
    pub kind: String,
    /// Their namespace; all where nothing is said.
    pub namespace: Option<String>,
    /// The name of the one object; all of the kind where nothing is said.
    pub object: Option<String>,
    /// The condition that has to be True.
    pub condition: String,
    /// What it means when it does not hold.
    pub weight: Weight,
}

impl HealthRules {
    /// The condition that says an object of a CRD is well.
    pub fn condition(&self, crd: &str) -> &str {
        self.conditions.iter().find(|(name, _)| name == crd).map_or("Ready", |(_, condition)| condition)
    }
}

/// A test that the controllers work: an object is made, has to reach a condition, and is removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SmokeTest {
    /// The object, whole; its namespace is replaced by one that exists for the test alone.
    pub object: Value,
    /// The condition that has to become True.
    pub condition: String,
    /// How long that may take.
    pub within: Duration,
    /// How often it runs; checks between use the last result.
    pub every: Duration,
}
