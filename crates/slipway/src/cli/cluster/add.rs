//! Adding a cluster with the person's own rights, and giving it another credential.

use std::collections::BTreeMap;

use anyhow::Context as _;
use clap::Args;
use kube::config::Kubeconfig;
use slipway_client::ClientError;
use slipway_contract::clusters::{Cluster, ClusterEnvironment, Confidential, RegisterCluster, RotateCluster};
use slipway_domain::cluster::label;
use slipway_infra::kubernetes::enrol::{Enrolment, Rights, enrol};

use super::kubernetes::{KubeconfigArgs, OwnCluster, connect};
use super::{Environment, words};
use crate::cli::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// How the cluster shall be called; it never changes.
    name: String,
    /// The context of your kubeconfig; the current one where none is named.
    #[arg(long, value_name = "CONTEXT")]
    kube_context: Option<String>,
    /// What it is for.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    kubeconfig: KubeconfigArgs,
    #[command(flatten)]
    how: How,
    /// The address by which the server reaches the cluster, where it is not that of your kubeconfig.
    #[arg(long, value_name = "URL")]
    api_server: Option<String>,
}

/// What clusters are added with, one or many.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct How {
    /// Where it stands.
    #[arg(long, value_enum, default_value_t)]
    environment: Environment,
    /// A label; may be given several times.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label::pair)]
    labels: Vec<(String, String)>,
    /// Bind this `ClusterRole` of the cluster instead of making the documented one.
    #[arg(long, value_name = "NAME")]
    role: Option<String>,
    /// Also if the cluster is registered already under another name.
    #[arg(long)]
    allow_duplicate: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Rotate {
    /// The cluster's name.
    name: String,
    /// Make the credential with this context of your kubeconfig, for a cluster that refuses the present one.
    #[arg(long, value_name = "CONTEXT")]
    kube_context: Option<String>,
    #[command(flatten)]
    kubeconfig: KubeconfigArgs,
    /// Bind this `ClusterRole` of the cluster instead of the documented one.
    #[arg(long, value_name = "NAME")]
    role: Option<String>,
}

fn rights(role: Option<&String>) -> Rights {
    role.map_or(Rights::Documented, |role| Rights::Existing(role.clone()))
}

/// What a cluster is called, and the rest of what is said about it.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) description: Option<String>,
    pub(super) api_server: Option<String>,
    pub(super) how: &'a How,
}

impl Add {
    pub(super) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let kubeconfig = self.kubeconfig.read()?;
        let wanted = Wanted {
            name: &self.name,
            description: self.description,
            api_server: self.api_server,
            how: &self.how,
        };
        let cluster = add(session, kubeconfig, self.kube_context.as_deref(), wanted).await?;
        session.show(&cluster, words::added)
    }
}

/// Prepares a cluster and registers it. A failure leaves both as they were.
pub(super) async fn add(
    session: &Session,
    kubeconfig: Kubeconfig,
    context: Option<&str>,
    wanted: Wanted<'_>,
) -> anyhow::Result<Cluster> {
    let name = wanted.name;
    // Before anything is made in the cluster.
    match session.client.cluster(name).await {
        Ok(_) => anyhow::bail!("there is a cluster {name} already; see it: slipway cluster show {name}"),
        Err(ClientError::Refused { status: 404, .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let own = connect(kubeconfig, context).await?;
    let enrolment = prepare(&own, &rights(wanted.how.role.as_ref())).await?;
    let request = RegisterCluster {
        name: name.to_owned(),
        description: wanted.description,
        environment: ClusterEnvironment::from(wanted.how.environment),
        labels: wanted.how.labels.iter().cloned().collect::<BTreeMap<_, _>>(),
        kubeconfig: None,
        api_server_url: Some(wanted.api_server.unwrap_or(own.server)),
        ca_data: own.authority,
        tls_server_name: own.server_name,
        token: Some(Confidential::new(enrolment.token.as_str())),
        allow_duplicate: wanted.how.allow_duplicate,
    };
    match session.client.register_cluster(&request).await {
        Ok(cluster) => Ok(cluster),
        Err(error) => Err(taken_back(enrolment, error.into()).await),
    }
}

async fn prepare(own: &OwnCluster, rights: &Rights) -> anyhow::Result<Enrolment> {
    enrol(&own.client, rights).await.with_context(|| format!("preparing the cluster at {}", own.server))
}

/// The error, after everything that was made is removed again.
async fn taken_back(enrolment: Enrolment, error: anyhow::Error) -> anyhow::Error {
    let left = enrolment.undo().await;
    if !left.is_empty() {
        eprintln!("warning: this was made in the cluster and could not be removed: {}", left.join(", "));
    }
    error
}

impl Rotate {
    pub(super) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let rotated = match &self.kube_context {
            None => session.client.rotate_cluster(&self.name, &RotateCluster::default()).await?,
            Some(context) => {
                let there = session.client.cluster(&self.name).await?.value;
                let own = connect(self.kubeconfig.read()?, Some(context)).await?;
                let enrolment = prepare(&own, &rights(self.role.as_ref())).await?;
                let request = RotateCluster {
                    kubeconfig: None,
                    // The address that the server uses may be another than the person's.
                    api_server_url: Some(there.api_server_url),
                    ca_data: own.authority,
                    tls_server_name: own.server_name,
                    token: Some(Confidential::new(enrolment.token.as_str())),
                };
                match session.client.rotate_cluster(&self.name, &request).await {
                    Ok(rotated) => rotated,
                    Err(error) => return Err(taken_back(enrolment, error.into()).await),
                }
            }
        };
        session.show(&rotated, |rotated| words::rotated(rotated, session.now))
    }
}
