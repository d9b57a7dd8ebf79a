//! A real `OpenID` Connect issuer: `oidc-provider` for Node.js, the certified one, on loopback.
//!
//! Who sits before its pages is for the test to say; codes, PKCE, devices, keys and signatures are its own.

mod visitor;

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::{Part, Program, loopback, until};

pub use visitor::Visitor;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);
const SERVER: &str = include_str!("../oidc/server.mjs");

/// A running issuer with one client; dropping it ends it.
#[derive(Debug)]
pub struct Issuer {
    url: String,
    client: reqwest::Client,
    // Ended with this value.
    _part: Part,
}

/// What an issuer is told before it starts.
#[derive(Clone, Debug)]
pub struct IssuerOptions {
    /// Where browsers are sent back to.
    pub redirect_uri: String,
    /// How ID tokens are signed: `RS256` or `ES256`.
    pub algorithm: &'static str,
    /// Whether groups are told by the userinfo endpoint alone.
    pub user_info: bool,
}

impl IssuerOptions {
    /// The usual: RS256, and groups in the ID token.
    pub fn new(redirect_uri: &str) -> Self {
        Self { redirect_uri: redirect_uri.to_owned(), algorithm: "RS256", user_info: false }
    }
}

impl Issuer {
    /// The id of its client.
    pub const CLIENT_ID: &str = "slipway";
    /// The secret of its client, with characters that have to be encoded.
    pub const CLIENT_SECRET: &str = "s3cret:with/odd+characters%";

    /// Starts one.
    pub async fn start(options: &IssuerOptions) -> Result<Self> {
        let node = Program::Node.find()?;
        let modules = slipway_programs::oidc_provider_directory()?;
        let client = loopback::client(None, Duration::from_secs(10))?;
        let settings = json!({
            "clientId": Self::CLIENT_ID,
            "clientSecret": Self::CLIENT_SECRET,
            "redirectUri": options.redirect_uri,
            "algorithm": options.algorithm,
            "userInfo": options.user_info,
        });
        let part = Part::builder("oidc-provider", &node)
            .args(["--input-type=module", "--eval", SERVER])
            .env("ISSUER_SETTINGS", settings.to_string())
            .cwd(&modules)
            .start()?;
        let said = until("the issuer to say where it is", PATIENCE, async || {
            let log = part.log();
            let url = log.lines().find_map(|line| line.strip_prefix("issuer ")).map(str::to_owned);
            url.map(Ok).or_else(|| (!part.is_running()).then_some(Err(log)))
        });
        match said.await {
            Ok(Ok(url)) => Ok(Self { url, client, _part: part }),
            Ok(Err(log)) => bail!("the issuer ended: {log}"),
            Err(error) => Err(error.context(format!("it said: {}", part.log()))),
        }
    }

    /// Its identifier.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Who sits before its pages from now on: claims with `sub`, or nobody, who declines.
    pub async fn seat(&self, account: Option<Value>) -> Result<()> {
        let reply = self
            .client
            .put(format!("{}/test/account", self.url))
            .body(account.unwrap_or(Value::Null).to_string())
            .send()
            .await
            .context("telling the issuer who is there")?;
        reply.error_for_status().context("telling the issuer who is there").map(drop)
    }
}
