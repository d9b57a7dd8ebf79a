//! Servers that somebody works with, and the tokens for them: `~/.config/slipway/config.yaml`.
//!
//! The file holds tokens, so only its owner may read it. Commands read and write it here and nowhere else.

mod command;
mod file;

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slipway_client::Token;

pub(crate) use command::ContextCommand;
pub(crate) use file::ContextError;

/// One server, and who one is there.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Context {
    /// Its address.
    pub(crate) server: String,
    /// A PEM file of authorities that its certificate may come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ca_file: Option<PathBuf>,
    /// As whom one logged in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// The token of that login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// When the token ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token_ends: Option<Timestamp>,
}

impl Context {
    /// For a server, before logging in.
    pub(crate) fn new(server: impl Into<String>) -> Self {
        Self { server: server.into(), ..Self::default() }
    }

    /// The token of the last login.
    pub(crate) fn token(&self) -> Option<Token> {
        self.token.as_deref().map(|token| Token::new(token, self.token_ends))
    }

    /// Keeps a token, or forgets it.
    pub(crate) fn set_token(&mut self, token: Option<&Token>) {
        self.token = token.map(|token| token.secret().to_owned());
        self.token_ends = token.and_then(Token::ends);
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("server", &self.server)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// All servers that somebody works with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Contexts {
    /// The one that is meant where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    /// By name.
    #[serde(default)]
    pub(crate) contexts: BTreeMap<String, Context>,
}

impl Contexts {
    /// Adds or replaces one, and means it from now on.
    pub(crate) fn put(&mut self, name: &str, context: Context) {
        self.contexts.insert(name.to_owned(), context);
        self.current = Some(name.to_owned());
    }

    /// The one with a name, or an error that names those there are.
    pub(crate) fn named(&self, name: &str) -> Result<&Context, ContextError> {
        self.contexts.get(name).ok_or_else(|| ContextError::Unknown {
            name: name.to_owned(),
            known: self.contexts.keys().cloned().collect(),
        })
    }
}
