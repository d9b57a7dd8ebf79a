//! Where an operator was found to be installed, and whose it is there.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use super::Operator;
use super::drift::Drift;
use crate::id::{ClusterId, OperatorId};

/// Who manages an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Manager {
    /// Somebody with helm, by hand or from a pipeline.
    Helm,
    /// Slipway.
    Slipway,
    /// Argo CD.
    ArgoCd,
    /// Flux.
    Flux,
    /// The Operator Lifecycle Manager.
    Olm,
}

impl Manager {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Helm, Self::Slipway, Self::ArgoCd, Self::Flux, Self::Olm];

    /// The word that is stored and sent.
    pub fn word(self) -> &'static str {
        match self {
            Self::Helm => "helm",
            Self::Slipway => "slipway",
            Self::ArgoCd => "argocd",
            Self::Flux => "flux",
            Self::Olm => "olm",
        }
    }

    /// Whether it is another tool that puts its own state back, so that Slipway must keep away.
    pub fn is_foreign(self) -> bool {
        matches!(self, Self::ArgoCd | Self::Flux | Self::Olm)
    }

    /// Who manages it now, given who did before and who was seen: adopted stays adopted, until another
    /// tool takes over.
    pub fn after(before: Option<Self>, seen: Self) -> Self {
        match (before, seen) {
            (Some(Self::Slipway), Self::Helm) => Self::Slipway,
            (_, seen) => seen,
        }
    }
}

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Helm => "helm",
            Self::Slipway => "Slipway",
            Self::ArgoCd => "Argo CD",
            Self::Flux => "Flux",
            Self::Olm => "OLM",
        })
    }
}

impl FromStr for Manager {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|manager| manager.word() == text)
            .ok_or_else(|| format!("{text:?} is nobody who manages installations"))
    }
}

/// How far helm came with a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstallationState {
    /// It is there.
    Deployed,
    /// The last change failed.
    Failed,
    /// A change is under way, or was killed.
    Pending,
    /// It is being removed, or was and left its record.
    Uninstalled,
    /// Nothing that helm documents.
    Unknown,
}

impl InstallationState {
    /// From helm's word.
    pub fn of_helm(word: &str) -> Self {
        match word {
            "deployed" => Self::Deployed,
            "failed" => Self::Failed,
            "pending-install" | "pending-upgrade" | "pending-rollback" => Self::Pending,
            "uninstalled" | "uninstalling" => Self::Uninstalled,
            _ => Self::Unknown,
        }
    }

    /// The word that is stored and sent.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deployed => "deployed",
            Self::Failed => "failed",
            Self::Pending => "pending",
            Self::Uninstalled => "uninstalled",
            Self::Unknown => "unknown",
        }
    }

    /// From the word that was stored.
    pub fn of_word(word: &str) -> Self {
        [Self::Deployed, Self::Failed, Self::Pending, Self::Uninstalled]
            .into_iter()
            .find(|state| state.word() == word)
            .unwrap_or(Self::Unknown)
    }
}

/// What was seen on a cluster. The values are not here: they may hold secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Where on the cluster.
    pub namespace: String,
    /// The name of the release.
    pub release: String,
    /// The name of the chart.
    pub chart: String,
    /// The chart's version, as it was written.
    pub version: String,
    /// The version of what it installs.
    pub app_version: Option<String>,
    /// helm's number; 0 where there is no release of helm.
    pub revision: u32,
    /// How far it came.
    pub state: InstallationState,
    /// Who manages it.
    pub managed_by: Manager,
    /// What that tool calls it, such as the name of the Argo CD application.
    pub manager_reference: Option<String>,
    /// When it was last changed.
    pub deployed_at: Option<Timestamp>,
}

/// An operator, or another release, that was found on a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Installation {
    /// On which cluster.
    pub cluster_id: ClusterId,
    /// Of which registered operator, if it is one's.
    pub operator_id: Option<OperatorId>,
    /// What was seen.
    pub seen: Seen,
    /// Since when it is known.
    pub first_seen_at: Timestamp,
    /// When it was last seen.
    pub seen_at: Timestamp,
    /// When it was handed to Slipway.
    pub adopted_at: Option<Timestamp>,
    /// By whom.
    pub adopted_by: Option<String>,
    /// What is not as it was released any more, as far as that was seen.
    pub drift: Option<Drift>,
    /// When that was looked at.
    pub drift_checked_at: Option<Timestamp>,
}

/// Which registered operator a release belongs to: the chart has to be the same; where several operators
/// have that chart, the namespace decides.
pub fn match_operator(operators: &[Operator], chart: &str, namespace: &str) -> Option<OperatorId> {
    let mut same_chart = operators.iter().filter(|operator| operator.chart.chart.as_str() == chart);
    let in_place = same_chart.clone().find(|operator| operator.namespace.as_str() == namespace);
    match (in_place, same_chart.next(), same_chart.next()) {
        (Some(operator), _, _) | (None, Some(operator), None) => Some(operator.id),
        _ => None,
    }
}
