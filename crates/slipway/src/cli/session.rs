//! A server, somebody who asks it, and how answers are printed.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde::Serialize;
use slipway_client::{Client, Token};
use zeroize::Zeroizing;

use super::context::{Context, Contexts};
use super::output::{Format, OutputArgs, print};

/// Where a server is meant if nothing says otherwise: one on this machine.
const LOCAL: &str = "http://localhost:5000";

/// Which server, and as whom.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server options")]
pub(crate) struct Connection {
    /// Talk to this server, such as <https://slipway.example:5001>.
    #[arg(long, global = true, env = "SLIPWAY_SERVER", value_name = "URL", hide_short_help = true)]
    server: Option<String>,
    /// Use this context instead of the current one (see: slipway context list).
    #[arg(long, global = true, env = "SLIPWAY_CONTEXT", value_name = "NAME", hide_short_help = true)]
    context: Option<String>,
    /// Read the token from this file, for machines; - is standard input.
    #[arg(long, global = true, env = "SLIPWAY_TOKEN_FILE", value_name = "FILE", hide_short_help = true)]
    token_file: Option<PathBuf>,
    /// Trust the certificate authorities of this PEM file, too.
    #[arg(long, global = true, env = "SLIPWAY_CA_FILE", value_name = "FILE", hide_short_help = true)]
    ca_file: Option<PathBuf>,
    /// Do not ask the server to prove who it is. Whoever is on the way can read your token.
    #[arg(long, global = true, hide_short_help = true)]
    insecure_skip_tls_verify: bool,
}

/// Commands of a resource, with the options they share.
#[derive(Debug, Args)]
pub(crate) struct Served<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What a command talks with.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// The server.
    pub(crate) client: Client,
    /// How answers are printed.
    pub(crate) format: Format,
    /// When the command began; relative times are relative to it.
    pub(crate) now: Timestamp,
    /// The context in use, if it is one: its name.
    pub(crate) context: Option<String>,
}

impl Connection {
    /// Runs a command with a session.
    pub(crate) fn run(
        &self,
        output: OutputArgs,
        command: impl AsyncFnOnce(&Session) -> anyhow::Result<()>,
    ) -> anyhow::Result<ExitCode> {
        self.run_to_code(output, async |session| command(session).await.map(|()| ExitCode::SUCCESS))
    }

    /// Runs a command with a session that says by itself how it ended.
    pub(crate) fn run_to_code(
        &self,
        output: OutputArgs,
        command: impl AsyncFnOnce(&Session) -> anyhow::Result<ExitCode>,
    ) -> anyhow::Result<ExitCode> {
        let session = self.session(output.format)?;
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("starting the runtime")?
            .block_on(command(&session))
    }

    /// The context that is meant and its name; a server that is named alone has none.
    pub(crate) fn chosen(&self) -> anyhow::Result<(Option<String>, Context)> {
        if let (Some(server), None) = (&self.server, &self.context) {
            // A context for the same server has the token for it.
            let contexts = Contexts::load().unwrap_or_default();
            let same = |url: &str| url.trim_end_matches('/') == server.trim_end_matches('/');
            let known = contexts.contexts.iter().find(|(_, context)| same(&context.server));
            return Ok(match known {
                Some((name, context)) => (Some(name.clone()), context.clone()),
                None => (None, Context::new(server)),
            });
        }
        let contexts = Contexts::load()?;
        let mut chosen = match self.context.as_ref().or(contexts.current.as_ref()) {
            Some(name) => (Some(name.clone()), contexts.named(name)?.clone()),
            None => (None, Context::new(LOCAL)),
        };
        if let Some(server) = &self.server {
            if self.token_file.is_none()
                && chosen.1.server.trim_end_matches('/') != server.trim_end_matches('/')
            {
                bail!(
                    "context {} is for {}; its token is not sent to {server}. Leave out --context or --server",
                    chosen.0.unwrap_or_default(),
                    chosen.1.server
                );
            }
            chosen.1.server.clone_from(server);
        }
        Ok(chosen)
    }

    /// A session with the server that is meant.
    pub(crate) fn session(&self, format: Format) -> anyhow::Result<Session> {
        let (name, context) = self.chosen()?;
        let mut client = self.client(&context)?;
        if let (Some(name), None) = (&name, &self.token_file) {
            client = client.renewing(super::login::renewal(name));
        }
        client.set_token(match &self.token_file {
            Some(file) => Some(token_of(file)?),
            None => context.token(),
        });
        Ok(Session { client, format, now: Timestamp::now(), context: name })
    }

    /// A client for a context's server, without its token.
    pub(crate) fn client(&self, context: &Context) -> anyhow::Result<Client> {
        let mut builder = Client::builder(&context.server);
        if let Some(file) = self.ca_file.as_ref().or(context.ca_file.as_ref()) {
            builder = builder.ca_file(file)?;
        }
        if self.insecure_skip_tls_verify {
            eprintln!("warning: the server's certificate is not checked");
            builder = builder.insecure();
        }
        Ok(builder.build()?)
    }

    /// The file of authorities that was named, for a login that keeps it.
    pub(crate) fn ca_file(&self) -> Option<&PathBuf> {
        self.ca_file.as_ref()
    }
}

impl Session {
    /// Prints an answer: `people` writes it for people; scripts get what the server sent.
    pub(crate) fn show<T: Serialize>(
        &self,
        value: &T,
        people: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<()> {
        print(&self.format.render(value, people)?)
    }

    /// Says what was done, to people; scripts look at the exit code and keep a clean output.
    pub(crate) fn say(&self, text: &str) -> anyhow::Result<()> {
        match self.format {
            Format::Table => print(&format!("{text}\n")),
            Format::Json | Format::Yaml => Ok(()),
        }
    }
}

fn token_of(file: &std::path::Path) -> anyhow::Result<Token> {
    let text = if file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin()).context("reading the token from standard input")?
    } else {
        std::fs::read_to_string(file).with_context(|| format!("reading the token from {}", file.display()))?
    };
    let text = Zeroizing::new(text);
    let token = text.trim();
    if token.is_empty() || !token.is_ascii() || token.contains(char::is_whitespace) {
        bail!("{} does not hold a token", file.display());
    }
    Ok(Token::new(token, None))
}
