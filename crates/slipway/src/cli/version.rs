//! `slipway version`.

use serde::Serialize;

use super::session::Session;
use super::table::facts;

/// Print the versions of this program and of the server.
#[derive(Debug, clap::Args)]
pub(crate) struct VersionCommand {
    #[command(flatten)]
    pub(crate) output: super::output::OutputArgs,
}

#[derive(Debug, Serialize)]
struct Versions {
    client: &'static str,
    server: String,
}

impl VersionCommand {
    pub(crate) async fn run(session: &Session) -> anyhow::Result<()> {
        let server = session.client.version().await?.version;
        session.show(&Versions { client: env!("CARGO_PKG_VERSION"), server }, |versions| {
            facts([("client", versions.client.into()), ("server", (&versions.server).into())])
        })
    }
}
