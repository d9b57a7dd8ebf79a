//! What is logged, how and where, and the handle on it while the program runs.

use std::error::Error;
use std::io::{self, IsTerminal};
use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

use crate::filter::{self, FilterError, KeepingContext};
use crate::json::JsonLines;
use crate::otlp;

/// How long the last spans may take at the end.
const FLUSH: Duration = Duration::from_secs(5);
/// Spans that are traced when nobody collects them: those that name an object in the log.
const TRACED: &str = "info,hyper=off,h2=off,reqwest=off,opentelemetry=off,slipway_telemetry=off";
/// With a collector, requests to the API server are worth seeing too.
const COLLECTED: &str =
    "info,kube_client=debug,hyper=off,h2=off,reqwest=off,opentelemetry=off,slipway_telemetry=off";

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// One JSON object per line, for machines.
    #[default]
    Json,
    /// Text with colours, for terminals.
    Pretty,
}

/// Where lines go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Output {
    /// Standard error, beside a program's own output.
    #[default]
    Stderr,
    /// Standard output, as is the norm for servers in containers.
    Stdout,
}

/// What is logged and traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logging {
    /// A level (`info`) or a filter (`slipway_runtime=debug,kube=warn`).
    pub filter: String,
    /// How lines look.
    pub format: Format,
    /// Where they go.
    pub output: Output,
    /// The address of an OTLP collector over HTTP, such as `http://collector:4318`; none means no export.
    pub otlp_endpoint: Option<String>,
    /// What this program is called in traces.
    pub service_name: String,
    /// Its version.
    pub service_version: String,
}

impl Logging {
    /// JSON at `info` on standard error, without export.
    pub fn new(service_name: impl Into<String>, service_version: impl Into<String>) -> Self {
        Self {
            filter: "info".to_owned(),
            format: Format::default(),
            output: Output::default(),
            otlp_endpoint: None,
            service_name: service_name.into(),
            service_version: service_version.into(),
        }
    }
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The filter makes no sense.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The exporter could not be made.
    #[error("setting up the export of traces")]
    Export(#[source] Box<dyn Error + Send + Sync>),
    /// The filter is no longer in use.
    #[error("changing the log filter")]
    Reload(#[source] reload::Error),
    /// Something else logs in this process already.
    #[error("setting up the log")]
    Taken(#[source] tracing_subscriber::util::TryInitError),
}

impl TelemetryError {
    pub(crate) fn client(error: reqwest::Error) -> Self {
        Self::Export(error.into())
    }

    pub(crate) fn exporter(error: opentelemetry_otlp::ExporterBuildError) -> Self {
        Self::Export(error.into())
    }

    pub(crate) fn thread(error: io::Error) -> Self {
        Self::Export(error.into())
    }
}

/// Keeps logging alive; spans that were not sent yet are sent when it is dropped.
#[derive(Debug)]
pub struct Guard {
    filter: reload::Handle<EnvFilter, Registry>,
    provider: SdkTracerProvider,
    ended: bool,
}

impl Guard {
    /// Logs by another filter from now on; a bad one is refused, and the old stays.
    pub fn set_filter(&self, filter: &str) -> Result<(), TelemetryError> {
        let filter = filter::parse(filter)?;
        self.filter.reload(filter).map_err(TelemetryError::Reload)
    }

    /// A handle that changes the filter from elsewhere, without the duty to end.
    pub fn filter_handle(&self) -> FilterHandle {
        FilterHandle(self.filter.clone())
    }

    /// Sends what is left, for at most five seconds.
    pub fn shutdown(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true)
            && let Err(error) = self.provider.shutdown_with_timeout(FLUSH)
        {
            tracing::debug!("the last spans were not sent: {error}");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.end();
    }
}

/// Changes the filter of a running program.
#[derive(Debug, Clone)]
pub struct FilterHandle(reload::Handle<EnvFilter, Registry>);

impl FilterHandle {
    /// Logs by another filter from now on; a bad one is refused, and the old stays.
    pub fn set(&self, filter: &str) -> Result<(), TelemetryError> {
        let filter = filter::parse(filter)?;
        self.0.reload(filter).map_err(TelemetryError::Reload)
    }
}

/// Sets up logs and traces for this process, once.
pub fn init(logging: &Logging) -> Result<Guard, TelemetryError> {
    let (filter, handle) = reload::Layer::new(filter::parse(&logging.filter)?);
    let resource = Resource::builder()
        .with_service_name(logging.service_name.clone())
        .with_attribute(opentelemetry::KeyValue::new("service.version", logging.service_version.clone()))
        .build();
    let provider = otlp::provider(logging.otlp_endpoint.as_deref(), resource)?;
    let traced = if logging.otlp_endpoint.is_some() { COLLECTED } else { TRACED };
    let spans = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("slipway"))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(filter::parse(traced)?);
    let writer = match logging.output {
        Output::Stderr => BoxMakeWriter::new(io::stderr),
        Output::Stdout => BoxMakeWriter::new(io::stdout),
    };
    let filter = KeepingContext(filter);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match logging.format {
        Format::Json => tracing_subscriber::fmt::layer()
            .fmt_fields(JsonFields::new())
            .event_format(JsonLines)
            .with_ansi(false)
            .with_writer(writer)
            .with_filter(filter)
            .boxed(),
        Format::Pretty => tracing_subscriber::fmt::layer()
            .with_ansi(colours(logging.output))
            .with_writer(writer)
            .with_filter(filter)
            .boxed(),
    };
    tracing_subscriber::registry().with(lines).with(spans).try_init().map_err(TelemetryError::Taken)?;
    Ok(Guard { filter: handle, provider, ended: false })
}

/// Colours are for terminals whose owner did not decline them.
fn colours(output: Output) -> bool {
    let terminal = match output {
        Output::Stderr => io::stderr().is_terminal(),
        Output::Stdout => io::stdout().is_terminal(),
    };
    terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
