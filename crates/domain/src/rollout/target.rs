//! The clusters that a rollout goes to.

use serde::{Deserialize, Serialize};

use crate::access::Environment;
use crate::cluster::{Cluster, Labels, State};
use crate::name::Name;
use crate::problem::Problems;

/// A cluster that a rollout goes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// Which.
    pub cluster: Name,
    /// Where it stands.
    pub environment: Environment,
    /// What waves choose by.
    #[serde(default)]
    pub labels: Labels,
}

impl Target {
    /// The clusters that were named, in the order of the fleet's rules; every one that is unknown, disabled
    /// or named twice is a problem of its place.
    pub fn choose(named: &[String], path: &str, fleet: &[Cluster]) -> Result<Vec<Self>, Problems> {
        let mut problems = Problems::new();
        let mut chosen: Vec<Self> = Vec::new();
        if named.is_empty() {
            problems.add(path, "is empty; name at least one cluster");
        }
        for (index, name) in named.iter().enumerate() {
            let place = format!("{path}[{index}]");
            match fleet.iter().find(|cluster| cluster.name.as_str() == name) {
                None => problems.add(place, format!("is {name:?}, which is no cluster here")),
                Some(cluster) if cluster.state == State::Disabled => {
                    problems.add(place, format!("is {name:?}, which is disabled; enable it or leave it out"));
                }
                Some(cluster) if chosen.iter().any(|target| target.cluster == cluster.name) => {
                    problems.add(place, format!("is {name:?}, which is there already"));
                }
                Some(cluster) => chosen.push(Self {
                    cluster: cluster.name.clone(),
                    environment: cluster.environment,
                    labels: cluster.labels.clone(),
                }),
            }
        }
        chosen.sort_by(|a, b| (a.environment, &a.cluster).cmp(&(b.environment, &b.cluster)));
        problems.or(chosen)
    }
}
