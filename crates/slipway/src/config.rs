//! How the server is set: a file, the environment, flags; what comes later in that order wins.
//!
//! Every setting is a row of one [table](setting), from which flags, variables and `slipway config check`
//! are made. All that is wrong is said at once, each with where it came from.

mod check;
mod duration;
mod error;
mod flags;
mod layers;
mod nearest;
mod reference;
mod secret;
mod setting;
mod values;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use http::HeaderValue;
use serde::Deserialize;
use slipway_domain::access::Role;
use slipway_domain::user::GroupMapping;
use slipway_http::address::Network;
use slipway_orchestrator::rollouts::RolloutSettings;
use url::Url;

pub(crate) use check::ConfigCommand;
pub(crate) use error::ConfigError;
pub(crate) use reference::markdown as reference;
pub(crate) use secret::Secret;

use duration::Iso;
use flags::Flags;
use values::Values;

/// Where settings come from, on the command line.
#[derive(Debug, Clone, Args)]
pub(crate) struct Sources {
    /// Read settings from this YAML file.
    #[arg(long, env = "SLIPWAY_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    flags: Flags,
}

/// The server's settings.
#[derive(Debug)]
pub(crate) struct Config {
    /// Where it listens.
    pub(crate) listen: SocketAddr,
    /// Where people reach it.
    pub(crate) public_url: Url,
    /// Where it keeps what is its own.
    pub(crate) data_dir: PathBuf,
    /// The database of others; without it, one of our own.
    pub(crate) database_url: Option<Secret>,
    /// How many connections to the database there may be.
    pub(crate) database_connections: u32,
    /// Certificate and key, in PEM files.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    /// Proxies that are believed about whom they ask for.
    pub(crate) trusted_proxies: Vec<Network>,
    /// Origins whose pages may call.
    pub(crate) allowed_origins: Vec<HeaderValue>,
    /// What is logged.
    pub(crate) log_filter: String,
    /// How lines look.
    pub(crate) log_format: LogFormat,
    /// The collector of traces.
    pub(crate) otlp_endpoint: Option<Url>,
    /// What opens the metrics to other machines.
    pub(crate) metrics_token_file: Option<PathBuf>,
    /// Where the keys are that seal credentials.
    pub(crate) key_file: PathBuf,
    /// The keys themselves; they count in place of those in the file.
    pub(crate) keyring: Option<Secret>,
    /// The first password of the first admin.
    pub(crate) admin_password_file: Option<PathBuf>,
    /// The server for mails.
    pub(crate) mail: Option<Mail>,
    /// Addresses that get every alert.
    pub(crate) alert_addresses: Vec<String>,
    /// Whether clusters may be on this machine itself.
    pub(crate) clusters_on_loopback: bool,
    /// Proxies that a kubeconfig may name.
    pub(crate) cluster_proxies: Vec<String>,
    /// The helm program.
    pub(crate) helm_program: Option<PathBuf>,
    /// Receivers of signed requests.
    pub(crate) webhooks: Vec<Webhook>,
    /// Issuers that people may log in with.
    pub(crate) oidc: Vec<Issuer>,
    /// How often a cluster is looked at.
    pub(crate) cluster_health_every: Duration,
    /// How often an operator on a cluster is looked at.
    pub(crate) operator_health_every: Duration,
    /// About rollouts.
    pub(crate) rollouts: RolloutSettings,
    /// How long the audit is kept.
    pub(crate) audit_retention: Option<Duration>,
    /// How long requests and work may take to end when the server stops.
    pub(crate) shutdown_grace: Duration,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Text with colours.
    Pretty,
}

/// The server for mails.
#[derive(Debug)]
pub(crate) struct Mail {
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
    pub(crate) encryption: MailEncryption,
    pub(crate) from: String,
    pub(crate) login: Option<(String, PathBuf)>,
    pub(crate) ca_file: Option<PathBuf>,
}

/// How the connection to the mail server is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum MailEncryption {
    /// Encrypted after the greeting.
    Starttls,
    /// Encrypted from the first byte.
    Tls,
    /// Not at all; on this machine only.
    None,
}

/// A receiver of signed requests.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Webhook {
    pub(crate) name: String,
    pub(crate) url: Url,
    pub(crate) secret_file: PathBuf,
    /// What it is told, such as `approval.`; nothing means everything.
    #[serde(default)]
    pub(crate) kinds: Vec<String>,
    pub(crate) ca_file: Option<PathBuf>,
    #[serde(default)]
    pub(crate) allow_plain_http: bool,
}

/// An issuer that people may log in with.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the names in the file")]
pub(crate) struct Issuer {
    /// What it is called in paths and usernames.
    pub(crate) name: String,
    /// What people read on the button.
    pub(crate) title: Option<String>,
    pub(crate) issuer: Url,
    pub(crate) client_id: String,
    pub(crate) client_secret_file: Option<PathBuf>,
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) groups_claim: Option<String>,
    pub(crate) username_claim: Option<String>,
    pub(crate) ca_file: Option<PathBuf>,
    /// What groups mean.
    #[serde(default)]
    pub(crate) groups: Vec<GroupMapping>,
    /// What whoever is in none of them is; nothing refuses them.
    pub(crate) default_role: Option<Role>,
}

impl Sources {
    /// The settings, or everything that is wrong with them.
    pub(crate) fn load(&self) -> Result<Config, ConfigError> {
        Config::read(&mut self.values()?)
    }

    fn values(&self) -> Result<Values, ConfigError> {
        layers::read(self.config.as_deref(), std::env::vars_os(), &self.flags)
    }
}

impl Config {
    fn read(values: &mut Values) -> Result<Self, ConfigError> {
        let listen = values.get::<SocketAddr>("listen");
        let insecure_http = values.get::<bool>("insecureHttp");
        let public_url = values.get::<Option<Url>>("publicUrl");
        let data_dir = values.get::<PathBuf>("dataDir");
        let database_url = values.get::<Option<Secret>>("database.url");
        let database_connections = values.get::<u32>("database.connections");
        let certificate = values.get::<Option<PathBuf>>("tls.certificateFile");
        let key = values.get::<Option<PathBuf>>("tls.keyFile");
        let trusted_proxies = networks(values);
        let allowed_origins = origins(values);
        let log_filter = values.get("log.filter");
        let log_format = values.get("log.format");
        let otlp_endpoint = values.get("otlp.endpoint");
        let metrics_token_file = values.get("metrics.tokenFile");
        let key_file = values.get::<Option<PathBuf>>("keyFile");
        let keyring = values.get::<Option<Secret>>("keyring");
        let admin_password_file = values.get("adminPasswordFile");
        let mail = mail(values);
        let alert_addresses = values.get("mail.alertAddresses");
        let clusters_on_loopback = values.get("clusters.allowLoopback");
        let cluster_proxies = values.get("clusters.proxies");
        let helm_program = values.get("helm.program");
        let webhooks = values.get::<Vec<Webhook>>("webhooks");
        let oidc = values.get::<Vec<Issuer>>("oidc");
        let cluster_health_every = values.get::<Iso>("clusterHealthEvery");
        let operator_health_every = values.get::<Iso>("operatorHealthEvery");
        let rollouts = rollouts(values);
        let audit_retention = values.get::<Option<Iso>>("auditRetention");
        let shutdown_grace = values.get::<Iso>("shutdownGrace");

        let tls = match (&certificate, &key) {
            (Ok(Some(certificate)), Ok(Some(key))) => Some((certificate.clone(), key.clone())),
            (Ok(Some(_)), Ok(None)) => {
                values.wrong("tls.keyFile", "is missing: a certificate needs its key");
                None
            }
            (Ok(None), Ok(Some(_))) => {
                values.wrong("tls.certificateFile", "is missing: a key needs its certificate");
                None
            }
            _ => None,
        };
        if let (Ok(listen), Ok(false), None) = (&listen, &insecure_http, &tls)
            && !listen.ip().is_loopback()
        {
            values.wrong(
                "listen",
                "is reached from other machines, and tokens would be sent in the clear: set \
                 tls.certificateFile and tls.keyFile, or say --insecure-http if a proxy in front encrypts",
            );
        }
        if let Ok(0) = database_connections {
            values.wrong("database.connections", "has to be 1 or more");
        }
        twice(values, "webhooks", &webhooks, |webhook| &webhook.name);
        twice(values, "oidc", &oidc, |issuer| &issuer.name);
        values.finish()?;

        let (listen, data_dir) = (listen?, data_dir?);
        let scheme = if tls.is_some() { "https" } else { "http" };
        let reached = format!("{scheme}://localhost:{}", listen.port());
        let public_url = match public_url? {
            Some(url) => url,
            None => Url::parse(&reached).map_err(|_| ConfigError::default())?,
        };
        Ok(Self {
            listen,
            public_url,
            database_url: database_url?,
            database_connections: database_connections?,
            tls,
            trusted_proxies,
            allowed_origins,
            log_filter: log_filter?,
            log_format: log_format?,
            otlp_endpoint: otlp_endpoint?,
            metrics_token_file: metrics_token_file?,
            key_file: key_file?.unwrap_or_else(|| data_dir.join("keys")),
            keyring: keyring?.filter(|keys| !keys.reveal().trim().is_empty()),
            admin_password_file: admin_password_file?,
            mail,
            alert_addresses: alert_addresses?,
            clusters_on_loopback: clusters_on_loopback?,
            cluster_proxies: cluster_proxies?,
            helm_program: helm_program?,
            webhooks: webhooks?,
            oidc: oidc?,
            cluster_health_every: cluster_health_every?.0,
            operator_health_every: operator_health_every?.0,
            rollouts: rollouts?,
            audit_retention: audit_retention?.map(|iso| iso.0),
            shutdown_grace: shutdown_grace?.0,
            data_dir,
        })
    }
}

fn rollouts(values: &mut Values) -> Result<RolloutSettings, ConfigError> {
    let most_active = values.get::<u64>("deployments.mostActive");
    let steps_at_once = values.get::<u32>("deployments.stepsAtOnce");
    let operators_roll_back = values.get("deployments.operatorsRollBack");
    if let Ok(0) = most_active {
        values.wrong("deployments.mostActive", "has to be 1 or more");
    }
    if let Ok(0) = steps_at_once {
        values.wrong("deployments.stepsAtOnce", "has to be 1 or more");
    }
    Ok(RolloutSettings {
        most_active: most_active?,
        steps_at_once: steps_at_once?,
        operators_roll_back: operators_roll_back?,
    })
}

fn networks(values: &mut Values) -> Vec<Network> {
    let words = values.get::<Vec<String>>("trustedProxies").unwrap_or_default();
    let mut networks = Vec::new();
    for word in words {
        match word.parse() {
            Ok(network) => networks.push(network),
            Err(error) => values.wrong("trustedProxies", format!("cannot be used: {error}")),
        }
    }
    networks
}

/// An origin is a scheme, a host and a port, as browsers send it: no path, and nothing for all.
fn origins(values: &mut Values) -> Vec<HeaderValue> {
    let words = values.get::<Vec<String>>("allowedOrigins").unwrap_or_default();
    let mut origins = Vec::new();
    for word in words {
        let origin = Url::parse(&word).map(|url| url.origin().ascii_serialization());
        match HeaderValue::from_str(&word) {
            Ok(value) if origin.as_deref().is_ok_and(|origin| origin == word) => origins.push(value),
            _ => values.wrong(
                "allowedOrigins",
                format!("cannot be used: {word:?} is no origin, such as https://pages.example"),
            ),
        }
    }
    origins
}

fn mail(values: &mut Values) -> Option<Mail> {
    let host = values.get::<Option<String>>("mail.host");
    let port = values.get("mail.port");
    let encryption = values.get("mail.encryption");
    let from = values.get::<Option<String>>("mail.from");
    let user = values.get::<Option<String>>("mail.user");
    let password = values.get::<Option<PathBuf>>("mail.passwordFile");
    let ca_file = values.get("mail.caFile");
    let host = host.ok()??;
    let from = from.ok()?;
    if from.is_none() {
        values.wrong("mail.from", "is missing: mails need a sender, such as slipway@example.com");
    }
    let login = match (user.ok()?, password.ok()?) {
        (Some(user), Some(password)) => Some((user, password)),
        (None, None) => None,
        (Some(_), None) => {
            values.wrong("mail.passwordFile", "is missing: mail.user needs its password");
            None
        }
        (None, Some(_)) => {
            values.wrong("mail.user", "is missing: mail.passwordFile is for a user");
            None
        }
    };
    Some(Mail {
        host,
        port: port.ok()?,
        encryption: encryption.ok()?,
        from: from?,
        login,
        ca_file: ca_file.ok()?,
    })
}

fn twice<T>(
    values: &mut Values,
    key: &'static str,
    list: &Result<Vec<T>, ConfigError>,
    name: impl Fn(&T) -> &String,
) {
    let Ok(list) = list else { return };
    for (index, one) in list.iter().enumerate() {
        if list[..index].iter().any(|other| name(other) == name(one)) {
            values.wrong(key, format!("has {} twice", name(one)));
        }
    }
}

#[cfg(test)]
mod tests;
