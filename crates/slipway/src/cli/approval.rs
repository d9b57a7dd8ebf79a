//! `slipway approval`.

mod find;
mod words;

use clap::{Args, Subcommand, ValueEnum};
use slipway_contract::approvals::{
    ApprovalEnvironment, ApprovalStatusFilter, ApprovalsQuery, ApproveRequest, BreakGlassRequest,
    RejectRequest,
};

use super::session::Session;
use find::find;

/// See and make decisions that deployments wait for.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalCommand {
    /// List what waits for a decision.
    List(List),
    /// Show an approval and everything that was decided.
    Show(Which),
    /// Say yes.
    Approve(Approve),
    /// Say no, which ends it.
    Reject(Reject),
    /// Go past an approval in an emergency. Everybody who answers for the environment is told.
    BreakGlass(BreakGlass),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only in this state.
    #[arg(long, value_enum, default_value_t)]
    status: Status,
    /// Only those that you can decide now.
    #[arg(long)]
    mine: bool,
    /// Only for this environment.
    #[arg(long, value_enum)]
    environment: Option<Environment>,
    /// Only of this operator.
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// At most so many, 1 to 100.
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: i64,
    /// After so many.
    #[arg(long, default_value_t = 0, value_name = "N")]
    offset: i64,
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Its id, or as much of its beginning as names one.
    id: String,
}

#[derive(Debug, Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    which: Which,
    /// What you add.
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Only if it is about this plan; the one that is there now, where nothing is said.
    #[arg(long, value_name = "HASH")]
    plan: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Reject {
    #[command(flatten)]
    which: Which,
    /// Why.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct BreakGlass {
    #[command(flatten)]
    which: Which,
    /// Why it cannot wait.
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Status {
    #[default]
    Pending,
    Approved,
    Rejected,
    Expired,
    Lapsed,
    Bypassed,
    All,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Environment {
    Development,
    Staging,
    Production,
}

impl ApprovalCommand {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        match self {
            Self::List(list) => list.run(session).await,
            Self::Show(which) => {
                let approval = find(&session.client, &which.id, ApprovalStatusFilter::All).await?;
                session.show(&approval, |approval| words::shown(approval, session.now))
            }
            Self::Approve(approve) => approve.run(session).await,
            Self::Reject(reject) => reject.run(session).await,
            Self::BreakGlass(emergency) => emergency.run(session).await,
        }
    }
}

impl List {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let query = ApprovalsQuery {
            status: Some(self.status.into()),
            kind: None,
            environment: self.environment.map(Into::into),
            operator_name: self.operator,
            mine: self.mine.then_some(true),
            limit: Some(self.limit),
            offset: Some(self.offset),
        };
        let list = session.client.approvals(&query).await?;
        let none = match self.status {
            Status::Pending if self.mine => "nothing waits for you",
            Status::Pending => "no approval waits",
            _ => "no such approval",
        };
        session.show(&list, |list| words::listed(list, none, session.now))
    }
}

impl Approve {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let before = find(&session.client, &self.which.id, ApprovalStatusFilter::Pending).await?;
        let id = before.approval_id.to_string();
        let plan_hash = self.plan.unwrap_or(before.plan_hash);
        let request = ApproveRequest { notes: self.notes, plan_hash: Some(plan_hash) };
        let reply = session.client.approve(&id, &request).await?;
        let after = session.client.approval(&id).await?;
        session.show(&reply, |_| words::approved(&after))
    }
}

impl Reject {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let before = find(&session.client, &self.which.id, ApprovalStatusFilter::Pending).await?;
        let request = RejectRequest { reason: self.reason, plan_hash: None };
        let reply = session.client.reject(&before.approval_id.to_string(), &request).await?;
        session.show(&reply, |_| format!("rejected: {}", words::what(&before)))
    }
}

impl BreakGlass {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let before = find(&session.client, &self.which.id, ApprovalStatusFilter::Pending).await?;
        let request = BreakGlassRequest { reason: self.reason };
        let reply = session.client.break_glass(&before.approval_id.to_string(), &request).await?;
        session.show(&reply, |_| {
            format!(
                "went past the approval: {}\nthe owners of {:?} and the admins are told",
                words::what(&before),
                before.environment
            )
        })
    }
}

impl From<Status> for ApprovalStatusFilter {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => Self::Pending,
            Status::Approved => Self::Approved,
            Status::Rejected => Self::Rejected,
            Status::Expired => Self::Expired,
            Status::Lapsed => Self::Lapsed,
            Status::Bypassed => Self::Bypassed,
            Status::All => Self::All,
        }
    }
}

impl From<Environment> for ApprovalEnvironment {
    fn from(environment: Environment) -> Self {
        match environment {
            Environment::Development => Self::Development,
            Environment::Staging => Self::Staging,
            Environment::Production => Self::Production,
        }
    }
}
