//! `slipway token`.

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use jiff::{Span, SpanRelativeTo};
use slipway_contract::identity::{CreateTokenRequest, Token, TokenList, TokenState, TokensQuery};
use slipway_domain::access::{Environment, Role};

use super::relative::{ago, until};
use super::session::Session;
use super::table::{Cell, Tone, table};

/// What can be done with tokens of machines.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token for a machine; prints its secret, which is shown this once.
    Create(Create),
    /// List tokens, without their secrets.
    List(List),
    /// End a token at once.
    Revoke(Revoke),
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What to call it, such as ci.
    name: String,
    /// What it may do; nothing that you may not.
    #[arg(long)]
    role: Role,
    /// An environment that it decides for, as an `EnvironmentOwner`; can be repeated.
    #[arg(long = "environment", value_name = "ENVIRONMENT")]
    environments: Vec<Environment>,
    /// How long it lasts, a year at most, such as 90d or 12h.
    #[arg(long, default_value = "90d", value_name = "SPAN")]
    expires: Span,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Those of everybody, for admins.
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// The token's name, or its id.
    token: String,
}

impl TokenCommand {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        match self {
            Self::Create(create) => create.run(session).await,
            Self::List(list) => {
                let query = TokensQuery { all: list.all.then_some(true), limit: Some(100), offset: None };
                session.show(&session.client.tokens(&query).await?, |list| listed(list, session))
            }
            Self::Revoke(revoke) => revoke.run(session).await,
        }
    }
}

impl Create {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let life = self
            .expires
            .to_duration(SpanRelativeTo::days_are_24_hours())
            .context("--expires takes hours, days or weeks, such as 90d")?;
        let request = CreateTokenRequest {
            name: self.name,
            role: self.role.into(),
            environments: self.environments.into_iter().map(Into::into).collect(),
            expires_at: Some(session.now.checked_add(life).context("--expires is too far away")?),
        };
        let made = session.client.create_token(&request).await?;
        let ends = until(made.token.expires_at, session.now);
        // The secret alone goes to standard output, so that it can be sent to a file.
        eprintln!(
            "made the token {} ({:?}), which ends {ends}; it is shown this once:",
            made.token.name, made.token.role
        );
        session.show(&made, |made| made.secret.0.clone())
    }
}

impl Revoke {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let query = TokensQuery { all: None, limit: Some(100), offset: None };
        let id = if self.token.len() == 36 && self.token.contains('-') {
            self.token.clone()
        } else {
            let list = session.client.tokens(&query).await?;
            let mut named = list.tokens.iter().filter(|token| token.name == self.token);
            match named.find(|token| token.state == TokenState::Active) {
                Some(token) => token.token_id.to_string(),
                None => bail!("you have no token {}; see: slipway token list", self.token),
            }
        };
        session.client.revoke_token(&id).await?;
        session.say(&format!("revoked {}", self.token))
    }
}

fn state(token: &Token) -> Cell {
    match token.state {
        TokenState::Active => Cell::new("active", Tone::Good),
        TokenState::Expired => Cell::new("expired", Tone::Quiet),
        TokenState::Revoked => Cell::new("revoked", Tone::Quiet),
    }
}

fn listed(list: &TokenList, session: &Session) -> String {
    let rows = list.tokens.iter().map(|token| {
        vec![
            Cell::from(&token.name),
            Cell::from(&token.owner),
            format!("{:?}", token.role).into(),
            state(token),
            until(token.expires_at, session.now).into(),
            token.last_used_at.map(|at| ago(at, session.now)).into(),
            token.token_id.to_string().into(),
        ]
    });
    table(
        &["NAME", "OWNER", "ROLE", "STATE", "ENDS", "LAST USED", "ID"],
        rows,
        "no tokens; make one: slipway token create NAME --role Viewer",
    )
}
