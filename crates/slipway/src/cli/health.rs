//! `slipway health` and `slipway operator health`.

mod words;

use clap::Args;
use serde_json::Value;
use slipway_contract::health::HistoryQuery;
use slipway_contract::page::PageQuery;
use slipway_contract::server::{EventMessage, EventsQuery};

use super::output::{Format, OutputArgs, print};
use super::session::Session;

/// Show how all operators are, the worst first.
#[derive(Debug, Args)]
pub(crate) struct HealthCommand {
    /// At most so many, 1 to 100.
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: i64,
    /// After so many.
    #[arg(long, default_value_t = 0, value_name = "N")]
    offset: i64,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Show how an operator is on its clusters, and why.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub(crate) struct OperatorHealth {
    /// The operator's name.
    name: String,
    /// Only on this cluster, with everything that is known.
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<String>,
    /// Look now instead of showing the last check.
    #[arg(long)]
    fresh: bool,
    /// Go on and print each change; Ctrl-C ends it.
    #[arg(long, conflicts_with_all = ["history", "accept"])]
    watch: bool,
    /// Show how it was on the cluster: each change of the verdict, the newest first.
    #[arg(long, requires = "cluster", conflicts_with = "fresh")]
    history: bool,
    /// Take what is broken on the cluster now as given: only what gets worse counts from now on.
    #[arg(long, requires = "cluster", conflicts_with_all = ["history", "fresh"])]
    accept: bool,
}

impl HealthCommand {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let query = PageQuery { limit: Some(self.limit), offset: Some(self.offset) };
        let reply = session.client.fleet_health(&query).await?;
        session.show(&reply, words::fleet)
    }
}

impl OperatorHealth {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        // Followed from before the first answer, so that nothing falls between.
        let query = EventsQuery { topics: Some("operator".to_owned()), subject: Some(self.name.clone()) };
        let mut news = self.watch.then(|| session.client.follow(query, None));
        match &self.cluster {
            Some(cluster) if self.history => {
                let query = HistoryQuery { changes: Some(true), limit: Some(50), offset: None };
                let reply = session.client.operator_health_history(cluster, &self.name, &query).await?;
                session.show(&reply, |reply| words::history(reply, session.now))?;
            }
            Some(cluster) if self.accept => {
                let reply = session.client.take_health_baseline(cluster, &self.name).await?;
                session.show(&reply, |reply| words::baseline(reply, &self.name, cluster))?;
            }
            Some(cluster) => {
                let reply = session.client.cluster_operator_health(cluster, &self.name, self.fresh).await?;
                session.show(&reply, |reply| words::cluster(reply, session.now))?;
            }
            None => {
                let reply = session.client.operator_health(&self.name, self.fresh).await?;
                session.show(&reply, |reply| words::operator(reply, session.now))?;
            }
        }
        let Some(news) = &mut news else { return Ok(()) };
        loop {
            let event = news.next().await?;
            let elsewhere = self.cluster.as_deref().is_some_and(|cluster| {
                event.data.get("clusterName").and_then(Value::as_str) != Some(cluster)
            });
            if event.kind == "healthChanged" && !elsewhere {
                print(&line(&event, session.format)?)?;
            }
        }
    }
}

fn line(event: &EventMessage, format: Format) -> anyhow::Result<String> {
    Ok(match format {
        Format::Table => words::change(event),
        Format::Json | Format::Yaml => format!("{}\n", serde_json::to_string(event)?),
    })
}
