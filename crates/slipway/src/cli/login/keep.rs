//! Where a login is kept: the file of contexts.

use std::sync::Arc;

use slipway_client::{Renew, RenewLogin, Token};
use slipway_contract::identity::LoginReply;
use url::Url;

use crate::cli::context::{Context, Contexts};
use crate::cli::session::{Connection, Session};

/// Keeps a login, and gives the name of its context.
pub(super) fn login(
    connection: &Connection,
    session: &Session,
    name: Option<&str>,
    reply: &LoginReply,
) -> anyhow::Result<String> {
    let mut contexts = Contexts::load()?;
    let name =
        name.or(session.context.as_deref()).map_or_else(|| called(session.client.server()), str::to_owned);
    let mut context = contexts.contexts.get(&name).cloned().unwrap_or_default();
    let server = session.client.server().as_str().trim_end_matches('/');
    if context.server.trim_end_matches('/') != server {
        context = Context::new(server);
    }
    if let Some(file) = connection.ca_file() {
        context.ca_file = Some(std::path::absolute(file)?);
    }
    context.user = Some(reply.user.username.clone());
    context.set_token(Some(&Token::new(reply.token.0.clone(), Some(reply.expires_at))));
    contexts.put(&name, context);
    contexts.save()?;
    Ok(name)
}

/// Forgets the token of the present context.
pub(super) fn forget(session: &Session) -> anyhow::Result<()> {
    let Some(name) = &session.context else { return Ok(()) };
    let mut contexts = Contexts::load()?;
    if let Some(context) = contexts.contexts.get_mut(name) {
        context.set_token(None);
        contexts.save()?;
    }
    Ok(())
}

/// Renews the token of a context in time, and keeps the new one. That it cannot be kept is no reason to fail
/// what the command is about.
pub(crate) fn renewal(name: &str) -> Arc<dyn Renew> {
    let name = name.to_owned();
    Arc::new(RenewLogin::new(move |token| {
        let kept = Contexts::load().and_then(|mut contexts| {
            if let Some(context) = contexts.contexts.get_mut(&name) {
                context.set_token(Some(token));
            }
            contexts.save()
        });
        if let Err(error) = kept {
            eprintln!("warning: the login was renewed, but cannot be kept: {error}");
        }
    }))
}

/// What a server is called where nobody chose a name: its host, and the port where it is unusual.
fn called(server: &Url) -> String {
    let host = server.host_str().unwrap_or("server");
    server.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_called_by_its_host() {
        let name = |text: &str| called(&text.parse().unwrap());
        assert_eq!(name("https://slipway.example"), "slipway.example");
        assert_eq!(name("http://localhost:5000/"), "localhost:5000");
    }
}
