//! `slipway cluster`.

mod add;
mod import;
mod kubernetes;
mod words;

use std::collections::BTreeMap;

use clap::{Args, Subcommand, ValueEnum};
use slipway_contract::clusters::{
    ClusterEnvironment, ClusterHealthStatus, ClusterList, ClustersQuery, UpdateCluster,
};
use slipway_domain::cluster::label;

use super::session::Session;

/// See and change the clusters that operators are rolled out to.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Add a cluster, using your own kubeconfig here.
    ///
    /// With your rights a ServiceAccount is made in the cluster, with a role that
    /// docs/reference/cluster-access.md explains. The server gets the cluster's address, its
    /// certificate authority and a token for that account, and nothing else of your kubeconfig.
    /// If anything fails, what was made is removed again.
    Add(add::Add),
    /// Add several contexts of your kubeconfig, each as a cluster of that name.
    ///
    /// What cannot be added is named at the end and does not stop the others.
    Import(import::Import),
    /// List clusters.
    List(List),
    /// Show a cluster.
    Show(Which),
    /// Show how a cluster is, and how it was.
    Health(Which),
    /// Change what is said about a cluster.
    Update(Update),
    /// Leave a cluster alone: it is not looked at, and no rollout chooses it.
    Disable(Which),
    /// Let a cluster take part again.
    Enable(Which),
    /// Give a cluster another credential; the present one is revoked.
    Rotate(add::Rotate),
    /// Forget a cluster, and remove from it what Slipway made there for itself.
    Remove(Remove),
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The cluster's name.
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only of this environment.
    #[arg(long, value_enum)]
    environment: Option<Environment>,
    /// Only with this health.
    #[arg(long, value_enum)]
    health: Option<Health>,
    /// Only with this label; all of them where several are named.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label::pair)]
    labels: Vec<(String, String)>,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    which: Which,
    /// What it is for; an empty text takes it away.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Where it stands.
    #[arg(long, value_enum)]
    environment: Option<Environment>,
    /// Set a label; KEY- takes it away. The others stay.
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Remove {
    #[command(flatten)]
    which: Which,
    /// Even if operators are installed there, or if it does not answer any more; what is in it is left.
    #[arg(long)]
    force: bool,
}

/// Where a cluster stands.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum Environment {
    #[default]
    Development,
    Staging,
    Production,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Health {
    Unknown,
    Healthy,
    Degraded,
    Unhealthy,
}

impl From<Environment> for ClusterEnvironment {
    fn from(environment: Environment) -> Self {
        match environment {
            Environment::Development => Self::Development,
            Environment::Staging => Self::Staging,
            Environment::Production => Self::Production,
        }
    }
}

impl From<Health> for ClusterHealthStatus {
    fn from(health: Health) -> Self {
        match health {
            Health::Unknown => Self::Unknown,
            Health::Healthy => Self::Healthy,
            Health::Degraded => Self::Degraded,
            Health::Unhealthy => Self::Unhealthy,
        }
    }
}

impl ClusterCommand {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        match self {
            Self::Add(add) => add.run(session).await,
            Self::Import(import) => import.run(session).await,
            Self::List(list) => list.run(session).await,
            Self::Show(which) => {
                let cluster = session.client.cluster(&which.name).await?.value;
                session.show(&cluster, |cluster| words::shown(cluster, session.now))
            }
            Self::Health(which) => {
                let health = session.client.cluster_health(&which.name).await?;
                session.show(&health, |health| words::health(health, session.now))
            }
            Self::Update(update) => update.run(session).await,
            Self::Disable(which) => {
                let cluster = session.client.disable_cluster(&which.name).await?;
                session.show(&cluster, |cluster| {
                    format!(
                        "{} is left alone; let it take part again: slipway cluster enable {0}",
                        cluster.name
                    )
                })
            }
            Self::Enable(which) => {
                let cluster = session.client.enable_cluster(&which.name).await?;
                session.show(&cluster, |cluster| format!("{} takes part again", cluster.name))
            }
            Self::Rotate(rotate) => rotate.run(session).await,
            Self::Remove(remove) => {
                session.client.remove_cluster(&remove.which.name, remove.force).await?;
                session.say(&format!("forgot {}", remove.which.name))
            }
        }
    }
}

impl List {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let labels: Vec<_> = self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let mut query = ClustersQuery {
            environment: self.environment.map(Into::into),
            health_status: self.health.map(Into::into),
            label: (!labels.is_empty()).then(|| labels.join(",")),
            limit: Some(100),
            offset: None,
        };
        let mut all: ClusterList = session.client.clusters(&query).await?;
        // People and scripts want all of them; the server hands out a hundred at a time.
        while let Some(next) = all.page.next_offset {
            query.offset = i64::try_from(next).ok();
            let more = session.client.clusters(&query).await?;
            all.clusters.extend(more.clusters);
            all.page = more.page;
        }
        all.page.offset = 0;
        session.show(&all, |all| words::list(&all.clusters, session.now))
    }
}

impl Update {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let name = &self.which.name;
        let found = session.client.cluster(name).await?;
        let labels = if self.labels.is_empty() {
            None
        } else {
            Some(changed(found.value.labels.clone(), &self.labels)?)
        };
        let request = UpdateCluster {
            description: self.description,
            environment: self.environment.map(Into::into),
            labels,
        };
        if request == UpdateCluster::default() {
            anyhow::bail!("nothing to change; name --description, --environment or --label");
        }
        let cluster = session.client.update_cluster(name, &request, found.tag.as_deref()).await?;
        session.show(&cluster, |cluster| words::shown(cluster, session.now))
    }
}

/// Labels after `key=value` and `key-`.
fn changed(
    mut labels: BTreeMap<String, String>,
    changes: &[String],
) -> anyhow::Result<BTreeMap<String, String>> {
    for change in changes {
        if let Some(key) = change.strip_suffix('-').filter(|key| !key.contains('=')) {
            labels.remove(key);
        } else {
            let (key, value) = label::pair(change).map_err(anyhow::Error::msg)?;
            labels.insert(key, value);
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_set_and_taken_away_one_by_one() {
        let there =
            BTreeMap::from([("team".to_owned(), "core".to_owned()), ("tier".to_owned(), "1".to_owned())]);
        let after =
            changed(there, &["tier-".to_owned(), "team=edge".to_owned(), "a=b-c".to_owned()]).unwrap();
        assert_eq!(
            after,
            BTreeMap::from([("a".to_owned(), "b-c".to_owned()), ("team".to_owned(), "edge".to_owned())])
        );
        assert!(changed(after, &["nonsense".to_owned()]).unwrap_err().to_string().contains("key=value"));
    }
}
