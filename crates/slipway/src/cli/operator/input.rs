//! What is given on the command line and in files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Map, Value};
use slipway_contract::operators::RepositoryCredentials;

/// How the repository is told who asks. Secrets come from files, since others can see arguments.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Repository options")]
#[expect(clippy::struct_field_names, reason = "the names of the flags")]
pub(super) struct RepositoryAccess {
    /// The user name for the repository.
    #[arg(long, value_name = "NAME", requires = "repository_password_file")]
    pub(super) repository_username: Option<String>,
    /// Read the password for the repository from this file; - is standard input.
    #[arg(long, value_name = "FILE", requires = "repository_username")]
    pub(super) repository_password_file: Option<PathBuf>,
    /// Read a token for the repository from this file; - is standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["repository_username", "repository_password_file"])]
    pub(super) repository_token_file: Option<PathBuf>,
    /// Trust the certificate authority of this PEM file for the repository.
    #[arg(long, value_name = "FILE")]
    pub(super) repository_ca_file: Option<PathBuf>,
}

impl RepositoryAccess {
    /// The credentials, where some are given.
    pub(super) fn credentials(&self) -> anyhow::Result<Option<RepositoryCredentials>> {
        let secret =
            |file: &PathBuf| Ok::<_, anyhow::Error>(text(file)?.trim_end_matches(['\r', '\n']).to_owned());
        if let Some(file) = &self.repository_token_file {
            let token = Some(secret(file)?);
            return Ok(Some(RepositoryCredentials { username: None, password: None, token }));
        }
        match (&self.repository_username, &self.repository_password_file) {
            (Some(username), Some(file)) => Ok(Some(RepositoryCredentials {
                username: Some(username.clone()),
                password: Some(secret(file)?),
                token: None,
            })),
            _ => Ok(None),
        }
    }

    /// The authority, where one is given.
    pub(super) fn authority(&self) -> anyhow::Result<Option<String>> {
        self.repository_ca_file.as_ref().map(|file| text(file)).transpose()
    }
}

/// The text of a file; - is standard input.
pub(super) fn text(file: &Path) -> anyhow::Result<String> {
    if file.as_os_str() == "-" {
        return std::io::read_to_string(std::io::stdin()).context("reading standard input");
    }
    std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))
}

/// The one document of a file, YAML or JSON.
pub(super) fn document(file: &Path) -> anyhow::Result<Value> {
    let read =
        slipway_manifests::read(&text(file)?).with_context(|| format!("reading {}", file.display()))?;
    let mut documents = read.into_iter().map(|document| document.value);
    match (documents.next(), documents.next()) {
        (None, _) => Ok(Value::Object(Map::new())),
        (Some(document), None) => Ok(document),
        (Some(_), Some(_)) => bail!("{} holds several documents; one is expected", file.display()),
    }
}

/// The helm values of a file.
pub(in crate::cli) fn values(file: &Path) -> anyhow::Result<Map<String, Value>> {
    match document(file)? {
        Value::Object(values) => Ok(values),
        _ => bail!("{} holds no values: it has to be a map", file.display()),
    }
}

/// Labels from `key=value`.
pub(super) fn labels(given: &[String]) -> anyhow::Result<BTreeMap<String, String>> {
    let label = |text: &String| match text.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => bail!("{text:?} is no label; write key=value"),
    };
    given.iter().map(label).collect()
}
