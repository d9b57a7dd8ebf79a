//! How an operator is on a cluster: what was seen, and what it means.
//!
//! Whoever looks at a cluster fills an [`Observation`]; [`judge`] makes an [`OperatorHealth`] of it, with
//! reasons that people can read; [`Episode`] decides when somebody is told. Where nothing was seen, nothing
//! is claimed: the verdict is [`Verdict::Unknown`] then, and never a healthy one by default.

mod baseline;
mod certificate;
mod episode;
mod fleet;
mod judgement;
mod limits;
mod memory;
mod observation;
mod pods;
mod reconciliation;
mod redaction;
mod rules;
mod sentence;
mod tally;
mod webhooks;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use baseline::Baseline;
pub use certificate::{CertificateSeen, CertificateState};
pub use episode::{Alert, Check, Episode};
pub use fleet::{FleetHealth, fleet};
pub use judgement::{OperatorHealth, Part, Reason, Weight, judge};
pub use limits::Limits;
pub use memory::Memory;
pub use observation::{
    ContainerSeen, ConversionSeen, Exit, LogLine, Look, Observation, PodSeen, RuleSeen, SmokeSeen, Usage,
    Waiting, WebhookAnswer, WebhookKind, WebhookSeen, WorkloadSeen,
};
pub use pods::PodHealth;
pub use reconciliation::{KindHealth, ReconciliationHealth};
pub use redaction::{is_error_line, redact};
pub use rules::{FurtherRule, HealthRules, SmokeTest};
pub use tally::{Ailment, ConditionSeen, ObjectSeen, Sick, Tally};
pub use webhooks::WebhookHealth;

/// What is said of an operator's health.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// There is nothing to say, or nothing could be seen.
    #[default]
    Unknown,
    /// All that was seen is as it has to be.
    Healthy,
    /// It runs, and does not do all of its work.
    Degraded,
    /// It does not run, or refuses those who need it.
    Unhealthy,
}

impl Verdict {
    /// All.
    pub const ALL: [Self; 4] = [Self::Unknown, Self::Healthy, Self::Degraded, Self::Unhealthy];

    /// As it is written everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "Unknown",
            Self::Healthy => "Healthy",
            Self::Degraded => "Degraded",
            Self::Unhealthy => "Unhealthy",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Verdict {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|verdict| verdict.as_str().eq_ignore_ascii_case(text))
            .ok_or_else(|| format!("{text:?} is none of Unknown, Healthy, Degraded, Unhealthy"))
    }
}

#[cfg(test)]
mod tests;
