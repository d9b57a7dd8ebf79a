//! What comes out of a judgement.

use serde_json::Value;

use super::path::FieldPath;

/// What the API server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The object is stored.
    Accepted,
    /// The object is refused, for these reasons.
    Rejected(Vec<Violation>),
    /// The answer depends on something that cannot be evaluated here, named by these reasons.
    Unknown(Vec<String>),
}

impl Verdict {
    /// Whether the object is certainly stored.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Verdict::Accepted)
    }

    /// The reasons for a refusal, none unless the object is certainly refused.
    pub fn violations(&self) -> &[Violation] {
        match self {
            Verdict::Rejected(violations) => violations,
            Verdict::Accepted | Verdict::Unknown(_) => &[],
        }
    }
}

/// One reason for a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The field, as the API server prints it: `spec.foo[0].bar`.
    pub path: String,
    /// The schema keyword that was violated, such as `required`, `x-kubernetes-list-type` or `cel`.
    pub keyword: &'static str,
    /// What the API server says about the field.
    pub message: String,
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct Admission {
    /// What the API server answers.
    pub verdict: Verdict,
    /// The object after pruning and defaulting: what is stored when the verdict allows it. Null for what is
    /// no object, or one nested too deep to be looked at.
    pub object: Value,
    /// Fields that were dropped because the schema does not know them.
    pub pruned: Vec<String>,
}

/// The outcome of a read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What the reader sees.
    pub object: Value,
    /// Fields of the stored object that the reader does not see.
    pub pruned: Vec<String>,
}

/// Violations and doubts as they come up.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) violations: Vec<Violation>,
    pub(crate) unknown: Vec<String>,
}

impl Findings {
    pub(crate) fn violate(&mut self, path: &FieldPath, keyword: &'static str, message: impl Into<String>) {
        self.violate_at(path.as_str(), keyword, message);
    }

    pub(crate) fn violate_at(
        &mut self,
        path: impl Into<String>,
        keyword: &'static str,
        message: impl Into<String>,
    ) {
        self.violations.push(Violation { path: path.into(), keyword, message: message.into() });
    }

    pub(crate) fn unsure(&mut self, path: &FieldPath, reason: &str) {
        let reason = if path.as_str().is_empty() { reason.to_owned() } else { format!("{path}: {reason}") };
        if !self.unknown.contains(&reason) {
            self.unknown.push(reason);
        }
    }

    /// Whether something was found after which the API server does not run CEL rules.
    pub(crate) fn misleads_rules(&self) -> bool {
        const BLOCKING: [&str; 7] =
            ["enum", "required", "maxLength", "maxItems", "maxProperties", "type", "format"];
        self.violations.iter().any(|violation| {
            BLOCKING.contains(&violation.keyword) || violation.message.starts_with("Required value")
        })
    }

    /// A certain violation decides, whatever else is in doubt.
    pub(crate) fn verdict(self) -> Verdict {
        if !self.violations.is_empty() {
            Verdict::Rejected(self.violations)
        } else if self.unknown.is_empty() {
            Verdict::Accepted
        } else {
            Verdict::Unknown(self.unknown)
        }
    }
}
