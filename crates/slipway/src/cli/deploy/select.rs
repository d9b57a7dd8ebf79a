//! Which clusters are meant.

use anyhow::bail;
use slipway_client::Client;
use slipway_contract::clusters::{Cluster, ClusterEnvironment, ClustersQuery};
use slipway_contract::deployments::{DeploymentEnvironment, DeploymentStrategy};

/// The clusters that were chosen, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) names: Vec<String>,
    environments: Vec<DeploymentEnvironment>,
}

impl Chosen {
    fn of<'a>(clusters: impl IntoIterator<Item = &'a Cluster>) -> Self {
        let mut chosen = Self::default();
        for cluster in clusters {
            chosen.names.push(cluster.name.clone());
            chosen.environments.push(environment(cluster));
        }
        chosen
    }

    #[cfg(test)]
    pub(super) fn named(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Self { environments: vec![DeploymentEnvironment::Production; names.len()], names }
    }

    /// How many stand in an environment.
    pub(super) fn count(&self, wanted: DeploymentEnvironment) -> usize {
        self.environments.iter().filter(|environment| **environment == wanted).count()
    }

    /// The strategy that the server takes where nobody names one.
    pub(super) fn usual(&self) -> DeploymentStrategy {
        match self.environments.iter().max() {
            None | Some(DeploymentEnvironment::Development) => DeploymentStrategy::Direct,
            Some(DeploymentEnvironment::Staging) => DeploymentStrategy::Rolling,
            Some(DeploymentEnvironment::Production) => DeploymentStrategy::Canary,
        }
    }
}

fn environment(cluster: &Cluster) -> DeploymentEnvironment {
    match cluster.environment {
        ClusterEnvironment::Development => DeploymentEnvironment::Development,
        ClusterEnvironment::Staging => DeploymentEnvironment::Staging,
        ClusterEnvironment::Production => DeploymentEnvironment::Production,
    }
}

/// The clusters that are meant; where the operator is, if nothing is said.
pub(super) async fn select(client: &Client, operator: &str, wanted: &[String]) -> anyhow::Result<Chosen> {
    let fleet = fleet(client).await?;
    if wanted.is_empty() {
        let known = client.operator(operator).await?.value;
        let ours: Vec<&str> = known
            .deployed_clusters
            .iter()
            .filter(|one| one.managed_by == "slipway")
            .map(|one| one.cluster_name.as_str())
            .collect();
        if ours.is_empty() {
            bail!(
                "{operator} is on no cluster yet; say where it goes\n  \
                 such as --clusters dev-1,dev-2, --clusters env=staging or --clusters all"
            );
        }
        return Ok(Chosen::of(fleet.iter().filter(|cluster| ours.contains(&cluster.name.as_str()))));
    }
    choose(&fleet, wanted)
}

async fn fleet(client: &Client) -> anyhow::Result<Vec<Cluster>> {
    let mut fleet = Vec::new();
    let mut offset = Some(0_u64);
    while let Some(after) = offset {
        let query = ClustersQuery {
            limit: Some(100),
            offset: Some(i64::try_from(after)?),
            ..ClustersQuery::default()
        };
        let part = client.clusters(&query).await?;
        fleet.extend(part.clusters);
        offset = part.page.next_offset;
    }
    Ok(fleet)
}

/// What fits any of the words. Words that choose leave disabled clusters out; a name does not, so that the
/// server says what is wrong with it.
fn choose(fleet: &[Cluster], wanted: &[String]) -> anyhow::Result<Chosen> {
    let mut terms = Vec::new();
    for word in wanted.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
        let term = Term::read(word)?;
        let fits = fleet.iter().any(|cluster| term.takes(cluster));
        match &term {
            Term::Name(name) if !fits => {
                let known: Vec<&str> = fleet.iter().take(10).map(|cluster| cluster.name.as_str()).collect();
                let more = if fleet.len() > 10 { ", …" } else { "" };
                bail!("there is no cluster {name}; there are {}{more}", known.join(", "));
            }
            _ if !fits => bail!("no cluster fits {word}; see: slipway cluster list"),
            _ => terms.push(term),
        }
    }
    let chosen = fleet.iter().filter(|cluster| terms.iter().any(|term| term.takes(cluster)));
    Ok(Chosen::of(chosen))
}

/// A word that chooses clusters.
#[derive(Debug, PartialEq, Eq)]
enum Term {
    All,
    Environment(ClusterEnvironment),
    Label(String, String),
    Name(String),
}

impl Term {
    fn read(word: &str) -> anyhow::Result<Self> {
        Ok(match word.split_once('=') {
            None if word == "all" => Self::All,
            None => Self::Name(word.to_owned()),
            Some(("env" | "environment", name)) => match name.to_lowercase().as_str() {
                "all" => Self::All,
                "development" | "dev" => Self::Environment(ClusterEnvironment::Development),
                "staging" | "stage" => Self::Environment(ClusterEnvironment::Staging),
                "production" | "prod" => Self::Environment(ClusterEnvironment::Production),
                _ => bail!("{name:?} is no environment; there are development, staging and production"),
            },
            Some(("label", label)) => match label.split_once('=') {
                Some((key, value)) => Self::Label(key.to_owned(), value.to_owned()),
                None => bail!("{word:?} names no label; write label=KEY=VALUE"),
            },
            Some(_) => {
                bail!("{word:?} chooses nothing; write names, all, env=ENVIRONMENT or label=KEY=VALUE")
            }
        })
    }

    fn takes(&self, cluster: &Cluster) -> bool {
        match self {
            Self::All => cluster.is_enabled,
            Self::Environment(environment) => cluster.is_enabled && cluster.environment == *environment,
            Self::Label(key, value) => cluster.is_enabled && cluster.labels.get(key) == Some(value),
            Self::Name(name) => cluster.name == *name,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fleet() -> Vec<Cluster> {
        let cluster = |name: &str, environment: &str, region: &str, enabled: bool| {
            serde_json::from_value(json!({
                "clusterId": "00000000-0000-4000-8000-000000000001", "name": name, "environment": environment,
                "labels": {"region": region}, "apiServerUrl": "https://x", "nodeCount": 1,
                "healthStatus": "Healthy", "isEnabled": enabled, "credentialKind": "token",
                "registeredAt": "2026-11-15T12:00:00Z", "updatedAt": "2026-11-15T12:00:00Z",
            }))
            .unwrap()
        };
        vec![
            cluster("dev-1", "Development", "eu", true),
            cluster("eu-1", "Production", "eu", true),
            cluster("old", "Production", "us", false),
            cluster("us-1", "Production", "us", true),
        ]
    }

    fn chosen(words: &[&str]) -> Result<Vec<String>, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        choose(&fleet(), &words).map(|chosen| chosen.names).map_err(|error| error.to_string())
    }

    #[test]
    fn clusters_are_chosen_by_name_environment_and_label() {
        assert_eq!(chosen(&["all"]).unwrap(), ["dev-1", "eu-1", "us-1"]);
        assert_eq!(chosen(&["env=all"]).unwrap(), ["dev-1", "eu-1", "us-1"]);
        assert_eq!(chosen(&["env=prod"]).unwrap(), ["eu-1", "us-1"]);
        assert_eq!(chosen(&["label=region=eu", "us-1", "us-1"]).unwrap(), ["dev-1", "eu-1", "us-1"]);
        assert_eq!(chosen(&["old"]).unwrap(), ["old"], "the server says that it is disabled");
    }

    #[test]
    fn what_chooses_nothing_is_said() {
        let error = chosen(&["dev-2"]).unwrap_err();
        assert_eq!(error, "there is no cluster dev-2; there are dev-1, eu-1, old, us-1");
        assert!(chosen(&["env=moon"]).unwrap_err().contains("no environment"));
        assert!(chosen(&["label=region=moon"]).unwrap_err().contains("no cluster fits"));
        assert!(chosen(&["region=eu"]).unwrap_err().contains("label=KEY=VALUE"));
    }

    #[test]
    fn the_most_precious_environment_decides_what_is_usual() {
        let fleet = fleet();
        assert_eq!(Chosen::of(&fleet).usual(), DeploymentStrategy::Canary);
        assert_eq!(Chosen::of(&fleet[..1]).usual(), DeploymentStrategy::Direct);
    }
}
