//! `slipway crd`: crd-compat for people and pipelines, and the CRDs that a server has stored.

mod diff;
mod explain;
mod impact;
mod policy;
mod print;
mod source;
mod stored;

use std::process::ExitCode;

use clap::Subcommand;

use crate::cli::Connection;

pub(crate) use source::texts;

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
    /// List the CRDs that the server has stored, with the schema of their newest release.
    List(stored::List),
    /// Show one of the server's CRDs.
    Show(stored::Show),
    /// Show what changed in a CRD with each version of its operator.
    History(stored::History),
    /// Show which cluster runs which schema of a CRD, and how it differs from the chart's.
    Status(stored::Status),
    /// Have the server judge a schema against the one it has stored.
    ///
    /// Exit code: 0 compatible, 1 breaking, above that as for every command.
    Validate(stored::Validate),
    /// Agree to a schema that breaks something.
    Approve(stored::Approve),
    /// Say that a CRD is to be left, and what its users do instead.
    Deprecate(stored::Deprecate),
}

impl CrdCommand {
    pub(crate) fn run(self, connection: &Connection) -> anyhow::Result<ExitCode> {
        match self {
            Self::Diff(diff) => diff.run(),
            Self::Impact(impact) => impact.run(),
            Self::Explain(explain) => explain.run(),
            Self::List(list) => connection.run(list.output, async |session| list.run(session).await),
            Self::Show(show) => connection.run(show.output, async |session| show.run(session).await),
            Self::History(history) => {
                connection.run(history.output, async |session| history.run(session).await)
            }
            Self::Status(status) => connection.run(status.output, async |session| status.run(session).await),
            Self::Validate(validate) => validate.run(connection),
            Self::Approve(approve) => {
                connection.run(approve.output, async |session| approve.run(session).await)
            }
            Self::Deprecate(deprecate) => {
                connection.run(deprecate.output, async |session| deprecate.run(session).await)
            }
        }
    }
}
