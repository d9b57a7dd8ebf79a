//! `slipway crd`: crd-compat for people and pipelines.

mod diff;
mod explain;
mod impact;
mod policy;
mod print;
mod source;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum CrdCommand {
    /// Compare two sets of CRDs: what breaks, proven by an object, and whether one can go back.
    ///
    /// OLD and NEW are each a file or a directory of manifests, - for standard input, a chart
    /// (chart.tgz or its directory), git:<ref>:<path>, or cluster:<context> (cluster: alone is the
    /// current context). CRDs are paired by name. Where one side is a cluster, only the CRDs of the
    /// other side are looked at.
    ///
    /// Exit code: 0 compatible, 1 breaking, 2 the input was bad.
    Diff(diff::Diff),
    /// Look at live clusters: which of their objects would new CRDs refuse or silently cut?
    ///
    /// Exit code: 0 no object is hit, 1 some are, 2 the input was bad or a cluster could not be read.
    Impact(impact::Impact),
    /// Say what a finding means, why it matters, and what to do about it.
    Explain(explain::Explain),
}

impl CrdCommand {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Diff(diff) => diff.run(),
            Self::Impact(impact) => impact.run(),
            Self::Explain(explain) => explain.run(),
        }
    }
}
