//! The schemas of CRDs that versions of operators bring, and what became of them.
//!
//! A CRD is stored once for each version of its operator; those of one CRD, in the order of versions, are
//! its [`chain`]. Whether one schema breaks another is judged elsewhere (`slipway-crd-compat`); here is
//! what follows from the verdicts.

pub mod chain;
pub mod change;
pub mod content;

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::id::CrdId;
use crate::name::Name;
use crate::version::Version;

pub use change::{ChangeType, CrdChange};
pub use content::ContentHash;

/// The most bytes that one definition may have: the API server takes no more than half of it.
pub const LARGEST_DEFINITION: usize = 3 << 20;

/// The most CRDs that one version of an operator may bring.
pub const MOST_PER_VERSION: usize = 1_000;

/// Whether a CRD is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CrdStatus {
    /// In use.
    Active,
    /// In use, and to be left.
    Deprecated,
    /// The operator no longer brings it.
    Removed,
}

/// Whether somebody has to agree to a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CrdApproval {
    /// It breaks nothing.
    NotRequired,
    /// It breaks something, or stands on a schema that does, and nobody has agreed.
    Pending,
    /// Somebody agreed.
    Approved {
        /// Who.
        by: String,
        /// When.
        at: Timestamp,
    },
}

impl CrdApproval {
    /// The word for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotRequired => "NotRequired",
            Self::Pending => "Pending",
            Self::Approved { .. } => "Approved",
        }
    }
}

/// That a CRD is to be left, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deprecation {
    /// Since when.
    pub at: Timestamp,
    /// Why.
    pub reason: String,
    /// What its users do instead.
    pub migration_guide: Option<String>,
}

/// What a schema is to the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Step {
    /// There is none before it.
    First,
    /// No difference.
    Same,
    /// Differences that break nothing.
    Compatible,
    /// Differences that break something.
    Breaking,
}

/// The number of a schema: the first grows with each breaking step, the second with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaVersion {
    /// Breaking steps, from 1.
    pub major: u32,
    /// Steps since.
    pub minor: u32,
}

impl SchemaVersion {
    /// Of the first schema.
    pub const FIRST: Self = Self { major: 1, minor: 0 };

    /// The number after a step.
    #[must_use]
    pub fn after(self, step: Step) -> Self {
        match step {
            Step::First => Self::FIRST,
            Step::Same => self,
            Step::Compatible => Self { major: self.major, minor: self.minor + 1 },
            Step::Breaking => Self { major: self.major + 1, minor: 0 },
        }
    }
}

/// A schema as it is stored; its text is kept apart, since it is long.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCrd {
    /// Its id.
    pub id: CrdId,
    /// Plural and group, such as `certificates.cert-manager.io`.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The versions it has, in the order written.
    pub versions: Vec<String>,
    /// `Namespaced` or `Cluster`.
    pub scope: String,
    /// The operator that brings it.
    pub operator: Name,
    /// The version of the operator that brings it.
    pub operator_version: Version,
    /// What the definition says, as a hash.
    pub content: ContentHash,
    /// Its number.
    pub schema_version: SchemaVersion,
    /// What it is to the one before it.
    pub step: Step,
    /// Whether somebody has to agree.
    pub approval: CrdApproval,
    /// Whether it is to be left.
    pub deprecation: Option<Deprecation>,
    /// The version of the operator from which on it is no longer there.
    pub removed_in: Option<Version>,
    /// Whether it is the one that is meant when nobody says which: of the newest release.
    pub current: bool,
    /// Since when it is stored.
    pub recorded_at: Timestamp,
}

impl StoredCrd {
    /// Whether it is in use.
    pub fn status(&self) -> CrdStatus {
        if self.removed_in.is_some() {
            CrdStatus::Removed
        } else if self.deprecation.is_some() {
            CrdStatus::Deprecated
        } else {
            CrdStatus::Active
        }
    }
}

impl fmt::Display for SchemaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for SchemaVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text
            .split_once('.')
            .and_then(|(major, minor)| Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? }));
        parsed.ok_or_else(|| format!("{text:?} is not the number of a schema"))
    }
}

macro_rules! words {
    ($type:ident: $($variant:ident),+) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => stringify!($variant)),+ })
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                $(if text.eq_ignore_ascii_case(stringify!($variant)) { return Ok(Self::$variant); })+
                Err(format!("{text:?} is none of {}", [$(stringify!($variant)),+].join(", ")))
            }
        }
    };
}

words!(CrdStatus: Active, Deprecated, Removed);
words!(Step: First, Same, Compatible, Breaking);
