//! `slipway operator update` and `slipway operator profile`.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use slipway_contract::operators::UpdateOperator;

use super::input::{RepositoryAccess, document, labels, values};
use crate::cli::output::Format;
use crate::cli::session::Session;

#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The operator's name.
    name: String,
    /// What it is for; an empty text removes it.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// A label to set; may be repeated. KEY- removes one.
    #[arg(long, short = 'l', value_name = "KEY=VALUE")]
    label: Vec<String>,
    /// The helm values that every installation starts from, from this file.
    #[arg(long, short = 'f', value_name = "FILE")]
    values: Option<PathBuf>,
    /// The version that the fleet is on.
    #[arg(long, value_name = "VERSION")]
    current_version: Option<String>,
    /// Forget the credentials of the repository.
    #[arg(long, conflicts_with_all = ["repository_username", "repository_token_file"])]
    no_credentials: bool,
    #[command(flatten)]
    access: RepositoryAccess,
}

impl Update {
    pub(super) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let credentials = if self.no_credentials { Some(None) } else { self.access.credentials()?.map(Some) };
        let mut change = UpdateOperator {
            description: self.description,
            default_values: self.values.as_deref().map(values).transpose()?,
            current_version: self.current_version,
            credentials,
            ca_certificate: self.access.authority()?.map(Some),
            ..UpdateOperator::default()
        };
        // Labels are sent whole, so what is there has to be known, and must not change meanwhile.
        let mut tag = None;
        if !self.label.is_empty() {
            let known = session.client.operator(&self.name).await?;
            let (gone, set): (Vec<String>, Vec<String>) =
                self.label.into_iter().partition(|label| label.ends_with('-') && !label.contains('='));
            let mut all = known.value.labels;
            all.extend(labels(&set)?);
            for key in gone {
                all.remove(key.trim_end_matches('-'));
            }
            change.labels = Some(all);
            tag = known.tag;
        }
        if change == UpdateOperator::default() {
            anyhow::bail!("nothing to change; see: slipway operator update --help");
        }
        let changed = session.client.update_operator(&self.name, &change, tag.as_deref()).await?;
        session.show(&changed.value, |operator| format!("{} is changed\n", operator.operator.name))
    }
}

#[derive(Debug, Args)]
pub(crate) struct ProfileCommand {
    /// The operator's name.
    name: String,
    /// Set it from this file.
    #[arg(long, value_name = "FILE", conflicts_with = "reset")]
    set: Option<PathBuf>,
    /// Go back to the built-in one.
    #[arg(long)]
    reset: bool,
}

impl ProfileCommand {
    pub(super) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let profile = match &self.set {
            Some(file) => Some(document(file)?),
            None => self.reset.then_some(Value::Null),
        };
        if profile.is_some() {
            let change = UpdateOperator { profile, ..UpdateOperator::default() };
            session.client.update_operator(&self.name, &change, None).await?;
        }
        let reply = session.client.operator_profile(&self.name).await?;
        session.show(&reply, |reply| {
            let origin = match reply.origin.as_str() {
                "own" => "written for this operator",
                "builtIn" => "comes with Slipway",
                _ => "nobody wrote one, so the careful default counts",
            };
            // As YAML, since that is what --set reads.
            let yaml = Format::Yaml.render(&reply.profile, |_| String::new()).unwrap_or_default();
            format!("# {}: {origin}\n{yaml}", reply.operator_name)
        })
    }
}
