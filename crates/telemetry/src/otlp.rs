//! Spans sent to an OTLP collector over HTTP, from a thread of their own.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter as ExportsSpans};
use tokio::runtime::Handle;

use crate::logging::TelemetryError;

/// How long one batch may take.
const EXPORT: Duration = Duration::from_secs(10);
/// How often a collector that does not answer is mentioned.
const MENTION: Duration = Duration::from_mins(1);

/// Spans get trace ids with or without a collector, so that logs can be joined by them.
pub(crate) fn provider(
    endpoint: Option<&str>,
    resource: Resource,
) -> Result<SdkTracerProvider, TelemetryError> {
    let provider = SdkTracerProvider::builder().with_resource(resource);
    let Some(endpoint) = endpoint else { return Ok(provider.build()) };
    let handle = reactor()?;
    let exporter = {
        // reqwest binds its timers to the runtime that it is made in.
        let _inside = handle.enter();
        let client = reqwest::Client::builder().timeout(EXPORT).build().map_err(TelemetryError::client)?;
        SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(EXPORT)
            .with_endpoint(traces(endpoint))
            .build()
            .map_err(TelemetryError::exporter)?
    };
    let patient = Patient {
        exporter: Arc::new(exporter),
        handle,
        endpoint: endpoint.to_owned(),
        failures: Mutex::new(Failures::default()),
    };
    Ok(provider.with_batch_exporter(patient).build())
}

/// The address for traces below a collector's, as the environment variable's meaning is.
fn traces(endpoint: &str) -> String {
    let base = endpoint.trim_end_matches('/');
    if base.ends_with("/v1/traces") { base.to_owned() } else { format!("{base}/v1/traces") }
}

/// A small runtime of its own: spans are still sent while the program's runtime is busy or gone.
fn reactor() -> Result<Handle, TelemetryError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(TelemetryError::thread)?;
    let handle = runtime.handle().clone();
    thread::Builder::new()
        .name("telemetry".to_owned())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))
        .map_err(TelemetryError::thread)?;
    Ok(handle)
}

#[derive(Debug, Default)]
struct Failures {
    spans: usize,
    mentioned: Option<Instant>,
}

/// An exporter whose failures are mentioned once a minute and disturb nobody.
#[derive(Debug)]
struct Patient {
    exporter: Arc<SpanExporter>,
    handle: Handle,
    endpoint: String,
    failures: Mutex<Failures>,
}

impl ExportsSpans for Patient {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let exporter = Arc::clone(&self.exporter);
        let sent = self.handle.spawn(async move { exporter.export(batch).await }).await;
        match sent {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.failed(spans, &error),
            Err(error) => self.failed(spans, &OTelSdkError::InternalFailure(error.to_string())),
        }
        // The SDK would log each failure by itself.
        Ok(())
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        if let Some(exporter) = Arc::get_mut(&mut self.exporter) {
            exporter.set_resource(resource);
        }
    }
}

impl Patient {
    fn failed(&self, spans: usize, error: &OTelSdkError) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.spans += spans;
        if failures.mentioned.is_none_or(|then| then.elapsed() >= MENTION) {
            failures.mentioned = Some(Instant::now());
            let lost = std::mem::take(&mut failures.spans);
            drop(failures);
            tracing::warn!(
                target: "slipway_telemetry",
                endpoint = self.endpoint,
                lost_spans = lost,
                "the collector does not take spans; they are lost, everything else goes on: {error}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::traces;

    #[test]
    fn traces_go_below_the_collectors_address() {
        assert_eq!(traces("http://collector:4318"), "http://collector:4318/v1/traces");
        assert_eq!(traces("http://collector:4318/"), "http://collector:4318/v1/traces");
        assert_eq!(traces("https://c/otlp/v1/traces"), "https://c/otlp/v1/traces");
    }
}
