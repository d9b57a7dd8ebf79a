//! Flags, environment and configuration file of an operator.
//!
//! Each key can be given as a flag, as a variable of the environment, or in the file, and the first of
//! them wins; what nobody gives has a default. The file may hold a section of the operator's own. An
//! unknown key or a value of the wrong type stops the start with its name and line. Some keys may change
//! while the operator runs ([`Watcher`]); the rest need a restart, and say so.
//!
//! Nothing here reads or changes the process's environment by itself: it comes in as an argument.

mod decode;
mod document;
mod error;
mod flags;
mod reference;
mod reload;
mod suggest;
mod values;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use slipway_telemetry::{Format, Logging, Output};

pub use error::{SettingsError, UnknownKey};
pub use flags::Flags;
pub use reload::{Live, Watcher};
pub use values::{Certificates, InstallCrds, LogFormat, Names, Span, Switch};

use document::File;

/// Gives a variable of the environment.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The environment of this process.
pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// What an operator was told, with defaults for what it was not.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Settings {
    /// The configuration file, if there is one.
    pub config: Option<PathBuf>,
    /// Where probes and metrics are served.
    pub admin_address: SocketAddr,
    /// Where webhooks are served.
    pub webhook_address: SocketAddr,
    /// Whether webhooks are served.
    pub webhooks: bool,
    /// Whether a leader is elected; without it this process works at once.
    pub leader_election: bool,
    /// The lease; the operator's own default if none.
    pub lease_name: Option<String>,
    /// The lease's namespace; the pod's if none.
    pub lease_namespace: Option<String>,
    /// The group of instances this one belongs to, for leases that two installed versions share.
    pub group: Option<String>,
    /// Leads only while its group is preferred.
    pub standby: bool,
    /// The namespaces to look at; all if there are none.
    pub watch_namespaces: Vec<String>,
    /// What is logged: a level or a filter.
    pub log_level: String,
    /// How it is logged; by where the log goes if none.
    pub log_format: Option<LogFormat>,
    /// Where traces go.
    pub otlp_endpoint: Option<String>,
    /// Requests to the API server per second, on average.
    pub api_qps: f64,
    /// Requests to the API server at once.
    pub api_burst: u32,
    /// Most reconciles at a time in each controller; the controller's own if none.
    pub concurrency: Option<usize>,
    /// How often everything is looked at without a reason; the controller's own if none.
    pub resync: Option<Duration>,
    /// How long work in progress may take at the end.
    pub drain: Duration,
    /// Where the certificates of webhooks come from.
    pub certificates: Certificates,
    /// The directory of `tls.crt` and `tls.key`.
    pub certificate_dir: PathBuf,
    /// The Service that webhooks are reached by.
    pub webhook_service: Option<String>,
    /// The Secret that keeps the webhooks' CA.
    pub ca_secret: Option<String>,
    /// Whether CRDs are installed at the start.
    pub install_crds: InstallCrds,
    /// Whether `/events` and `/watch` are served.
    pub serve_events: bool,
    /// The pod this runs in.
    pub pod_name: Option<String>,
    /// Its namespace.
    pub pod_namespace: Option<String>,
}

/// Settings and the operator's own section of the file.
#[derive(Debug, Clone)]
pub struct Loaded<Extra> {
    /// What every operator can be told.
    pub settings: Settings,
    /// What this one can be told.
    pub extra: Arc<Extra>,
    given: Given,
    section: Option<String>,
    text: Option<String>,
}

/// Flags and environment, which stay, and the file's keys, which may change.
#[derive(Debug, Clone, Default, PartialEq)]
struct Given {
    fixed: Flags,
    legacy_port: Option<u16>,
    pod_name: Option<String>,
    pod_namespace: Option<String>,
    file: Flags,
}

impl Settings {
    /// Reads everything: the flags, the environment, and the file that one of them names. `section` is the
    /// file's key for what is the operator's own.
    pub fn load<Extra: DeserializeOwned + Default>(
        flags: &Flags,
        section: Option<&str>,
        environment: Environment<'_>,
    ) -> Result<Loaded<Extra>, SettingsError> {
        let fixed = flags.clone().or(Flags::from_environment(environment)?);
        let text = match &fixed.config {
            Some(path) => Some(document::text(path)?),
            None => None,
        };
        let file = match (&fixed.config, &text) {
            (Some(path), Some(text)) => File::parse(path, text, section)?,
            _ => File::empty(),
        };
        let given = Given {
            legacy_port: flags::legacy_port(environment)?,
            pod_name: flags::variable(environment, "POD_NAME"),
            pod_namespace: flags::variable(environment, "POD_NAMESPACE"),
            fixed,
            file: file.flags,
        };
        let settings = given.resolve()?;
        Ok(Loaded { settings, extra: Arc::new(file.extra), given, section: section.map(str::to_owned), text })
    }

    /// Every key in a table, for the documentation.
    pub fn reference_markdown() -> String {
        reference::markdown()
    }

    /// What these settings say about logging. Containers are read from standard output.
    pub fn logging(&self, service_name: &str, service_version: &str) -> Logging {
        let terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
        let format = match self.log_format {
            Some(LogFormat::Pretty) => Format::Pretty,
            None if terminal => Format::Pretty,
            Some(LogFormat::Json) | None => Format::Json,
        };
        Logging {
            filter: self.log_level.clone(),
            format,
            output: Output::Stdout,
            otlp_endpoint: self.otlp_endpoint.clone(),
            ..Logging::new(service_name, service_version)
        }
    }
}

impl Given {
    fn resolve(&self) -> Result<Settings, SettingsError> {
        let mut fixed = self.fixed.clone();
        if fixed.admin_address.is_none() {
            fixed.admin_address = self.legacy_port.map(any_address);
        }
        let settings = Settings {
            pod_name: self.pod_name.clone(),
            pod_namespace: self.pod_namespace.clone(),
            ..Settings::from(fixed.or(self.file.clone()))
        };
        settings.check()?;
        Ok(settings)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::from(Flags::default())
    }
}

impl From<Flags> for Settings {
    /// What is given, and defaults for the rest.
    fn from(flags: Flags) -> Self {
        Self {
            config: flags.config,
            admin_address: flags.admin_address.unwrap_or_else(|| any_address(3000)),
            webhook_address: flags.webhook_address.unwrap_or_else(|| any_address(9443)),
            webhooks: flags.webhooks.is_none_or(|switch| switch.0),
            leader_election: flags.leader_election.is_none_or(|switch| switch.0),
            lease_name: flags.lease_name,
            lease_namespace: flags.lease_namespace,
            group: flags.group,
            standby: flags.standby.is_some_and(|switch| switch.0),
            watch_namespaces: flags.watch_namespaces.map(|names| names.0).unwrap_or_default(),
            log_level: flags.log_level.unwrap_or_else(|| "info".to_owned()),
            log_format: flags.log_format,
            otlp_endpoint: flags.otlp_endpoint,
            api_qps: flags.api_qps.unwrap_or(200.0),
            api_burst: flags.api_burst.unwrap_or(400),
            concurrency: flags.concurrency,
            resync: flags.resync.map(|span| span.0),
            drain: flags.drain.map_or(Duration::from_secs(20), |span| span.0),
            certificates: flags.certificates.unwrap_or_default(),
            certificate_dir: flags
                .certificate_dir
                .unwrap_or_else(|| PathBuf::from("/etc/webhook/certificates")),
            webhook_service: flags.webhook_service,
            ca_secret: flags.ca_secret,
            install_crds: flags.install_crds.unwrap_or_default(),
            serve_events: flags.serve_events.is_some_and(|switch| switch.0),
            pod_name: None,
            pod_namespace: None,
        }
    }
}

impl Settings {
    /// What no single value shows to be wrong.
    fn check(&self) -> Result<(), SettingsError> {
        let refuse = |key: &'static str, reason: String| Err(SettingsError::Invalid { key, reason });
        if let Err(error) = slipway_telemetry::filter::parse(&self.log_level) {
            return refuse("--log-level", error.to_string());
        }
        if !(self.api_qps.is_finite() && self.api_qps > 0.0) {
            return refuse("--api-qps", format!("{} is not above zero", self.api_qps));
        }
        if self.api_burst == 0 {
            return refuse("--api-burst", "0 would let no request through".to_owned());
        }
        if self.concurrency == Some(0) {
            return refuse("--concurrency", "0 would reconcile nothing".to_owned());
        }
        if self.standby && self.group.is_none() {
            return refuse(
                "--standby",
                "a standby leads when its group is preferred, so --group is needed".to_owned(),
            );
        }
        Ok(())
    }
}

fn any_address(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))
}
