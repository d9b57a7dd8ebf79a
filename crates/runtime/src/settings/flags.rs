//! What can be given: one list of keys for flags, variables and the file.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

use super::Environment;
use super::error::SettingsError;
use super::values::{Certificates, InstallCrds, LogFormat, Names, Span, Switch, choice};

/// The flags of every operator; flatten them into its own. What is not given is none.
#[derive(Debug, Clone, Default, PartialEq, clap::Args, Deserialize)]
#[allow(clippy::doc_markdown, reason = "the comments are the help that people read")]
#[group(id = "slipway-settings")]
#[command(next_help_heading = "Operator")]
#[serde(default, rename_all = "camelCase")]
pub struct Flags {
    /// The configuration file [env: CONFIG]
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub config: Option<PathBuf>,
    /// Where probes and metrics are served [env: ADMIN_ADDRESS, or PORT alone] [default: 0.0.0.0:3000]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub admin_address: Option<SocketAddr>,
    /// Where webhooks are served [env: WEBHOOK_ADDRESS] [default: 0.0.0.0:9443]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub webhook_address: Option<SocketAddr>,
    /// Whether webhooks are served [env: ENABLE_WEBHOOKS] [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub webhooks: Option<Switch>,
    /// Whether one of several instances is elected to work [env: ENABLE_LEADER_ELECTION] [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub leader_election: Option<Switch>,
    /// The Lease that is held by who works [env: LEASE_NAME] [default: of the operator]
    #[arg(long, value_name = "NAME")]
    pub lease_name: Option<String>,
    /// The namespace of the Lease [env: LEASE_NAMESPACE] [default: of the pod]
    #[arg(long, value_name = "NAMESPACE")]
    pub lease_namespace: Option<String>,
    /// The group this instance belongs to, where two installed versions share a Lease [env: OPERATOR_GROUP]
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// Leads only while its group is preferred [env: STANDBY] [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub standby: Option<Switch>,
    /// The namespaces to look at, with commas between them [env: WATCH_NAMESPACES] [default: all]
    #[arg(long, value_name = "NAMES")]
    pub watch_namespaces: Option<Names>,
    /// What is logged: off, error, warn, info, debug, trace, or a filter such as info,kube=warn [env: LOG_LEVEL] [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
    /// How it is logged [env: LOG_FORMAT] [default: pretty on a terminal, else json]
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
    /// The OTLP collector that traces are sent to over HTTP [env: OTEL_EXPORTER_OTLP_ENDPOINT]
    #[arg(long, value_name = "URL")]
    pub otlp_endpoint: Option<String>,
    /// Requests to the API server per second, on average [env: API_QPS] [default: 200]
    #[arg(long, value_name = "NUMBER")]
    pub api_qps: Option<f64>,
    /// Requests to the API server at once [env: API_BURST] [default: 400]
    #[arg(long, value_name = "NUMBER")]
    pub api_burst: Option<u32>,
    /// Most reconciles at a time in each controller [env: CONCURRENCY] [default: of the controller]
    #[arg(long, value_name = "NUMBER")]
    pub concurrency: Option<usize>,
    /// How often everything is looked at again without a reason [env: RESYNC] [default: of the controller]
    #[arg(long, value_name = "TIME")]
    pub resync: Option<Span>,
    /// How long work in progress may take when the process is told to end [env: DRAIN] [default: 20s]
    #[arg(long, value_name = "TIME")]
    pub drain: Option<Span>,
    /// Where the certificates of webhooks come from [env: CERTIFICATES] [default: self-signed]
    #[arg(long, value_name = "SOURCE")]
    pub certificates: Option<Certificates>,
    /// The directory of tls.crt and tls.key [env: CERTIFICATE_DIR] [default: /etc/webhook/certificates]
    #[arg(long, value_name = "DIRECTORY")]
    pub certificate_dir: Option<PathBuf>,
    /// The Service that webhooks are reached by [env: WEBHOOK_SERVICE] [default: of the operator]
    #[arg(long, value_name = "NAME")]
    pub webhook_service: Option<String>,
    /// The Secret that keeps the CA of webhooks [env: CA_SECRET] [default: of the operator]
    #[arg(long, value_name = "NAME")]
    pub ca_secret: Option<String>,
    /// Whether CRDs are installed at the start [env: INSTALL_CRDS] [default: never]
    #[arg(long, value_name = "POLICY")]
    pub install_crds: Option<InstallCrds>,
    /// Whether /events and /watch are served, to those that may [env: SERVE_EVENTS] [default: false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub serve_events: Option<Switch>,
}

/// Reads a variable; an empty one counts as not set.
pub(super) fn variable(environment: Environment<'_>, name: &str) -> Option<String> {
    environment(name).filter(|value| !value.is_empty())
}

/// The source's own variable, which names a port only.
pub(super) fn legacy_port(environment: Environment<'_>) -> Result<Option<u16>, SettingsError> {
    parsed(environment, "PORT", |text| text.parse().map_err(|_| "expected a port".to_owned()))
}

fn parsed<T>(
    environment: Environment<'_>,
    name: &'static str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, SettingsError> {
    variable(environment, name)
        .map(|value| parse(&value).map_err(|reason| SettingsError::Variable { name, value, reason }))
        .transpose()
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "expected a number".to_owned())
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an address with a port, such as 0.0.0.0:3000".to_owned())
}

#[allow(clippy::unnecessary_wraps, reason = "it stands beside parsers that can fail")]
fn text(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

#[allow(clippy::unnecessary_wraps, reason = "it stands beside parsers that can fail")]
fn path(text: &str) -> Result<PathBuf, String> {
    Ok(PathBuf::from(text))
}

fn from_text<T: std::str::FromStr<Err = String>>(text: &str) -> Result<T, String> {
    text.parse()
}

/// The keys with their variables, how those are read, and whether a change needs a restart.
macro_rules! keys {
    ($( $field:ident $variable:literal $parse:path, $change:ident; )*) => {
        /// The variable of each key, by the name of its flag.
        pub(super) const VARIABLES: &[(&str, &str)] = &[$( (stringify!($field), $variable) ),*];

        impl Flags {
            /// What is given here, and for the rest what is given there.
            #[must_use]
            pub(super) fn or(self, other: Self) -> Self {
                Self { $( $field: self.$field.or(other.$field), )* }
            }

            /// What the environment says.
            pub(super) fn from_environment(environment: Environment<'_>) -> Result<Self, SettingsError> {
                Ok(Self { $( $field: parsed(environment, $variable, $parse)?, )* })
            }

            /// Keys that differ, with whether the difference needs a restart.
            pub(super) fn changed(&self, other: &Self) -> Vec<(&'static str, Change)> {
                let mut changed = Vec::new();
                $( if self.$field != other.$field { changed.push((stringify!($field), Change::$change)); } )*
                changed
            }
        }
    };
}

/// What a changed key needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Live,
    Restart,
}

keys! {
    config "CONFIG" path, Restart;
    admin_address "ADMIN_ADDRESS" address, Restart;
    webhook_address "WEBHOOK_ADDRESS" address, Restart;
    webhooks "ENABLE_WEBHOOKS" from_text, Restart;
    leader_election "ENABLE_LEADER_ELECTION" from_text, Restart;
    lease_name "LEASE_NAME" text, Restart;
    lease_namespace "LEASE_NAMESPACE" text, Restart;
    group "OPERATOR_GROUP" text, Restart;
    standby "STANDBY" from_text, Restart;
    watch_namespaces "WATCH_NAMESPACES" from_text, Restart;
    log_level "LOG_LEVEL" text, Live;
    log_format "LOG_FORMAT" choice, Restart;
    otlp_endpoint "OTEL_EXPORTER_OTLP_ENDPOINT" text, Restart;
    api_qps "API_QPS" number, Live;
    api_burst "API_BURST" number, Live;
    concurrency "CONCURRENCY" number, Restart;
    resync "RESYNC" from_text, Restart;
    drain "DRAIN" from_text, Restart;
    certificates "CERTIFICATES" choice, Restart;
    certificate_dir "CERTIFICATE_DIR" path, Restart;
    webhook_service "WEBHOOK_SERVICE" text, Restart;
    ca_secret "CA_SECRET" text, Restart;
    install_crds "INSTALL_CRDS" choice, Restart;
    serve_events "SERVE_EVENTS" from_text, Restart;
}

/// The file's name of a key: `adminAddress` for `admin_address`.
pub(super) fn file_key(field: &str) -> String {
    let mut key = String::with_capacity(field.len());
    let mut upper = false;
    for next in field.chars() {
        match next {
            '_' => upper = true,
            next if upper => {
                key.push(next.to_ascii_uppercase());
                upper = false;
            }
            next => key.push(next),
        }
    }
    key
}
