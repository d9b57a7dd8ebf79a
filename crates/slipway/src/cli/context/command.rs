//! `slipway context`.

use clap::Subcommand;
use jiff::Timestamp;
use serde::Serialize;

use super::{Context, Contexts};
use crate::cli::output::{Format, print};
use crate::cli::relative::until;
use crate::cli::table::{Cell, Tone, table};

/// What can be done with contexts.
#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// List the servers that you work with.
    List,
    /// Use a server from now on.
    Use {
        /// The context's name.
        name: String,
    },
    /// Forget a server and its token. The token itself stays valid until it ends: slipway logout ends it.
    Remove {
        /// The context's name.
        name: String,
    },
}

/// A context as it is listed: without its token.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    name: &'a str,
    current: bool,
    server: &'a str,
    user: Option<&'a str>,
    login_ends: Option<Timestamp>,
}

impl ContextCommand {
    pub(crate) fn run(self, format: Format) -> anyhow::Result<()> {
        let mut contexts = Contexts::load()?;
        match self {
            Self::List => print(&list(&contexts, format, Timestamp::now())?),
            Self::Use { name } => {
                let server = contexts.named(&name)?.server.clone();
                contexts.current = Some(name.clone());
                contexts.save()?;
                print(&format!("using {name}: {server}\n"))
            }
            Self::Remove { name } => {
                let Context { server, .. } = contexts.named(&name)?.clone();
                contexts.contexts.remove(&name);
                if contexts.current.as_ref() == Some(&name) {
                    contexts.current = None;
                }
                contexts.save()?;
                print(&format!("forgot {name}: {server}\n"))
            }
        }
    }
}

fn list(contexts: &Contexts, format: Format, now: Timestamp) -> anyhow::Result<String> {
    let listed: Vec<Listed<'_>> = contexts
        .contexts
        .iter()
        .map(|(name, context)| Listed {
            name,
            current: contexts.current.as_ref() == Some(name),
            server: &context.server,
            user: context.user.as_deref(),
            login_ends: context.token().and_then(|token| token.ends()),
        })
        .collect();
    format.render(&listed, |listed| {
        let rows = listed.iter().map(|context| {
            let login = match context.login_ends {
                Some(ends) if ends <= now => Cell::new("ended", Tone::Warning),
                Some(ends) => Cell::from(format!("ends {}", until(ends, now))),
                None => Cell::from(None),
            };
            let name = if context.current { format!("{} *", context.name) } else { context.name.to_owned() };
            vec![name.into(), context.server.into(), context.user.map(str::to_owned).into(), login]
        });
        table(
            &["NAME", "SERVER", "USER", "LOGIN"],
            rows,
            "no contexts; log in: slipway login --server https://…",
        )
    })
}

#[cfg(test)]
mod tests {
    use slipway_client::Token;

    use super::*;

    #[test]
    fn the_current_one_is_marked_and_no_token_is_shown() {
        let now: Timestamp = "2026-01-02T03:00:00Z".parse().unwrap();
        let mut contexts = Contexts::default();
        let mut context = Context::new("https://a.example");
        context.user = Some("ada".to_owned());
        context.set_token(Some(&Token::new("sesame", Some("2026-01-02T03:42:00Z".parse().unwrap()))));
        contexts.put("a", context.clone());
        contexts.put("b", Context::new("http://localhost:5000"));
        insta::assert_snapshot!(list(&contexts, Format::Table, now).unwrap(), @r"
        NAME  SERVER                 USER  LOGIN
        a     https://a.example      ada   ends in 42 minutes
        b *   http://localhost:5000  -     -
        ");
        let json = list(&contexts, Format::Json, now).unwrap();
        assert!(!json.contains("sesame") && json.contains("\"loginEnds\""), "{json}");
    }
}
