//! Who has to agree to what, as a document.

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Scope;
use crate::approval::{ApprovalKind, Approver, Level, Rule};
use crate::document::Fields;
use crate::problem::Problems;

/// Who has to agree to something, in place of the default. Of several that apply, the last by name counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalRule {
    /// What has to be agreed to.
    #[serde(rename = "type")]
    #[schemars(with = "KindWord")]
    pub kind: ApprovalKind,
    /// Where it applies.
    #[serde(flatten)]
    pub scope: Scope,
    /// Whether it is asked for at all; so it is where nobody says.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub required: bool,
    /// Who, one level after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<LevelWords>")]
    pub levels: Vec<Level>,
    /// How long they have, as an ISO 8601 duration; 24 hours where nobody says.
    #[serde(default = "a_day", skip_serializing_if = "is_a_day")]
    #[schemars(with = "String", extend("format" = "duration", "examples" = ["PT24H"]))]
    pub expires_after: SignedDuration,
    /// Whether whoever started it may not be among those who agree; so it is where nobody says.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub four_eyes: bool,
}

/// What has to be agreed to, for the schema.
#[derive(JsonSchema)]
#[schemars(rename = "ApprovalKind")]
#[expect(dead_code, reason = "only its schema is used")]
enum KindWord {
    /// A rollout to production.
    ProductionDeployment,
    /// Another version of an operator that is in production.
    OperatorVersionUpgrade,
    /// A change of a CRD that breaks something in production.
    BreakingCrdChange,
}

/// One level, for the schema: so many of these people.
#[derive(JsonSchema)]
#[schemars(rename = "Level", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct LevelWords {
    /// Who may decide: `EnvironmentOwner`, Admin, or a person as user:ada.
    #[schemars(inner(regex(pattern = r"^(EnvironmentOwner|Admin|user:.+)$")))]
    by: Vec<String>,
    /// How many of them have to agree; one where nobody says.
    #[schemars(range(min = 1, max = 20), default = "one")]
    quorum: Option<u32>,
}

/// How long somebody has at least to decide.
const SHORTEST: SignedDuration = SignedDuration::from_mins(1);

/// And at most.
const LONGEST: SignedDuration = SignedDuration::from_hours(90 * 24);

fn a_day() -> SignedDuration {
    SignedDuration::from_hours(24)
}

fn is_a_day(duration: &SignedDuration) -> bool {
    *duration == a_day()
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_yes(value: &bool) -> bool {
    *value
}

#[expect(clippy::unnecessary_wraps, reason = "the type of the field")]
fn one() -> Option<u32> {
    Some(1)
}

impl ApprovalRule {
    /// Reads it, and says all that is wrong.
    pub fn read(spec: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(spec, &mut problems);
        let kind = fields.required("type");
        let scope = Scope::read(&mut fields);
        let required = fields.optional("required").unwrap_or(true);
        let levels = fields.each("levels", level);
        let expires_after = fields.optional("expiresAfter").unwrap_or_else(a_day);
        let four_eyes = fields.optional("fourEyes").unwrap_or(true);
        fields.end();
        if required && levels.is_empty() && problems.is_empty() {
            problems.add("levels", "is empty; name at least one who decides, or say required: false");
        }
        if !(SHORTEST..=LONGEST).contains(&expires_after) {
            problems.add("expiresAfter", "has to be from PT1M to PT2160H");
        }
        match kind {
            Some(kind) => problems.or(Self { kind, scope, required, levels, expires_after, four_eyes }),
            None => Err(problems),
        }
    }

    /// How it is decided.
    pub fn rule(&self) -> Rule {
        Rule {
            required: self.required,
            levels: self.levels.clone(),
            expires_after: self.expires_after,
            four_eyes: self.four_eyes,
        }
    }
}

fn level(value: &Value) -> Result<Level, Problems> {
    let mut problems = Problems::new();
    let mut fields = Fields::of(value, &mut problems);
    let words: Option<Vec<String>> = fields.required("by");
    let quorum = fields.optional("quorum").unwrap_or(1);
    fields.end();
    if words.as_ref().is_some_and(Vec::is_empty) {
        problems.add("by", "is empty");
    }
    let mut by: Vec<Approver> = Vec::new();
    for (index, word) in words.unwrap_or_default().iter().enumerate() {
        by.extend(problems.take(&format!("by[{index}]"), word.parse()));
    }
    if !(1..=20).contains(&quorum) {
        problems.add("quorum", "has to be from 1 to 20");
    }
    problems.or(Level { by, quorum })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_is_read_and_written_so_that_it_is_read_again() {
        let spec = json!({
            "type": "ProductionDeployment",
            "operators": ["cert-manager"],
            "levels": [{"by": ["EnvironmentOwner", "user:ada"], "quorum": 1}, {"by": ["Admin"], "quorum": 2}],
            "expiresAfter": "PT4H",
            "fourEyes": false,
        });
        let rule = ApprovalRule::read(&spec).unwrap();
        assert_eq!(rule.expires_after, SignedDuration::from_hours(4));
        assert_eq!(serde_json::to_value(&rule).unwrap(), spec);
        let short = json!({"type": "BreakingCrdChange", "levels": [{"by": ["Admin"]}]});
        let rule = ApprovalRule::read(&short).unwrap();
        assert!(rule.four_eyes && rule.required && rule.levels[0].quorum == 1);
        let written = serde_json::to_value(&rule).unwrap();
        assert_eq!(ApprovalRule::read(&written).unwrap(), rule);
        let off = json!({"type": "OperatorVersionUpgrade", "required": false});
        assert!(!ApprovalRule::read(&off).unwrap().rule().required);
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let spec =
            json!({"levels": [{"by": ["Viewer"], "quorum": 0}], "expiresAfter": "PT1S", "fourEye": true});
        assert_eq!(
            ApprovalRule::read(&spec).unwrap_err().to_string(),
            "type is missing; \
             levels[0].by[0] is none of EnvironmentOwner, Admin or user:NAME; \
             levels[0].quorum has to be from 1 to 20; \
             fourEye is not a field here; did you mean fourEyes?; \
             expiresAfter has to be from PT1M to PT2160H"
        );
    }
}
