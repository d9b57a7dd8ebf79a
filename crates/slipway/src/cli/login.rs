//! `slipway login`, `logout` and `whoami`.

mod device;
mod keep;
pub(crate) mod prompt;

use std::io::BufRead as _;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use slipway_client::{Client, ClientError};
use slipway_contract::identity::{LoginReply, LoginRequest, Me, SecretText};
use zeroize::Zeroizing;

use super::output::OutputArgs;
use super::relative::until;
use super::session::{Connection, Session};
use super::table::facts;

pub(crate) use keep::renewal;

/// Log in to a server, and use it from now on.
#[derive(Debug, Args)]
pub(crate) struct LoginCommand {
    /// As whom; asked for where it is not given.
    #[arg(long, short)]
    username: Option<String>,
    /// Read the password from standard input; a second line is the new one, where it has to be changed.
    #[arg(long, requires = "username", conflicts_with = "oidc")]
    password_stdin: bool,
    /// Log in through this issuer, on its page in a browser, instead of with a password.
    #[arg(long, value_name = "ISSUER", conflicts_with = "username")]
    oidc: Option<String>,
    /// What to call this server from now on; the present context, or the server's host, unless told.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// End your session on a server, and forget its token.
#[derive(Debug, Args)]
pub(crate) struct LogoutCommand {
    #[command(flatten)]
    output: OutputArgs,
}

/// Print who you are on a server, and what you may do there.
#[derive(Debug, Args)]
pub(crate) struct WhoamiCommand {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl LoginCommand {
    pub(crate) fn run(self, connection: &Connection) -> anyhow::Result<ExitCode> {
        connection.run(self.output, async |session| {
            // Whoever logs in begins anew.
            session.client.set_token(None);
            let reply = match &self.oidc {
                Some(issuer) => device::login(&session.client, issuer).await?,
                None => self.with_password(&session.client).await?,
            };
            let name = keep::login(connection, session, self.name.as_deref(), &reply)?;
            session.say(&format!(
                "logged in to {} as {} ({:?}), context {name}; the session ends {}",
                session.client.server(),
                reply.user.username,
                reply.user.role,
                until(reply.session_ends_at, session.now)
            ))
        })
    }

    async fn with_password(&self, client: &Client) -> anyhow::Result<LoginReply> {
        let (username, password, new) = if self.password_stdin {
            let mut lines = std::io::stdin().lock().lines();
            let mut line = || lines.next().transpose().context("reading the password from standard input");
            let password = line()?.context("standard input holds no password")?;
            (self.username.clone().unwrap_or_default(), Zeroizing::new(password), line()?.map(Zeroizing::new))
        } else {
            let username = match &self.username {
                Some(username) => username.clone(),
                None => prompt::line("Username: ")?,
            };
            let password = prompt::secret(&format!("Password of {username}: "))?;
            (username, password, None)
        };
        match client.login(&request(&username, &password, None)).await {
            Err(error) if error.code() == Some("PASSWORD_CHANGE_REQUIRED") => {
                let new = match new {
                    Some(new) => new,
                    None if self.password_stdin => {
                        bail!(
                            "this password counts once; give the new one in a second line of standard input"
                        )
                    }
                    None => {
                        eprintln!("This password counts once. Choose your own, with 12 characters or more.");
                        prompt::new_secret()?
                    }
                };
                Ok(client.login(&request(&username, &password, Some(&new))).await.map_err(again)?)
            }
            outcome => Ok(outcome.map_err(again)?),
        }
    }
}

fn request(username: &str, password: &str, new: Option<&str>) -> LoginRequest {
    LoginRequest {
        username: username.to_owned(),
        password: SecretText(password.to_owned()),
        new_password: new.map(|new| SecretText(new.to_owned())),
    }
}

/// A login that failed is tried again, not followed by another hint to log in.
fn again(mut error: ClientError) -> ClientError {
    if let ClientError::Refused { status: 401, body } = &mut error {
        body.message.push_str("; try again: slipway login");
    }
    error
}

impl LogoutCommand {
    pub(crate) fn run(self, connection: &Connection) -> anyhow::Result<ExitCode> {
        connection.run(self.output, async |session| {
            match session.client.logout().await {
                // A session that has ended already is what was wanted.
                Ok(()) | Err(ClientError::Refused { status: 401, .. }) => {}
                Err(error) => return Err(error.into()),
            }
            keep::forget(session)?;
            session.say(&format!("logged out of {}", session.client.server()))
        })
    }
}

impl WhoamiCommand {
    pub(crate) async fn run(session: &Session) -> anyhow::Result<()> {
        let me = session.client.me().await?;
        session.show(&me, who)
    }
}

fn who(me: &Me) -> String {
    let environments: Vec<String> =
        me.environments.iter().map(|environment| format!("{environment:?}")).collect();
    let role = if environments.is_empty() {
        format!("{:?}", me.role)
    } else {
        format!("{:?} of {}", me.role, environments.join(", "))
    };
    let mut rows = vec![("name", me.name.clone().into()), ("role", role.into())];
    let kind = match (&*me.kind, &me.issuer) {
        ("token", _) => "a machine's token".to_owned(),
        (_, Some(issuer)) => format!("logs in through {issuer}"),
        (_, None) => "logs in with a password".to_owned(),
    };
    rows.push(("kind", kind.into()));
    for (name, value) in [("full name", &me.full_name), ("e-mail", &me.email)] {
        if let Some(value) = value {
            rows.push((name, value.clone().into()));
        }
    }
    rows.push(("may", me.permissions.join(", ").into()));
    facts(rows)
}
