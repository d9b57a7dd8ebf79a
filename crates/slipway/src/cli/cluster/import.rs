//! Adding every context of a kubeconfig.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use slipway_client::ClientError;

use super::add::{How, Wanted, add};
use super::kubernetes::{KubeconfigArgs, contexts};
use super::words;
use crate::cli::session::Session;

/// The server takes a few registrations a minute; whoever has more waits.
const PAUSE: Duration = Duration::from_secs(13);

/// How often one context is tried while the server says that it is too much.
const TRIES: u32 = 10;

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// These contexts, separated by commas.
    #[arg(long, value_delimiter = ',', required_unless_present = "all", conflicts_with = "all")]
    contexts: Vec<String>,
    /// All contexts.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    kubeconfig: KubeconfigArgs,
    #[command(flatten)]
    how: How,
}

/// What became of a context.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Imported {
    pub(super) context: String,
    pub(super) cluster: String,
    pub(super) kubernetes_version: Option<String>,
    pub(super) error: Option<String>,
}

impl Import {
    pub(super) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let kubeconfig = self.kubeconfig.read()?;
        let known = contexts(&kubeconfig);
        let wanted = if self.all { known.clone() } else { self.contexts };
        let unknown: Vec<_> = wanted.iter().filter(|context| !known.contains(context)).cloned().collect();
        if !unknown.is_empty() {
            bail!("your kubeconfig has no context {}; it has {}", unknown.join(", "), known.join(", "));
        }
        let mut imported = Vec::new();
        let mut names = BTreeMap::new();
        for context in wanted {
            let cluster = name_of(&context);
            let outcome = match names.insert(cluster.clone(), context.clone()) {
                Some(other) => Err(format!("is called {cluster} like the context {other}; add it by itself")),
                None => self::one(session, &kubeconfig, &context, &cluster, &self.how).await,
            };
            imported.push(match outcome {
                Ok(kubernetes_version) => Imported { context, cluster, kubernetes_version, error: None },
                Err(error) => Imported { context, cluster, kubernetes_version: None, error: Some(error) },
            });
        }
        session.show(&imported, |imported| words::imported(imported))?;
        let failed = imported.iter().filter(|one| one.error.is_some()).count();
        if failed > 0 {
            bail!("{failed} of {} contexts could not be added", imported.len());
        }
        Ok(())
    }
}

async fn one(
    session: &Session,
    kubeconfig: &kube::config::Kubeconfig,
    context: &str,
    name: &str,
    how: &How,
) -> Result<Option<String>, String> {
    let mut tries = 1;
    loop {
        let wanted = Wanted { name, description: None, api_server: None, how };
        match add(session, kubeconfig.clone(), Some(context), wanted).await {
            Ok(cluster) => return Ok(cluster.kubernetes_version),
            Err(error) if tries < TRIES && is_too_much(&error) => {
                eprintln!("{context}: the server takes a few registrations a minute; waiting");
                tokio::time::sleep(PAUSE).await;
                tries += 1;
            }
            Err(error) => return Err(format!("{error:#}")),
        }
    }
}

fn is_too_much(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<ClientError>(), Some(ClientError::Refused { status: 429, .. }))
}

/// The name of a cluster after its context: what a name may not hold becomes a dash.
fn name_of(context: &str) -> String {
    let mut name = String::new();
    for character in context.to_lowercase().chars() {
        match character {
            'a'..='z' | '0'..='9' => name.push(character),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    // The end tells more: arn:aws:eks:eu-central-1:1234:cluster/prod.
    let from = name.len().saturating_sub(63);
    name[from..].trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_become_names() {
        assert_eq!(name_of("kind-dev"), "kind-dev");
        assert_eq!(name_of("gke_Project_europe-west1_prod"), "gke-project-europe-west1-prod");
        assert_eq!(
            name_of("arn:aws:eks:eu-central-1:123456789012:cluster/prod"),
            "arn-aws-eks-eu-central-1-123456789012-cluster-prod"
        );
        assert_eq!(name_of("ada@äöü/prod"), "ada-prod");
        let long = name_of(&format!("{}-prod", "x".repeat(90)));
        assert!(long.len() == 63 && long.ends_with("-prod"));
    }
}
