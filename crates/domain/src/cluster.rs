//! A Kubernetes cluster, and how it is.
//!
//! Credentials are not here: this is what everybody may see of a cluster who may read.

pub mod health;
pub mod label;
pub mod token;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::access::Environment;
use crate::id::ClusterId;
use crate::name::Name;
use crate::problem::Problems;

pub use health::{ClusterHealth, HealthStatus, NodeCount, Observation, Unreachable};
pub use label::Labels;

/// The longest description.
pub const DESCRIPTION: usize = 1024;

/// A cluster that is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Which.
    pub id: ClusterId,
    /// How people call it; it never changes.
    pub name: Name,
    /// What it is for.
    pub description: Option<String>,
    /// Where it stands.
    pub environment: Environment,
    /// What rollouts choose by.
    pub labels: Labels,
    /// The address of its API server.
    pub server: String,
    /// What tells it from every other cluster: the uid of its namespace `kube-system`.
    pub uid: Option<String>,
    /// Whether it takes part.
    pub state: State,
    /// How it is.
    pub health: ClusterHealth,
    /// With what it is reached.
    pub credentials: CredentialFacts,
    /// Counts the changes by people; the `ETag`.
    pub revision: i64,
    /// Since when it is known.
    pub registered_at: Timestamp,
    /// When somebody last changed it.
    pub updated_at: Timestamp,
}

/// Whether a cluster takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// It is watched, and rollouts may choose it.
    Enabled,
    /// It is left alone.
    Disabled,
}

/// What may be known of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CredentialFacts {
    /// Which kind.
    pub kind: CredentialKind,
    /// When it ends; nothing if it does not, or does not say.
    pub expires_at: Option<Timestamp>,
    /// When it was last changed.
    pub changed_at: Timestamp,
}

/// Which kind of credential a cluster is reached with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CredentialKind {
    /// The token of a ServiceAccount, which the manager renews.
    ServiceAccountToken,
    /// A token of another kind, which stays as it is.
    Token,
    /// A client's certificate, which stays as it is.
    ClientCertificate,
}

impl Cluster {
    /// Whether rollouts may rely on it: it takes part, it is healthy, and that was seen lately.
    pub fn is_healthy(&self, now: Timestamp) -> bool {
        let lately = jiff::SignedDuration::from_mins(5);
        self.state == State::Enabled
            && self.health.status == HealthStatus::Healthy
            && self.health.checked_at.is_some_and(|at| now.duration_since(at) < lately)
    }

    /// What the audit keeps of it.
    pub fn facts(&self) -> serde_json::Value {
        serde_json::json!({
            "name": self.name,
            "description": self.description,
            "environment": self.environment,
            "labels": self.labels,
            "apiServerUrl": self.server,
            "state": self.state,
            "credential": self.credentials.kind,
        })
    }
}

/// What somebody wants a cluster to be called and described as, with all problems at once.
pub fn described(
    name: &str,
    description: Option<&str>,
    labels: &std::collections::BTreeMap<String, String>,
    problems: &mut Problems,
) -> Option<(Name, Option<String>, Labels)> {
    let name = problems.take("name", name.parse::<Name>());
    let description = description_of(description, problems);
    let labels = match Labels::new(labels) {
        Ok(labels) => Some(labels),
        Err(wrong) => {
            problems.nest("labels", wrong);
            None
        }
    };
    Some((name?, description, labels?))
}

/// A description, trimmed; nothing where it is empty.
pub fn description_of(description: Option<&str>, problems: &mut Problems) -> Option<String> {
    let text = description.map(str::trim).filter(|text| !text.is_empty())?;
    if text.chars().count() > DESCRIPTION {
        problems.add("description", format!("is longer than {DESCRIPTION} characters"));
    }
    if text.chars().any(|character| character.is_control() && character != '\n') {
        problems.add("description", "holds control characters");
    }
    Some(text.to_owned())
}

macro_rules! words {
    ($type:ident: $($variant:ident),+) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $(Self::$variant => stringify!($variant)),+ })
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                $(if text.eq_ignore_ascii_case(stringify!($variant)) { return Ok(Self::$variant); })+
                Err(format!("{text:?} is none of {}", [$(stringify!($variant)),+].join(", ")))
            }
        }
    };
}

words!(State: Enabled, Disabled);
words!(CredentialKind: ServiceAccountToken, Token, ClientCertificate);
words!(HealthStatus: Unknown, Healthy, Degraded, Unhealthy);
