//! What is done to a cluster, one step at a time, and what came of it.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::name::Name;
use crate::version::Version;

/// Something that is done to one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StepKind {
    /// Everything is looked at that could stand in the way. Changes nothing.
    Preflight,
    /// Revision, manifest, values, CRDs, stored versions, replicas and health are kept. Changes nothing.
    Snapshot,
    /// CRDs are applied.
    Crds,
    /// helm brings the version, in place of the old one or, for blue-green, beside it.
    Release,
    /// The profile's sample object is brought to its condition.
    Smoke,
    /// Admission and reconciliation are handed from blue to green.
    Switch,
    /// A new revision is made of the last known good manifest; a first install is scaled to nothing. Where blue
    /// was removed already, it is installed again and takes over from green.
    Restore,
    /// The switch reversed, without helm.
    SwitchBack,
    /// Green is removed.
    RemoveGreen,
    /// CRDs go back where that is judged reversible now, or after a down-migration where the rollback allows
    /// one; custom resources are compared with the snapshot.
    ReturnCrds,
    /// Stored objects are rewritten to the new storage version, once nothing is taken back by itself any more.
    Migrate,
    /// Blue is removed after its retention.
    RetireBlue,
}

impl StepKind {
    /// All.
    pub const ALL: [Self; 12] = [
        Self::Preflight,
        Self::Snapshot,
        Self::Crds,
        Self::Release,
        Self::Smoke,
        Self::Switch,
        Self::Restore,
        Self::SwitchBack,
        Self::RemoveGreen,
        Self::ReturnCrds,
        Self::Migrate,
        Self::RetireBlue,
    ];

    /// Whether it writes to the cluster.
    pub fn changes(self) -> bool {
        !matches!(self, Self::Preflight | Self::Snapshot)
    }

    /// Whether it takes something back.
    pub fn is_back(self) -> bool {
        matches!(self, Self::Restore | Self::SwitchBack | Self::RemoveGreen | Self::ReturnCrds)
    }

    /// What is going on while it is done.
    pub fn words(self) -> &'static str {
        match self {
            Self::Preflight => "preflight",
            Self::Snapshot => "taking a snapshot",
            Self::Crds => "applying CRDs",
            Self::Release => "running helm",
            Self::Smoke => "the smoke test",
            Self::Switch => "switching to green",
            Self::Restore => "restoring the last known good version",
            Self::SwitchBack => "switching back to blue",
            Self::RemoveGreen => "removing green",
            Self::ReturnCrds => "returning CRDs and comparing custom resources",
            Self::Migrate => "migrating stored objects",
            Self::RetireBlue => "removing blue",
        }
    }
}

/// What tells one act from every other of a rollout: its idempotency key. The same act twice equals once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActKey {
    /// On which cluster.
    pub cluster: Name,
    /// What.
    pub kind: StepKind,
    /// Counted from 1, by cluster and kind.
    pub attempt: u32,
}

impl fmt::Display for ActKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{:?}/{}", self.cluster, self.kind, self.attempt)
    }
}

/// A step under way: its intent is written with it, before anything is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// What.
    pub kind: StepKind,
    /// Which attempt.
    pub attempt: u32,
    /// Since when.
    pub since: Timestamp,
    /// When the attempt is over whatever happens; helm is ended then.
    pub deadline: Timestamp,
}

/// A release's revision, as opaque text such as `cert-manager.v7`: what observations belong to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(pub String);

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a cluster ran before it was touched: its own last known good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Before {
    /// The version; nothing where the operator was not installed.
    pub version: Option<Version>,
    /// The revision of its release.
    pub revision: Option<Revision>,
}

/// What a step found or made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    /// Nothing to be told.
    Nothing,
    /// Preflight: nothing stands in the way. The digest is of what would change there; another digest is a
    /// materially different plan.
    Fits {
        /// Of the change on this cluster.
        digest: String,
        /// The version that makes return impossible, where there is one.
        one_way: Option<Version>,
    },
    /// Preflight: this must not be done.
    Refused {
        /// Every reason, with the objects by name.
        reasons: Vec<String>,
    },
    /// A snapshot was kept.
    Kept(Before),
    /// A release was made.
    Released(Revision),
    /// Something that people should read.
    Noted(String),
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It was done.
    Done(Found),
    /// The cluster could not be reached.
    Unreachable {
        /// Why.
        reason: String,
    },
    /// It failed in a way that may pass: a timeout of one call, a conflict.
    Hiccup {
        /// Why.
        reason: String,
    },
    /// Whoever was at it was lost, and the attempt is over without a result. That says nothing about the cluster.
    Lost {
        /// What is known of it.
        reason: String,
    },
    /// It failed, and trying again is of no use: helm says no, or its deadline passed.
    Failed {
        /// Why.
        reason: String,
    },
}

/// An outcome as it is recorded after the act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Of which act.
    pub key: ActKey,
    /// What came of it.
    pub outcome: Outcome,
}
