//! `slipway operator add`.

use std::path::PathBuf;

use clap::Args;
use slipway_contract::operators::RegisterOperator;

use super::input::{RepositoryAccess, document, labels, values};
use crate::cli::session::Session;
use crate::cli::table::facts;

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// What the operator is to be called.
    name: String,
    /// The address of the chart repository: https://, http:// or oci://.
    #[arg(long, value_name = "URL")]
    repository: String,
    /// The chart there; the operator's name where nothing is said.
    #[arg(long, value_name = "CHART")]
    chart: Option<String>,
    /// Where it is installed on clusters; the operator's name where nothing is said.
    #[arg(long, short = 'n', value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// The version that the fleet is on.
    #[arg(long, value_name = "VERSION")]
    current_version: Option<String>,
    /// What it is for.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// A definition that belongs to it; may be repeated. Found from the chart where none is named.
    #[arg(long, value_name = "NAME")]
    crd: Vec<String>,
    /// A label; may be repeated.
    #[arg(long, short = 'l', value_name = "KEY=VALUE")]
    label: Vec<String>,
    /// The helm values that every installation starts from, from this file.
    #[arg(long, short = 'f', value_name = "FILE")]
    values: Option<PathBuf>,
    /// What has to be known to roll it out, from this file.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    #[command(flatten)]
    access: RepositoryAccess,
}

impl Add {
    pub(super) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let operator = RegisterOperator {
            namespace: self.namespace.unwrap_or_else(|| self.name.clone()),
            chart_name: self.chart.unwrap_or_else(|| self.name.clone()),
            name: self.name,
            description: self.description,
            chart_repository: self.repository,
            current_version: self.current_version,
            crd_names: self.crd,
            labels: labels(&self.label)?,
            default_values: self.values.as_deref().map(values).transpose()?.unwrap_or_default(),
            profile: self.profile.as_deref().map(document).transpose()?,
            credentials: self.access.credentials()?,
            ca_certificate: self.access.authority()?,
        };
        let reply = session.client.register_operator(&operator).await?;
        session.show(&reply, |reply| {
            let update = if reply.has_update { " (newer)" } else { "" };
            let latest = reply.latest_version.as_deref().unwrap_or("only pre-releases");
            format!(
                "{} is registered\n{}see its versions: slipway operator versions {}\n",
                reply.name,
                facts([
                    ("current", reply.current_version.clone().into()),
                    ("latest", format!("{latest}{update}").into()),
                    ("namespace", (&reply.namespace).into()),
                ]),
                reply.name
            )
        })
    }
}
