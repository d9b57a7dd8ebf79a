//! An operator, its chart and its versions.
//!
//! What is registered, what its chart's repository offers, and where it was found to be installed. Nothing
//! here reads a repository or a cluster.

mod change;
mod chart;
mod drift;
mod installation;
mod registration;
mod secrets;
mod values;
mod versions;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::id::OperatorId;
use crate::name::Name;
use crate::profile::Profile;
use crate::version::Version;

pub use change::OperatorChange;
pub use chart::{BadChartName, BadRepository, ChartName, ChartSource, Repository, RepositoryKind};
pub use drift::{Drift, Drifted};
pub use installation::{Installation, InstallationState, Manager, Seen, match_operator};
pub use registration::{Asked, Registration};
pub use secrets::{SECRET_REFERENCE, check_secrets, is_reference, is_secret_name, place};
pub use values::{BadValues, check_crd_name, check_description, check_labels, check_values, lay};
pub use versions::{ChartVersion, Standing, newest_stable, sort_newest_first};

/// An operator that is registered.
#[derive(Debug, Clone, PartialEq)]
pub struct Operator {
    /// Which.
    pub id: OperatorId,
    /// What people call it; unique.
    pub name: Name,
    /// What it is for.
    pub description: Option<String>,
    /// Where it is installed on clusters.
    pub namespace: Name,
    /// Where its chart comes from.
    pub chart: ChartSource,
    /// The version the fleet is meant to be on.
    pub current_version: Option<Version>,
    /// The newest stable version that its repository offers.
    pub latest_version: Option<Version>,
    /// The custom resource definitions that belong to it.
    pub crd_names: Vec<String>,
    /// For selecting it.
    pub labels: BTreeMap<String, String>,
    /// The values that every installation starts from.
    pub default_values: Map<String, Value>,
    /// Its own profile, where somebody wrote one.
    pub profile: Option<Profile>,
    /// Whether its repository asks for credentials, which are kept sealed.
    pub has_credentials: bool,
    /// The authority that vouches for its repository, as PEM.
    pub authority: Option<String>,
    /// On how many clusters it was found.
    pub deployed_clusters: u32,
    /// When its repository was last read.
    pub checked_at: Option<Timestamp>,
    /// Why its repository could not be read the last time.
    pub check_error: Option<String>,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When it was last changed by somebody.
    pub updated_at: Timestamp,
    /// Grows with each change by somebody; the `ETag`.
    pub revision: i64,
}

impl Operator {
    /// Whether its repository offers something newer than the fleet is on, in semantic order.
    pub fn has_update(&self) -> bool {
        match (&self.current_version, &self.latest_version) {
            (Some(current), Some(latest)) => latest > current,
            _ => false,
        }
    }

    /// What has to be known to roll it out: its own profile, else the built-in one of its chart, else the
    /// careful default.
    pub fn effective_profile(&self) -> Profile {
        self.profile.clone().or_else(|| Profile::built_in(self.chart.chart.as_str())).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
