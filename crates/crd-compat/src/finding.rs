//! What a comparison says about one difference.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How much a difference matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Nobody notices, or everybody is better off.
    Safe,
    /// Nothing is refused or lost, but somebody may be surprised; or nobody can tell.
    Risky,
    /// Something that worked is refused, lost, or gone.
    Breaking,
}

impl Severity {
    /// Every severity, the worst first.
    pub const WORST_FIRST: [Severity; 3] = [Severity::Breaking, Severity::Risky, Severity::Safe];

    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Safe => "safe",
            Severity::Risky => "risky",
            Severity::Breaking => "breaking",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Whom a difference hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Hit {
    /// Whoever creates an object: new users, GitOps tools, restores from backup.
    Create,
    /// Whoever updates an object, even a label of it.
    Update,
    /// Whoever updates anything in the object that holds the field.
    UpdateParent,
    /// Whoever updates the field itself or anything beneath it.
    UpdateField,
    /// Whoever reads an object.
    Read,
    /// The controller, when it writes the status.
    Status,
}

impl Hit {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Hit::Create => "create",
            Hit::Update => "update",
            Hit::UpdateParent => "update-parent",
            Hit::UpdateField => "update-field",
            Hit::Read => "read",
            Hit::Status => "status",
        }
    }

    /// Who that is, in words that complete "hits ".
    pub fn whom(self) -> &'static str {
        match self {
            Hit::Create => "creates",
            Hit::Update => "every update",
            Hit::UpdateParent => "updates beside it",
            Hit::UpdateField => "updates of it",
            Hit::Read => "readers",
            Hit::Status => "the controller's status updates",
        }
    }
}

/// What becomes of the witness under the new definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The API server refuses it.
    Refused,
    /// The API server takes it and silently drops a part.
    Pruned,
}

/// How the witness is written to the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Write {
    /// As a new object.
    Create,
    /// Through the status subresource.
    Status,
}

/// An object that the old definition accepts and keeps whole, and the new one does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Witness {
    /// The object.
    pub object: Value,
    /// How it is written.
    pub write: Write,
    /// What becomes of it.
    pub outcome: Outcome,
    /// The version it is written in under the new definition, where that differs from its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_as: Option<String>,
    /// What the API server says, or the fields that are lost.
    pub reasons: Vec<String>,
}

/// A waiver that covers a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaivedBy {
    /// Who takes the responsibility.
    pub who: String,
    /// Why it is acceptable.
    pub reason: String,
    /// Until when.
    pub expires: Timestamp,
}

/// One difference, judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Stable name of the rule; `slipway crd explain` knows it.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// The version it concerns, or `v1alpha1 → v1` where objects cross from one to the other.
    pub version: Option<String>,
    /// Where: in the object (`.spec.size`) or in the definition (`crd.spec.scope`).
    pub path: String,
    /// What was written there.
    pub old: Option<Value>,
    /// What is written there now.
    pub new: Option<Value>,
    /// What changed and what follows, in one sentence.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
    /// Whom it hits.
    pub hits: Vec<Hit>,
    /// The proof.
    pub witness: Option<Witness>,
    /// Why there is no proof, where a breaking change of a schema has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub witness_missing_reason: Option<String>,
    /// The waiver that covers it.
    pub waived_by: Option<WaivedBy>,
    /// What changed, without what follows.
    #[serde(skip)]
    pub headline: String,
    /// What follows from it.
    #[serde(skip)]
    pub consequence: String,
}

impl Finding {
    /// Whether it counts towards the verdict.
    pub fn counts(&self) -> bool {
        self.waived_by.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_json_report() {
        for severity in Severity::WORST_FIRST {
            assert_eq!(serde_json::to_value(severity).ok(), Some(Value::from(severity.as_str())));
            assert_eq!(severity.to_string(), severity.as_str());
        }
        let hits = [Hit::Create, Hit::Update, Hit::UpdateParent, Hit::UpdateField, Hit::Read, Hit::Status];
        for hit in hits {
            assert_eq!(serde_json::to_value(hit).ok(), Some(Value::from(hit.as_str())));
            assert!(!hit.whom().is_empty());
        }
        assert!(Severity::Breaking > Severity::Risky && Severity::Risky > Severity::Safe);
    }
}
