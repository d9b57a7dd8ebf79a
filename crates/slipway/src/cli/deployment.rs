//! `slipway deployment`: what is rolled out, how far it is, and what can be done about it.

mod view;
mod watch;
mod why;
mod words;

use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use slipway_contract::deployments::{
    CancelRequest, DeploymentEnvironment, DeploymentStatus, DeploymentStrategy, DeploymentsQuery,
    ExtendRequest, PauseRequest, RetryRequest, RollbackRequest, SkipRequest,
};

use super::duration::duration;
use super::output::{Format, print};
use super::session::Session;

pub(crate) use view::{counted, heading, short};
pub(crate) use watch::watch;

#[derive(Debug, Subcommand)]
pub(crate) enum DeploymentCommand {
    /// List deployments, the newest first.
    #[command(visible_alias = "ls")]
    List(List),
    /// Show a deployment: its waves, its clusters, and what it waits for.
    Show(Which),
    /// Follow a deployment to its end. Ctrl-C leaves it running.
    ///
    /// Exit code: 0 completed, 1 failed, rolled back or cancelled; 0 when you leave. Above that as for every
    /// command. A terminal is drawn; elsewhere each piece of news is a line, with -o json as JSON.
    Watch(Which),
    /// Say what a deployment waits for, since when, until when, and what would unblock it.
    Why(Which),
    /// Print what happened, the oldest first.
    Log(Which),
    /// Print every step on every cluster and what came of it.
    Steps(Which),
    /// Print what was found on each cluster before it was changed.
    Preflight(Which),
    /// Begin nothing new; what runs finishes, and what hurts is still taken back.
    Pause(Because),
    /// Go on; what went wrong so far is accepted.
    Resume(Which),
    /// End it: clusters that are being changed finish, the others are left out.
    Cancel(Because),
    /// Try clusters again that failed, were left out or could not be taken back.
    Retry(Again),
    /// Leave a cluster out, or accept that it failed.
    Skip(Skip),
    /// Go on without waiting: past a soak or a rest, into what waits for this.
    Promote(Which),
    /// Watch the present wave for longer.
    Extend(Extend),
    /// Take it back: every cluster that was changed, or those that are named.
    Rollback(Rollback),
    /// Show how far taking it back is.
    RollbackStatus(Which),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only of this operator.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Only in this status.
    #[arg(long, value_enum, ignore_case = true)]
    status: Option<Status>,
    /// Only with this strategy.
    #[arg(long, value_enum)]
    strategy: Option<Strategy>,
    /// Only those that go to this cluster.
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// Only those that go to this environment.
    #[arg(long, value_enum)]
    environment: Option<Environment>,
    /// Only those that this person or machine started.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Only those that have not ended.
    #[arg(long)]
    active: bool,
    /// At most so many, 1 to 100.
    #[arg(long, default_value_t = 20, value_name = "N")]
    limit: i64,
    /// After so many.
    #[arg(long, default_value_t = 0, value_name = "N")]
    offset: i64,
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Its id, or as much of its beginning as names one (four digits or more).
    id: String,
}

#[derive(Debug, Args)]
pub(crate) struct Because {
    #[command(flatten)]
    which: Which,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Again {
    #[command(flatten)]
    which: Which,
    /// Only these clusters; may be repeated.
    #[arg(long = "cluster", value_name = "NAME", value_delimiter = ',')]
    clusters: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Skip {
    #[command(flatten)]
    which: Which,
    /// The cluster.
    cluster: String,
}

#[derive(Debug, Args)]
pub(crate) struct Extend {
    #[command(flatten)]
    which: Which,
    /// By so much, such as 10m.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    by: String,
}

#[derive(Debug, Args)]
pub(crate) struct Rollback {
    #[command(flatten)]
    which: Which,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Only on these clusters; may be repeated.
    #[arg(long = "cluster", value_name = "NAME", value_delimiter = ',')]
    clusters: Vec<String>,
    /// Let stored objects be rewritten to an older version where going back needs it.
    #[arg(long)]
    down_migrate: bool,
    /// Follow it to its end.
    #[arg(long)]
    watch: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Status {
    Planning,
    Deploying,
    Validating,
    Completed,
    #[value(alias = "rollingback")]
    RollingBack,
    #[value(alias = "rolledback")]
    RolledBack,
    Failed,
    Cancelled,
}

/// How a version goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// All at once.
    Direct,
    /// A few first, then more.
    Canary,
    /// One after the other.
    Rolling,
    /// Beside the old one, then a switch.
    #[value(alias = "bluegreen")]
    BlueGreen,
}

/// Where clusters stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Environment {
    /// For trying things.
    Development,
    /// The rehearsal.
    Staging,
    /// Where it hurts.
    Production,
}

impl DeploymentCommand {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<ExitCode> {
        let client = &session.client;
        match self {
            Self::Watch(which) => return watch(session, &which.id).await,
            Self::Rollback(rollback) => return rollback.run(session).await,
            Self::List(list) => list.run(session).await?,
            Self::Show(which) => {
                let detail = client.deployment(&which.id).await?;
                let look = look();
                session.show(&detail, |detail| words::shown(detail, session.now, look))?;
            }
            Self::Why(which) => {
                let reply = client.deployment_why(&which.id).await?;
                // People are told the commands, too, and for those more has to be known.
                let detail = match session.format {
                    Format::Table => Some(client.deployment(&which.id).await?),
                    Format::Json | Format::Yaml => None,
                };
                session.show(&reply, |reply| why::words(reply, detail.as_ref(), session.now))?;
            }
            Self::Log(which) => log(session, &which.id).await?,
            Self::Steps(which) => {
                let reply = client.deployment_steps(&which.id).await?;
                session.show(&reply, |reply| words::steps(reply, session.now))?;
            }
            Self::Preflight(which) => {
                let reply = client.deployment_preflight(&which.id).await?;
                session.show(&reply, super::deploy::found)?;
            }
            Self::Pause(pause) => {
                let request = PauseRequest { reason: pause.reason };
                let reply = client.pause_deployment(&pause.which.id, &request).await?;
                session.show(&reply, |reply| words::told(reply, "holds: nothing new begins", "resume"))?;
            }
            Self::Resume(which) => {
                let reply = client.resume_deployment(&which.id).await?;
                session.show(&reply, |reply| words::told(reply, "goes on", "watch"))?;
            }
            Self::Cancel(cancel) => {
                let request = CancelRequest { reason: cancel.reason };
                let reply = client.cancel_deployment(&cancel.which.id, &request).await?;
                session.show(&reply, words::cancelled)?;
            }
            Self::Retry(retry) => {
                let clusters = (!retry.clusters.is_empty()).then_some(retry.clusters);
                let reply = client.retry_deployment(&retry.which.id, &RetryRequest { clusters }).await?;
                session.show(&reply, |reply| words::told(reply, "is tried again", "watch"))?;
            }
            Self::Skip(skip) => {
                let request = SkipRequest { cluster: skip.cluster };
                let reply = client.skip_cluster(&skip.which.id, &request).await?;
                let what = format!("goes on without {}", request.cluster);
                session.show(&reply, |reply| words::told(reply, &what, "watch"))?;
            }
            Self::Promote(which) => {
                let reply = client.promote_deployment(&which.id).await?;
                session.show(&reply, |reply| words::told(reply, "moves on now", "watch"))?;
            }
            Self::Extend(extend) => {
                let request = ExtendRequest { by: extend.by };
                let reply = client.extend_deployment(&extend.which.id, &request).await?;
                session.show(&reply, |reply| words::told(reply, "is watched for longer", "watch"))?;
            }
            Self::RollbackStatus(which) => {
                let reply = client.rollback_status(&which.id).await?;
                session.show(&reply, words::rollback_status)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl List {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let query = DeploymentsQuery {
            operator_name: self.operator,
            status: self.status.map(Into::into),
            initiated_by: self.by,
            strategy: self.strategy.map(Into::into),
            cluster: self.cluster,
            environment: self.environment.map(Into::into),
            active: self.active.then_some(true),
            limit: Some(self.limit),
            offset: Some(self.offset),
        };
        let list = session.client.deployments(&query).await?;
        session.show(&list, |list| words::listed(list, session.now))
    }
}

impl Rollback {
    async fn run(self, session: &Session) -> anyhow::Result<ExitCode> {
        let request = RollbackRequest {
            reason: self.reason,
            target_clusters: (!self.clusters.is_empty()).then_some(self.clusters),
            down_migrate: self.down_migrate.then_some(true),
        };
        let before = session.client.deployment(&self.which.id).await?.deployment.status;
        let reply = session.client.roll_back(&self.which.id, &request).await?;
        if !self.watch {
            session.show(&reply, words::rolling_back)?;
            return Ok(ExitCode::SUCCESS);
        }
        let id = reply.deployment_id.to_string();
        let ended = before.is_end() && before != DeploymentStatus::RolledBack;
        watch::watch_from(session, &id, ended.then_some(before)).await?;
        // Being back is what was asked for.
        let end = session.client.deployment(&id).await?.deployment.status;
        Ok(if end == DeploymentStatus::RolledBack { ExitCode::SUCCESS } else { watch::code(end) })
    }
}

async fn log(session: &Session, id: &str) -> anyhow::Result<()> {
    let mut all = session.client.deployment_news(id, 0).await?;
    while all.has_more {
        let after = all.news.last().map_or(0, |one| one.number);
        let more = session.client.deployment_news(id, after).await?;
        all.has_more = more.has_more && !more.news.is_empty();
        all.news.extend(more.news);
    }
    session.show(&all, words::log)
}

fn look() -> view::Look {
    view::Look { glyphs: stdout().is_terminal(), width: usize::MAX, tick: 0, followed: false }
}

/// Says what was begun, where it is not followed.
pub(crate) fn begun(
    session: &Session,
    reply: &slipway_contract::deployments::DeploymentReply,
) -> anyhow::Result<()> {
    print(&session.format.render(reply, |reply| {
        format!("{}\n  follow it: slipway deployment watch {}\n", heading(reply), short(reply.deployment_id))
    })?)
}

impl From<Status> for DeploymentStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Planning => Self::Planning,
            Status::Deploying => Self::Deploying,
            Status::Validating => Self::Validating,
            Status::Completed => Self::Completed,
            Status::RollingBack => Self::RollingBack,
            Status::RolledBack => Self::RolledBack,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
        }
    }
}

impl From<Strategy> for DeploymentStrategy {
    fn from(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Direct => Self::Direct,
            Strategy::Canary => Self::Canary,
            Strategy::Rolling => Self::Rolling,
            Strategy::BlueGreen => Self::BlueGreen,
        }
    }
}

impl From<Environment> for DeploymentEnvironment {
    fn from(environment: Environment) -> Self {
        match environment {
            Environment::Development => Self::Development,
            Environment::Staging => Self::Staging,
            Environment::Production => Self::Production,
        }
    }
}
