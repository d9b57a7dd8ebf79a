//! What changed from one schema to the next: one line of a CRD's history.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::version::Version;

/// What happened at a place of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ChangeType {
    /// Something is new.
    Added,
    /// Something is different.
    Modified,
    /// Something is gone.
    Removed,
}

/// One difference between a schema and the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdChange {
    /// What happened.
    pub change_type: ChangeType,
    /// Where, without a dot in front; empty for the definition as a whole.
    pub field_path: String,
    /// The type that was there.
    pub previous_type: Option<String>,
    /// The type that is there.
    pub new_type: Option<String>,
    /// Whether something that worked stops working.
    pub is_breaking: bool,
    /// What happened and what follows, in a sentence.
    pub description: String,
    /// The stable id of the finding behind it.
    pub finding: String,
    /// How much it matters: `breaking`, `risky` or `safe`.
    pub severity: String,
    /// The version of the operator that brought it.
    pub operator_version: Version,
    /// When that version was stored.
    pub changed_at: Timestamp,
}

impl fmt::Display for ChangeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "Added",
            Self::Modified => "Modified",
            Self::Removed => "Removed",
        })
    }
}

impl FromStr for ChangeType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "Added" => Ok(Self::Added),
            "Modified" => Ok(Self::Modified),
            "Removed" => Ok(Self::Removed),
            other => Err(format!("{other:?} is none of Added, Modified, Removed")),
        }
    }
}
