//! Looking at an operator on a cluster.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slipway_domain::health::{HealthRules, Observation};
use slipway_domain::id::ClusterId;

/// An operator on a cluster, as far as one has to know it to look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The cluster.
    pub cluster: ClusterId,
    /// How people call it.
    pub cluster_name: String,
    /// How people call the operator.
    pub operator_name: String,
    /// Its releases there: one, or two while one hands over to the other.
    pub releases: Vec<ReleaseAt>,
    /// The names of its CRDs.
    pub crds: Vec<String>,
    /// What its profile says.
    pub rules: HealthRules,
}

/// A helm release.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseAt {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// How a cluster is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// As it is now. Gates and alerts stand on this. Objects come in pages, so the room it takes is bounded.
    Now,
    /// As the API server remembers it: cheap for the cluster, and perhaps a little old. For pictures only.
    Remembered,
}

/// How to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// When the look begins; ages are counted from here.
    pub at: Timestamp,
    /// How the cluster is read.
    pub freshness: Freshness,
    /// How long all of it may take, the smoke test aside, which has a time of its own.
    pub within: Duration,
    /// Whether the smoke test runs, if the profile has one.
    pub smoke: bool,
}

/// Looks at operators. It never fails as a whole: what cannot be seen is said in what was seen.
#[async_trait]
pub trait Probes: Send + Sync {
    /// Looks once.
    async fn look(&self, target: &Target, manner: Manner) -> Observation;
}

/// Sees nothing and says so: for whoever has no clusters to look at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Blind;

#[async_trait]
impl Probes for Blind {
    async fn look(&self, _: &Target, manner: Manner) -> Observation {
        Observation::unseen(manner.at, "this server does not look at clusters")
    }
}
