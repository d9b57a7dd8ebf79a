//! `slipway user`.

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use slipway_contract::identity::{
    CreateUserRequest, PasswordRequest, SecretText, UpdateUserRequest, User, UserList, UserState, UsersQuery,
};
use slipway_domain::access::{Environment, Role};

use super::login::prompt;
use super::relative::ago;
use super::session::Session;
use super::table::{Cell, Tone, facts, table};

/// What can be done with people.
#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// List people.
    List(List),
    /// Make somebody who logs in with a password; prints one that counts once.
    Add(Add),
    /// Show somebody.
    Show(Which),
    /// Change somebody's name, address, role or environments.
    Update(Update),
    /// Keep somebody out, with their sessions and tokens, at once.
    Disable(Which),
    /// Let somebody log in again, and forget failed attempts.
    Enable(Which),
    /// Give somebody a password that counts once.
    ResetPassword(Which),
    /// Keep somebody out for good; the name is not given again.
    Delete(Which),
    /// Change your own password.
    Password,
}

#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Their username.
    username: String,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only those with this role.
    #[arg(long)]
    role: Option<Role>,
    /// How many to list.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(i64).range(1..=100))]
    limit: i64,
    /// After how many.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    offset: i64,
}

#[derive(Debug, Args)]
pub(crate) struct Add {
    /// What they will type to log in.
    username: String,
    /// What they are: Viewer, Operator, `EnvironmentOwner` or Admin.
    #[arg(long)]
    role: Role,
    /// An environment that an `EnvironmentOwner` decides for; can be repeated.
    #[arg(long = "environment", value_name = "ENVIRONMENT")]
    environments: Vec<Environment>,
    /// What people call them.
    #[arg(long)]
    full_name: Option<String>,
    /// Where mails go.
    #[arg(long)]
    email: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    /// Their username.
    username: String,
    /// What they are from now on.
    #[arg(long)]
    role: Option<Role>,
    /// The environments from now on; can be repeated.
    #[arg(long = "environment", value_name = "ENVIRONMENT")]
    environments: Vec<Environment>,
    /// What people call them; empty removes it.
    #[arg(long)]
    full_name: Option<String>,
    /// Where mails go; empty removes it.
    #[arg(long)]
    email: Option<String>,
}

impl UserCommand {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        let client = &session.client;
        match self {
            Self::List(list) => {
                let query = UsersQuery {
                    role: list.role.map(Into::into),
                    state: None,
                    limit: Some(list.limit),
                    offset: Some(list.offset),
                };
                session.show(&client.users(&query).await?, |list| listed(list, session))
            }
            Self::Add(add) => add.run(session).await,
            Self::Show(which) => {
                let user = client.user(&which.username).await?.value;
                session.show(&user, |user| shown(user, session))
            }
            Self::Update(update) => update.run(session).await,
            Self::Disable(which) => {
                let user = client.disable_user(&which.username).await?;
                session.show(&user, |user| {
                    format!("{} is disabled; sessions and tokens count no more", user.username)
                })
            }
            Self::Enable(which) => {
                let user = client.enable_user(&which.username).await?;
                session.show(&user, |user| format!("{} can log in again", user.username))
            }
            Self::ResetPassword(which) => {
                let reset = client.reset_password(&which.username).await?;
                session.show(&reset, |reset| once(&reset.username, &reset.one_time_password))
            }
            Self::Delete(which) => {
                client.delete_user(&which.username).await?;
                session.say(&format!("{} is out for good", which.username))
            }
            Self::Password => {
                let current = prompt::secret("Current password: ")?;
                let request = PasswordRequest {
                    current_password: SecretText(current.to_string()),
                    new_password: SecretText(prompt::new_secret()?.to_string()),
                };
                client.change_password(&request).await?;
                session.say("the password is changed, and all sessions have ended; log in: slipway login")
            }
        }
    }
}

impl Add {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let request = CreateUserRequest {
            username: self.username,
            full_name: self.full_name,
            email: self.email,
            role: self.role.into(),
            environments: self.environments.into_iter().map(Into::into).collect(),
        };
        let created = session.client.create_user(&request).await?;
        session.show(&created, |created| {
            let made = format!("made {} ({:?})\n", created.user.username, created.user.role);
            made + &once(&created.user.username, &created.one_time_password)
        })
    }
}

impl Update {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let before = session.client.user(&self.username).await?;
        let old = before.value;
        let role = self.role.map_or(old.role, Into::into);
        let kept = |new: Option<String>, old: Option<String>| match new {
            Some(new) => Some(new).filter(|new| !new.is_empty()),
            None => old,
        };
        let request = UpdateUserRequest {
            full_name: kept(self.full_name, old.full_name),
            email: kept(self.email, old.email),
            // Environments belong to the role: with another role the old ones mean nothing.
            environments: if !self.environments.is_empty() {
                self.environments.into_iter().map(Into::into).collect()
            } else if role == old.role {
                old.environments
            } else {
                Vec::new()
            },
            role,
        };
        let user = session.client.update_user(&self.username, &request, before.tag.as_deref()).await?;
        session.show(&user, |user| shown(user, session))
    }
}

fn once(username: &str, password: &SecretText) -> String {
    format!(
        "one-time password of {username}: {}\nit is shown this once, counts for 7 days, and has to be changed at the \
         first login",
        password.0
    )
}

fn role(user: &User) -> String {
    let environments: Vec<String> =
        user.environments.iter().map(|environment| format!("{environment:?}")).collect();
    if environments.is_empty() {
        format!("{:?}", user.role)
    } else {
        format!("{:?} of {}", user.role, environments.join(", "))
    }
}

fn state(user: &User) -> Cell {
    match user.state {
        UserState::Enabled if user.must_change_password => Cell::new("has to log in first", Tone::Quiet),
        UserState::Enabled => Cell::new("enabled", Tone::Good),
        UserState::Disabled => Cell::new("disabled", Tone::Warning),
        UserState::Deleted => Cell::new("deleted", Tone::Quiet),
    }
}

fn listed(list: &UserList, session: &Session) -> String {
    let rows = list.users.iter().map(|user| {
        vec![
            Cell::from(&user.username),
            role(user).into(),
            state(user),
            user.email.clone().into(),
            user.last_login_at.map(|at| ago(at, session.now)).into(),
        ]
    });
    let mut text = table(
        &["USERNAME", "ROLE", "STATE", "E-MAIL", "LAST LOGIN"],
        rows,
        "nobody; add somebody: slipway user add",
    );
    if let Some(next) = list.page.next_offset {
        let _ = writeln!(text, "{} of {}; more: --offset {next}", list.users.len(), list.page.total);
    }
    text
}

fn shown(user: &User, session: &Session) -> String {
    let by =
        user.issuer.as_ref().map_or_else(|| "a password".to_owned(), |issuer| format!("the issuer {issuer}"));
    facts([
        ("username", Cell::from(&user.username)),
        ("role", role(user).into()),
        ("state", state(user)),
        ("full name", user.full_name.clone().into()),
        ("e-mail", user.email.clone().into()),
        ("logs in with", by.into()),
        ("last login", user.last_login_at.map(|at| ago(at, session.now)).into()),
        ("made", ago(user.created_at, session.now).into()),
    ])
}
