//! `slipway uninstall` and `slipway unmanage`.

use std::io::{IsTerminal as _, stdin};

use anyhow::bail;
use clap::Args;
use slipway_contract::deployments::{UninstallReply, UninstallRequest};

use super::login::prompt;
use super::output::OutputArgs;
use super::session::Session;

/// Take an operator off a cluster; CRDs and custom resources stay.
#[derive(Debug, Args)]
pub(crate) struct Uninstall {
    /// The operator's name.
    operator: String,
    /// The cluster.
    #[arg(long, short = 'c', value_name = "NAME")]
    cluster: String,
    /// Remove its CRDs, too, and with them every custom resource. It cannot be undone.
    #[arg(long)]
    with_crds: bool,
    /// Do not ask whether it is meant.
    #[arg(long, short = 'y')]
    yes: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Forget that an operator on a cluster is ours; nothing there is touched.
#[derive(Debug, Args)]
pub(crate) struct Unmanage {
    /// The operator's name.
    operator: String,
    /// The cluster.
    #[arg(long, short = 'c', value_name = "NAME")]
    cluster: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Uninstall {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        self.confirm()?;
        let request = UninstallRequest { with_crds: self.with_crds };
        let reply = session.client.uninstall_operator(&self.operator, &self.cluster, &request).await?;
        session.show(&reply, words)
    }

    /// Whatever cannot be undone is written out by whoever wants it.
    fn confirm(&self) -> anyhow::Result<()> {
        if self.yes {
            return Ok(());
        }
        let Self { operator, cluster, .. } = self;
        let what = if self.with_crds {
            format!("every custom resource of {operator} on {cluster} is deleted, and cannot be brought back")
        } else {
            format!("{operator} is taken off {cluster}; nobody looks after its custom resources then")
        };
        if !stdin().is_terminal() {
            bail!("{what}\n  if that is meant, add --yes");
        }
        eprintln!("warning: {what}");
        let (question, right) = if self.with_crds {
            ("type the cluster's name to go on: ", cluster.as_str())
        } else {
            ("go on? [y/N] ", "y")
        };
        let meant = prompt::line(question).is_ok_and(|answer| answer.eq_ignore_ascii_case(right));
        if meant { Ok(()) } else { bail!("nothing was changed") }
    }
}

impl Unmanage {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        session.client.unmanage_operator(&self.operator, &self.cluster).await?;
        let Self { operator, cluster, .. } = &self;
        session.say(&format!(
            "{operator} on {cluster} is no longer ours; nothing there was touched\n  \
             take it up again: slipway operator adopt {operator} --cluster {cluster}"
        ))
    }
}

fn words(reply: &UninstallReply) -> String {
    let mut text = format!("{} is off {}\n", reply.operator_name, reply.cluster_name);
    for left in &reply.left {
        text.push_str(&format!("  left  {left}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_is_said() {
        let reply = UninstallReply {
            operator_name: "cert-manager".to_owned(),
            cluster_name: "dev-1".to_owned(),
            left: vec!["6 CRDs with 41 custom resources".to_owned()],
        };
        assert_eq!(words(&reply), "cert-manager is off dev-1\n  left  6 CRDs with 41 custom resources\n");
    }
}
