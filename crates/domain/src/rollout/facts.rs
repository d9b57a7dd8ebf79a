//! What a decision is made on, beside the state: everything was recorded by somebody, with its time.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::command::Numbered;
use super::step::{Report, Revision};
use crate::health::Check;
use crate::name::Name;
use crate::settings::Window;

/// What is known beside the state. The same fact may come again: it counts once. Times are those of the
/// database, so that they compare whichever server saw something.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Outcomes of steps, in any order.
    pub reports: Vec<Report>,
    /// The latest look at each cluster.
    pub observations: BTreeMap<Name, Observation>,
    /// The latest answer of each gate.
    pub measurements: BTreeMap<String, Measurement>,
    /// The number of the last question to people, and what they say.
    pub consent: Option<(u32, Consent)>,
    /// All time windows there are, each with its name.
    pub windows: Vec<(String, Window)>,
    /// What people want, oldest first.
    pub commands: Vec<Numbered>,
}

/// What was seen of a cluster's operator; a consistent read, never one from a cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// When.
    pub at: Timestamp,
    /// The revision that everything seen belongs to: release, pods and observed generation.
    pub revision: Option<Revision>,
    /// What it says beyond the baseline.
    pub health: Seen,
    /// In a sentence.
    pub text: String,
}

/// What one look says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Seen {
    /// It is well.
    Passed,
    /// It is not.
    Failed,
    /// It cannot be said yet.
    Undecided,
    /// The cluster does not answer.
    Unreachable,
}

impl From<Check> for Seen {
    fn from(check: Check) -> Self {
        match check {
            Check::Passed => Self::Passed,
            Check::Failed => Self::Failed,
            Check::Undecided => Self::Undecided,
        }
    }
}

/// What a gate answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Measurement {
    /// When.
    pub at: Timestamp,
    /// What it says.
    pub health: Seen,
    /// In a sentence.
    pub text: String,
}

/// What people say about a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent {
    /// All that is required was granted, or nothing is.
    Granted,
    /// Somebody has still to decide.
    Pending {
        /// Who, in words.
        waits_for: String,
        /// Until when.
        expires_at: Timestamp,
    },
    /// Somebody said no.
    Rejected {
        /// Who and why, in words.
        reason: String,
    },
    /// Nobody decided in time.
    Expired,
}
