//! What of a change of CRDs is tolerated.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Scope;
use crate::document::Fields;
use crate::problem::Problems;

/// What is tolerated where it applies. Of several that apply, those later by name add to the earlier ones
/// and win over them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// Where it applies.
    #[serde(flatten)]
    pub scope: Scope,
    /// How findings about CRDs count.
    #[serde(default, skip_serializing_if = "CrdPolicy::is_default")]
    pub crds: CrdPolicy,
}

/// How findings about CRDs count; the words are those of `slipway crd diff --policy`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CrdPolicy {
    /// Where it starts from; `strict` where nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<CrdPreset>,
    /// What becomes of the findings of single rules, by their ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rules: BTreeMap<String, CrdAction>,
    /// Findings that are accepted for a while.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<CrdWaiver>,
}

/// A starting point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CrdPreset {
    /// Everything that can hurt somebody counts.
    Strict,
    /// Changed descriptions and printer columns and added enum values are tolerated.
    UpstreamControllers,
}

/// What becomes of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CrdAction {
    /// They are left out.
    Ignore,
    /// They are safe.
    Safe,
    /// They are risky.
    Risky,
    /// They are breaking.
    Breaking,
}

/// Somebody's decision to live with a finding for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CrdWaiver {
    /// The id of the finding.
    pub finding: String,
    /// The name of the CRD; every one, where nobody says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crd: Option<String>,
    /// Where; `*` stands for anything.
    pub path: String,
    /// Why it is acceptable.
    pub reason: String,
    /// Who takes the responsibility.
    pub who: String,
    /// Until when.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub expires: Timestamp,
}

impl Policy {
    /// Reads it, and says all that is wrong.
    pub fn read(spec: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(spec, &mut problems);
        let scope = Scope::read(&mut fields);
        let crds = fields.inner("crds", CrdPolicy::read).unwrap_or_default();
        fields.end();
        problems.or(Self { scope, crds })
    }
}

impl CrdPolicy {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    fn read(value: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(value, &mut problems);
        let preset = fields.optional("preset");
        let rules = fields.optional("rules").unwrap_or_default();
        let waivers = fields.each("waivers", CrdWaiver::read);
        fields.end();
        problems.or(Self { preset, rules, waivers })
    }

    /// Adds another that applies too and wins over this one.
    pub fn add(&mut self, later: &Self) {
        self.preset = later.preset.or(self.preset);
        self.rules.extend(later.rules.iter().map(|(id, action)| (id.clone(), *action)));
        self.waivers.extend(later.waivers.iter().cloned());
    }
}

impl CrdWaiver {
    fn read(value: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(value, &mut problems);
        let finding = fields.required::<String>("finding");
        let crd = fields.optional("crd");
        let path = fields.required::<String>("path");
        let reason = fields.required::<String>("reason");
        let who = fields.required::<String>("who");
        let expires = fields.required("expires");
        fields.end();
        for (key, text) in [("reason", &reason), ("who", &who), ("path", &path)] {
            if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
                problems.add(key, "is empty");
            }
        }
        match (finding, path, reason, who, expires) {
            (Some(finding), Some(path), Some(reason), Some(who), Some(expires)) => {
                problems.or(Self { finding, crd, path, reason, who, expires })
            }
            _ => Err(problems),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_is_read_and_written_as_it_was() {
        let spec = json!({
            "environments": ["Production"],
            "crds": {
                "preset": "upstream-controllers",
                "rules": {"field-removed": "risky"},
                "waivers": [{
                    "finding": "required-added", "path": ".spec.*", "reason": "nobody uses it", "who": "ada",
                    "expires": "2030-01-01T00:00:00Z",
                }],
            },
        });
        let policy = Policy::read(&spec).unwrap();
        assert_eq!(serde_json::to_value(&policy).unwrap(), spec);
        assert_eq!(serde_json::to_value(Policy::read(&json!({})).unwrap()).unwrap(), json!({}));
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let spec = json!({
            "environments": ["Moon"],
            "crds": {"preset": "lax", "waivers": [{"finding": "x", "path": "", "reason": "r", "expires": "soon"}]},
        });
        let told = Policy::read(&spec).unwrap_err().to_string();
        for part in [
            "environments unknown variant `Moon`, expected one of `Development`, `Staging`, `Production`",
            "crds.preset unknown variant `lax`",
            "crds.waivers[0].who is missing",
            "crds.waivers[0].expires",
            "crds.waivers[0].path is empty",
        ] {
            assert!(told.contains(part), "{part:?} is not in {told}");
        }
    }

    #[test]
    fn a_later_policy_adds_and_wins() {
        let read = |crds: Value| Policy::read(&json!({"crds": crds})).unwrap().crds;
        let mut policy = read(json!({"preset": "upstream-controllers", "rules": {"a": "safe", "b": "safe"}}));
        policy.add(&read(json!({"rules": {"b": "breaking"}})));
        assert_eq!(policy.preset, Some(CrdPreset::UpstreamControllers));
        assert_eq!(policy.rules["a"], CrdAction::Safe);
        assert_eq!(policy.rules["b"], CrdAction::Breaking);
    }
}
