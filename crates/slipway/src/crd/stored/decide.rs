//! `slipway crd approve` and `slipway crd deprecate`.

use anyhow::Context as _;
use clap::Args;
use slipway_contract::crds::{ApproveCrd, DeprecateCrd};

use super::Whose;
use crate::cli::{OutputArgs, Session};

#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// The name of the CRD.
    name: String,
    /// What you say about it; it is written down.
    #[arg(long)]
    notes: Option<String>,
    /// Agree up to this version of the operator [default: the newest release].
    #[arg(long, value_name = "VERSION")]
    operator_version: Option<String>,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Approve {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let body = ApproveCrd {
            notes: self.notes,
            operator_name: self.whose.operator,
            operator_version: self.operator_version,
        };
        let crd = session.client.approve_crd(&self.name, &body).await?;
        session.show(&crd, |crd| {
            let crd = &crd.summary;
            format!("agreed to {} of {} {}", crd.name, crd.operator_name, crd.operator_version)
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct Deprecate {
    /// The name of the CRD.
    name: String,
    /// Why it is to be left.
    #[arg(long)]
    reason: String,
    /// What its users do instead: a text, or @FILE.
    #[arg(long, value_name = "TEXT|@FILE")]
    guide: Option<String>,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl Deprecate {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let guide = match self.guide.as_deref().map(|guide| (guide, guide.strip_prefix('@'))) {
            Some((_, Some(file))) => {
                Some(std::fs::read_to_string(file).with_context(|| format!("{file} cannot be read"))?)
            }
            Some((text, None)) => Some(text.to_owned()),
            None => None,
        };
        let body =
            DeprecateCrd { reason: self.reason, migration_guide: guide, operator_name: self.whose.operator };
        let crd = session.client.deprecate_crd(&self.name, &body).await?;
        session.show(&crd, |crd| format!("{} is to be left", crd.summary.name))
    }
}
