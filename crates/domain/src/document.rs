//! Things kept in files: one document each, with a kind, a name and what is wanted of it.

pub mod difference;
pub mod fields;
pub mod schema;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::problem::Problems;

pub use difference::{Difference, differences};
pub use fields::Fields;

/// The version of the documents.
pub const API_VERSION: &str = "slipway.dev/v1";

/// What a document is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Who may log in, and as what.
    User,
    /// What of a cluster is for people: labels, environment, description, whether it is disabled.
    Cluster,
    /// An operator, its chart and its profile.
    Operator,
    /// What is tolerated.
    Policy,
    /// Who has to agree to what.
    ApprovalRule,
    /// When something may be rolled out.
    Window,
    /// What charts get in an environment or on a cluster.
    Values,
}

impl Kind {
    /// All, in the order in which they are made: what others refer to comes first.
    pub const ALL: [Self; 7] = [
        Self::User,
        Self::Cluster,
        Self::Operator,
        Self::Policy,
        Self::ApprovalRule,
        Self::Window,
        Self::Values,
    ];

    /// The word in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Cluster => "Cluster",
            Self::Operator => "Operator",
            Self::Policy => "Policy",
            Self::ApprovalRule => "ApprovalRule",
            Self::Window => "Window",
            Self::Values => "Values",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(text)).ok_or_else(|| {
            let all: Vec<&str> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
            format!("is {text:?}, which is none of {}", all.join(", "))
        })
    }
}

/// A document whose frame is right; its `spec` is not read yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// What it is about.
    pub kind: Kind,
    /// The name of the thing.
    pub name: String,
    /// What is wanted of it.
    pub spec: Value,
}

impl Document {
    /// Reads the frame, and says all that is wrong with it.
    pub fn read(value: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(value, &mut problems);
        let version: Option<String> = fields.required("apiVersion");
        let kind: Option<String> = fields.required("kind");
        let metadata: Option<Value> = fields.required("metadata");
        let spec: Option<Value> = fields.required("spec");
        fields.end();
        if let Some(version) = version.filter(|version| version != API_VERSION) {
            problems.add("apiVersion", format!("is {version:?}; write {API_VERSION}"));
        }
        let kind = kind.and_then(|kind| problems.take("kind", kind.parse::<Kind>()));
        let name = metadata.and_then(|metadata| {
            let mut inner = Problems::new();
            let mut fields = Fields::of(&metadata, &mut inner);
            let name: Option<String> = fields.required("name");
            fields.end();
            if name.as_ref().is_some_and(|name| name.is_empty() || name.chars().count() > 253) {
                inner.add("name", "has to have 1 to 253 characters");
            }
            problems.nest("metadata", inner);
            name
        });
        if value.to_string().contains("\\u0000") {
            problems.add("", "holds a character that cannot be kept (U+0000)");
        }
        if spec.as_ref().is_some_and(|spec| !spec.is_object()) {
            problems.add("spec", "has to be an object");
        }
        match (kind, name, spec) {
            (Some(kind), Some(name), Some(spec)) => problems.or(Self { kind, name, spec }),
            _ => Err(problems),
        }
    }

    /// As it is written.
    pub fn to_value(&self) -> Value {
        serde_json::json!({
            "apiVersion": API_VERSION,
            "kind": self.kind.as_str(),
            "metadata": {"name": self.name},
            "spec": self.spec,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_read_and_written() {
        let value =
            json!({"apiVersion": API_VERSION, "kind": "Window", "metadata": {"name": "nights"}, "spec": {}});
        let document = Document::read(&value).unwrap();
        assert_eq!((document.kind, document.name.as_str()), (Kind::Window, "nights"));
        assert_eq!(document.to_value(), value);
    }

    #[test]
    fn everything_wrong_with_the_frame_is_said_at_once() {
        let value =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "", "labels": {}}, "status": {}});
        let problems = Document::read(&value).unwrap_err();
        assert_eq!(
            problems.to_string(),
            "spec is missing; status is not a field here; \
             apiVersion is \"v1\"; write slipway.dev/v1; \
             kind is \"Pod\", which is none of User, Cluster, Operator, Policy, ApprovalRule, Window, \
             Values; \
             metadata.labels is not a field here; metadata.name has to have 1 to 253 characters"
        );
        assert_eq!(Document::read(&json!([])).unwrap_err().to_string(), "has to be an object");
    }
}
